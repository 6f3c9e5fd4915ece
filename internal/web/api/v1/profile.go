package v1

import (
	"context"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddProfile declares what users see and change of their own record.
func AddProfile(r *endpoint.Registry, logins *account.LoginService) {
	op := func(id, method, summary string, errors ...string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: "/profile", Since: 1, Tag: "profile", Summary: summary,
			Credentials: endpoint.Bearer, Status: 200, Errors: errors,
		}
	}
	get := op("getProfile", "GET", "Get the profile of the signed-in user")
	get.Description = "The profile has the user's role and scopes as they are now, also if they have changed since the sign-in."
	endpoint.Add(r, get, func(ctx context.Context, _ *struct{}) (*profileAnswer, error) {
		return answerProfile(logins.Profile(ctx, auth.From(ctx)))
	})
	change := op("changeProfile", "PATCH", "Change the profile of the signed-in user", problem.CodeRevisionMismatch)
	change.Description = "Users can change only their display name. Admins change roles, and changePassword the password."
	endpoint.Add(r, change, func(ctx context.Context, in *changeProfile) (*profileAnswer, error) {
		if !in.Body.Name.Set {
			return answerProfile(logins.Profile(ctx, auth.From(ctx)))
		}
		return answerProfile(logins.Rename(ctx, auth.From(ctx), in.IfMatch.Revisions(), in.Body.Name.Value))
	})
}

type changeProfile struct {
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    struct {
		Name wire.Optional[string] `json:"name" maxLength:"120" doc:"The display name. null removes it."`
	}
}

type profileAnswer struct {
	ETag string `header:"ETag"`
	Body profileView
}

type profileView struct {
	ID          string           `json:"id" doc:"The ID of the user, which begins with usr_." example:"usr_01kakakakafkhvayayayayayay"`
	Email       string           `json:"email" doc:"The email address with which the user signs in, in lower case." example:"ada@example.org"`
	Name        *string          `json:"name" doc:"The display name of the user. It is null if there is none."`
	Role        string           `json:"role" enum:"viewer,member,developer,admin" doc:"The role of the user, which sets the scopes."`
	Scopes      []string         `json:"scopes" doc:"The scopes of the user's role, which say what requests of the user can do."`
	Workspace   profileWorkspace `json:"workspace" doc:"The workspace that the user belongs to."`
	CreatedAt   wire.Time        `json:"createdAt"`
	LastLoginAt *wire.Time       `json:"lastLoginAt" doc:"The time of the last sign-in. It is null if there was none."`
	Revision    int64            `json:"revision"`
}

type profileWorkspace struct {
	ID   string `json:"id" doc:"The ID of the workspace." example:"wsp_01kakakakafkhvayayayayayay"`
	Name string `json:"name" doc:"The display name of the workspace."`
	Tier string `json:"tier" doc:"The name of the workspace's tier, which sets its limits."`
}

func viewOfProfile(p *account.Profile) profileView {
	return profileView{
		ID: p.ID, Email: p.Email, Name: textOrNull(p.Name), Role: string(p.Role), Scopes: p.Role.Scopes().Names(),
		Workspace: profileWorkspace{ID: p.Workspace.ID(), Name: p.Workspace.Name(), Tier: p.Workspace.Tier().Name},
		CreatedAt: wire.At(p.CreatedAt), LastLoginAt: wire.AtOrNull(p.LastLoginAt), Revision: p.Revision,
	}
}

func answerProfile(p *account.Profile, err error) (*profileAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &profileAnswer{ETag: endpoint.ETag(p.Revision), Body: viewOfProfile(p)}, nil
}

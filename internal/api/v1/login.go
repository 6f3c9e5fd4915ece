package v1

import (
	"context"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
)

// AddLogin declares how people sign in and out.
func AddLogin(r *endpoint.Registry, logins *account.LoginService) {
	op := func(id, path, summary string) endpoint.Operation {
		return endpoint.Operation{ID: id, Method: "POST", Path: "/api/auth/" + path, Tag: "login", Summary: summary, Status: 200}
	}

	login := op("login", "login", "Sign in with email and password")
	login.Description = "The access token is sent as `Authorization: Bearer …`; the refresh token gives a new pair when it has " +
		"expired. A wrong password and an email nobody has are answered alike. Charged to the user's workspace; one that fails, to " +
		"the address it came from."
	refused := func(ctx context.Context, in *loginInput) error {
		return logins.Refused(in.Body.Email, endpoint.RequestOf(ctx).Client())
	}
	endpoint.AddSignIn(r, login, refused, func(ctx context.Context, in *loginInput) (*grantAnswer, error) {
		request := endpoint.RequestOf(ctx)
		u, err := logins.Authenticate(ctx, in.Body.Email, in.Body.Password, request.Client())
		if err != nil {
			return nil, err
		}
		if err := request.SignedIn(u.ID, u.WorkspaceID); err != nil {
			return nil, err
		}
		g, err := logins.Start(ctx, u)
		if err != nil {
			return nil, err
		}
		return &grantAnswer{Body: viewOfGrant(g)}, nil
	})

	refresh := op("refreshToken", "refresh", "Get a new pair of tokens")
	refresh.Description = "A refresh token works once; the one in the answer takes its place. Used a second time it ends the session, " +
		"unless that comes within 10 seconds and before its successor was used: then the answer has the same successor. A " +
		"session ends 90 days after its login, and no token outlives it."
	refresh.SignIn, refresh.Errors = true, []string{problem.CodeInvalidToken, problem.CodeTokenExpired, problem.CodeTokenReused}
	endpoint.Add(r, refresh, func(ctx context.Context, in *refreshInput) (*grantAnswer, error) {
		userID, workspaceID, err := logins.Refreshing(ctx, in.Body.RefreshToken)
		if err != nil {
			return nil, err
		}
		if userID != "" {
			if err := endpoint.RequestOf(ctx).SignedIn(userID, workspaceID); err != nil {
				return nil, err
			}
		}
		g, err := logins.Refresh(ctx, in.Body.RefreshToken)
		if err != nil {
			return nil, err
		}
		return &grantAnswer{Body: viewOfGrant(g)}, nil
	})

	logout := op("logout", "logout", "Sign out")
	logout.Description = "Ends the session of the access token: neither that nor the refresh token works from this answer on."
	logout.Credentials, logout.Status = endpoint.Bearer, 204
	endpoint.Add(r, logout, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		if err := logins.Logout(ctx, auth.From(ctx)); err != nil {
			return nil, err
		}
		return &struct{}{}, nil
	})

	password := op("changePassword", "password", "Change the password")
	password.Description = "Ends all other sessions of the user."
	password.Credentials, password.Status = endpoint.Bearer, 204
	password.Errors = []string{problem.CodeInvalidCredentials, problem.CodeRevisionMismatch}
	endpoint.Add(r, password, func(ctx context.Context, in *changePassword) (*struct{}, error) {
		err := logins.ChangePassword(ctx, auth.From(ctx), in.Body.CurrentPassword, in.Body.NewPassword, endpoint.RequestOf(ctx).Client())
		if err != nil {
			return nil, err
		}
		return &struct{}{}, nil
	})
}

type loginInput struct {
	Body struct {
		Email    string `json:"email" example:"ada@example.org"`
		Password string `json:"password"`
	}
}

type refreshInput struct {
	Body struct {
		RefreshToken string `json:"refreshToken"`
	}
}

type changePassword struct {
	Body struct {
		CurrentPassword string `json:"currentPassword"`
		NewPassword     string `json:"newPassword" doc:"12 to 128 characters, and none of those that are tried first."`
	}
}

type grantAnswer struct {
	Body grantView
}

type grantView struct {
	AccessToken      string      `json:"accessToken" doc:"A JWT."`
	TokenType        string      `json:"tokenType" enum:"Bearer"`
	ExpiresIn        int64       `json:"expiresIn" doc:"Seconds." example:"900"`
	RefreshToken     string      `json:"refreshToken"`
	RefreshExpiresIn int64       `json:"refreshExpiresIn" doc:"Seconds." example:"2592000"`
	User             profileView `json:"user"`
}

func viewOfGrant(g *account.Grant) grantView {
	return grantView{
		AccessToken: g.AccessToken, TokenType: "Bearer", ExpiresIn: int64(g.AccessLifetime / time.Second),
		RefreshToken: g.RefreshToken, RefreshExpiresIn: int64(g.RefreshLifetime / time.Second),
		User: viewOfProfile(g.Profile),
	}
}

package v1

import (
	"context"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddAdminUsers declares the operations on users.
func AddAdminUsers(r *endpoint.Registry, people *account.Service, cursors *page.Sealer) {
	op := func(id, method, path, summary string, errors ...string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: "/admin/users" + path, Since: 1, Tag: "admin", Summary: summary,
			Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Status: 200, Vital: true, Errors: errors,
		}
	}

	create := op("createUser", "POST", "", "Create a user",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeLimitReached)
	create.Description = "If the request has no password, one is generated and returned in this response only. Only credentials of the operator " +
		"workspace can create users in other workspaces."
	create.Status, create.Idempotent = 201, true
	endpoint.AddPrepared(r, create, func(ctx context.Context, in *createUser) (err error) {
		in.password, err = people.HashPassword(ctx, textOrEmpty(in.Body.Password))
		return err
	}, func(ctx context.Context, in *createUser) (*createdUser, error) {
		u, err := people.CreateUser(ctx, auth.From(ctx), account.NewUser{
			Email: in.Body.Email, WorkspaceID: textOrEmpty(in.Body.WorkspaceID), Role: account.Role(in.Body.Role),
			Name: textOrEmpty(in.Body.Name), Password: in.password,
		})
		if err != nil {
			return nil, err
		}
		return &createdUser{
			ETag: endpoint.ETag(u.Revision), Location: "/admin/users/" + u.ID,
			Body: createdUserView{userView: viewOfUser(u.User), Password: textOrNull(u.Password)},
		}, nil
	})

	list := op("listUsers", "GET", "", "List users, newest first", problem.CodeNotFound)
	list.Description = "The list contains the users of the caller's workspace. Credentials of the operator workspace see the users of all " +
		"workspaces, or of the one in the parameter workspace."
	endpoint.Add(r, list, func(ctx context.Context, in *listUsers) (*userList, error) {
		return in.list(ctx, people, cursors)
	})

	get := op("getUser", "GET", "/{id}", "Get a user", problem.CodeNotFound)
	get.Description = "Only credentials of the operator workspace can get users of other workspaces."
	endpoint.Add(r, get, func(ctx context.Context, in *namedUser) (*oneUser, error) {
		return answerUser(people.User(ctx, auth.From(ctx), in.ID))
	})

	change := op("changeUser", "PATCH", "/{id}", "Change a user",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeRevisionMismatch)
	change.Description = "Fields that are omitted do not change. A new role applies at once, also to tokens that were issued before. A user who " +
		"is disabled or gets a new password is signed out everywhere. The last admin of a workspace cannot be removed, disabled" +
		" or demoted."
	endpoint.AddPrepared(r, change, func(ctx context.Context, in *changeUser) error {
		return in.prepare(ctx, people)
	}, func(ctx context.Context, in *changeUser) (*oneUser, error) {
		return answerUser(people.ChangeUser(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions(), in.change()))
	})

	remove := op("deleteUser", "DELETE", "/{id}", "Delete a user",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeRevisionMismatch)
	remove.Description = "The user's sessions end, and the email can be used again. API keys that the user created stay valid."
	remove.Status = 204
	endpoint.Add(r, remove, func(ctx context.Context, in *deleteUser) (*struct{}, error) {
		if err := people.DeleteUser(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions()); err != nil {
			return nil, err
		}
		return &struct{}{}, nil
	})
}

type createUser struct {
	Body struct {
		Email       string  `json:"email" maxLength:"254" doc:"The email address, which is stored trimmed and in lower case. It is unique within the instance." example:"ada@example.org"`
		WorkspaceID *string `json:"workspaceId" minLength:"1" maxLength:"64" doc:"The workspace of the new user. The default is the caller's workspace."`
		Role        string  `json:"role" default:"member" enum:"viewer,member,developer,admin" doc:"The role of the new user, which sets the scopes."`
		Name        *string `json:"name" maxLength:"120" doc:"The display name of the user."`
		Password    *string `json:"password" minLength:"1" doc:"The password of the new user: 12 to 128 characters, counted in NFC, and none of the most common passwords. If it is omitted, one is generated and shown once."`
	}

	password account.Hashed
}

type changeUser struct {
	ID      string           `path:"id" doc:"The ID of the user."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    struct {
		Name     wire.Optional[string] `json:"name" maxLength:"120" doc:"The display name. null removes it."`
		Role     wire.Optional[string] `json:"role" nullable:"false" enum:"viewer,member,developer,admin" doc:"The new role of the user, which sets the scopes."`
		Disabled wire.Optional[bool]   `json:"disabled" nullable:"false" doc:"Whether the user is disabled. A disabled user is signed out and cannot sign in."`
		Password wire.Optional[string] `json:"password" nullable:"false" minLength:"1" doc:"The new password: 12 to 128 characters, counted in NFC, and none of the most common passwords."`
	}

	password *account.Hashed
}

func (in *changeUser) prepare(ctx context.Context, people *account.Service) error {
	if !in.Body.Password.Set {
		return nil
	}
	hashed, err := people.HashPassword(ctx, in.Body.Password.Value)
	in.password = &hashed
	return err
}

func (in *changeUser) change() account.UserChange {
	c := account.UserChange{
		Role: (*account.Role)(in.Body.Role.Pointer()), Disabled: in.Body.Disabled.Pointer(), Password: in.password,
	}
	if in.Body.Name.Set {
		c.Name = &in.Body.Name.Value // empty for null
	}
	return c
}

type namedUser struct {
	ID string `path:"id" doc:"The ID of the user."`
}

type deleteUser struct {
	ID      string           `path:"id" doc:"The ID of the user."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
}

type listUsers struct {
	Workspace string `query:"workspace" maxLength:"64" doc:"The ID of the workspace whose users are listed."`
	Role      string `query:"role" enum:"viewer,member,developer,admin" doc:"List only users with this role."`
	pageQuery
}

type oneUser struct {
	ETag string `header:"ETag"`
	Body userView
}

type createdUser struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     createdUserView
}

type userList struct {
	Body struct {
		Items      []userView `json:"items"`
		NextCursor *string    `json:"nextCursor"`
	}
}

type userView struct {
	ID          string     `json:"id" doc:"The ID of the user, which begins with usr_." example:"usr_01kakakakafkhvayayayayayay"`
	Email       string     `json:"email" doc:"The email address with which the user signs in, in lower case. It is unique within the instance." example:"ada@example.org"`
	Name        *string    `json:"name" doc:"The display name of the user. It is null if there is none."`
	Role        string     `json:"role" enum:"viewer,member,developer,admin" doc:"The role of the user, which sets the scopes."`
	WorkspaceID string     `json:"workspaceId" doc:"The ID of the workspace that the user belongs to."`
	Disabled    bool       `json:"disabled" doc:"Whether the user is disabled. A disabled user cannot sign in."`
	CreatedAt   wire.Time  `json:"createdAt"`
	LastLoginAt *wire.Time `json:"lastLoginAt" doc:"The time of the last sign-in. It is null if there was none."`
	Revision    int64      `json:"revision"`
}

type createdUserView struct {
	userView
	Password *string `json:"password,omitzero" nullable:"true" once:"true" doc:"The generated password. It is absent if the request had a password."`
}

func (in *listUsers) list(ctx context.Context, people *account.Service, cursors *page.Sealer) (*userList, error) {
	p := auth.From(ctx)
	scope := page.Scope(p.WorkspaceID, "listUsers", in.Workspace, in.Role)
	found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *idPosition, limit int) ([]account.User, error) {
		filter := account.UserFilter{Role: account.Role(in.Role), Limit: limit}
		if after != nil {
			filter.Before = after.ID
		}
		return people.ListUsers(ctx, p, in.Workspace, filter)
	}, func(u account.User) idPosition { return idPosition{u.ID} })
	if err != nil {
		return nil, err
	}
	out := &userList{}
	out.Body.Items, out.Body.NextCursor = viewsOf(found, viewOfUser), next
	return out, nil
}

func answerUser(u *account.User, err error) (*oneUser, error) {
	if err != nil {
		return nil, err
	}
	return &oneUser{ETag: endpoint.ETag(u.Revision), Body: viewOfUser(u)}, nil
}

func viewOfUser(u *account.User) userView {
	return userView{
		ID: u.ID, Email: u.Email, Name: textOrNull(u.Name), Role: string(u.Role), WorkspaceID: u.WorkspaceID,
		Disabled: u.Disabled, CreatedAt: wire.At(u.CreatedAt), LastLoginAt: wire.AtOrNull(u.LastLoginAt), Revision: u.Revision,
	}
}

package v1

import (
	"context"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddLogin declares login, refresh, logout and the change of passwords.
func AddLogin(r *endpoint.Registry, logins *account.LoginService) {
	op := func(id, path, summary string) endpoint.Operation {
		return endpoint.Operation{ID: id, Method: "POST", Path: "/api/auth/" + path, Tag: "login", Summary: summary, Status: 200}
	}

	login := op("login", "login", "Sign in with email and password")
	login.Description = "Send the access token as `Authorization: Bearer …`. When it has expired, use the refresh token to get a new pair. A " +
		"wrong password and an unknown email get the same response. A successful login is charged to the user's workspace, a " +
		"failed one to the client's address."
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

	refresh := op("refreshToken", "refresh", "Refresh the tokens")
	refresh.Description = "A refresh token works once and is replaced by the one in the response. Using it a second time ends the session, except" +
		" within 10 seconds and before its successor was used: then the response contains the same successor. A session ends 90" +
		" days after its login, and no token outlives it."
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
	logout.Description = "The session of the access token ends, and neither this token nor the refresh token works afterwards."
	logout.Credentials, logout.Status = endpoint.Bearer, 204
	endpoint.Add(r, logout, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		if err := logins.Logout(ctx, auth.From(ctx)); err != nil {
			return nil, err
		}
		return &struct{}{}, nil
	})

	password := op("changePassword", "password", "Change the password of the signed-in user")
	password.Description = "All other sessions of the user end."
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
		Email    string `json:"email" doc:"The email address of the user. Case and spaces around it do not matter." example:"ada@example.org"`
		Password string `json:"password" doc:"The password of the user."`
	}
}

type refreshInput struct {
	Body struct {
		RefreshToken string `json:"refreshToken" doc:"The refresh token from the last login or refresh, which this request uses up."`
	}
}

type changePassword struct {
	Body struct {
		CurrentPassword string `json:"currentPassword" doc:"The password that the user has now."`
		NewPassword     string `json:"newPassword" doc:"The new password, which has 12 to 128 characters and is not one of the most common passwords."`
	}
}

type grantAnswer struct {
	Body grantView
}

type grantView struct {
	AccessToken      string      `json:"accessToken" doc:"The access token, which is a JWT."`
	TokenType        string      `json:"tokenType" enum:"Bearer" doc:"The type of the access token in the header Authorization."`
	ExpiresIn        int64       `json:"expiresIn" doc:"The number of seconds until the access token expires." example:"900"`
	RefreshToken     string      `json:"refreshToken" doc:"The refresh token, which gets the next pair of tokens once."`
	RefreshExpiresIn int64       `json:"refreshExpiresIn" doc:"The number of seconds until the refresh token expires." example:"2592000"`
	User             profileView `json:"user" doc:"The profile of the user who signed in."`
}

func viewOfGrant(g *account.Grant) grantView {
	return grantView{
		AccessToken: g.AccessToken, TokenType: "Bearer", ExpiresIn: int64(g.AccessLifetime / time.Second),
		RefreshToken: g.RefreshToken, RefreshExpiresIn: int64(g.RefreshLifetime / time.Second),
		User: viewOfProfile(g.Profile),
	}
}

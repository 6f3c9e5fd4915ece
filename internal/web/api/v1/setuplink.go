package v1

import (
	"context"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddSetupLinks declares the operation that creates a link with which a user chooses a password. link returns the address of the
// page for a token; it is nil if there is no such page.
func AddSetupLinks(r *endpoint.Registry, logins *account.LoginService, link func(token string) string) {
	endpoint.Add(r, endpoint.Operation{
		ID: "createSetupLink", Method: "POST", Path: "/admin/users/{id}/setup-link", Since: 1, Tag: "admin",
		Summary: "Create a link with which a user chooses a password",
		Description: "Send the link to a new user, or to one who forgot the password. It works once and for an hour, and no longer after the " +
			"user signed in or was changed. Until it is used, the user's password and sessions stay valid. The first person who uses it chooses " +
			"the password. The link is relative to the server's address unless publicUrl is set.",
		Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Status: 201, Vital: true, Idempotent: true,
		Errors: []string{problem.CodeNotFound, problem.CodeConflict},
	}, func(ctx context.Context, in *namedUser) (*setupLink, error) {
		if link == nil {
			return nil, problem.Conflicts("This build of the program has no console, and so no page for a setup link.")
		}
		token, expires, err := logins.Invite(ctx, auth.From(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		out := &setupLink{}
		address := link(token)
		out.Body.URL, out.Body.ExpiresAt = &address, wire.At(expires)
		return out, nil
	})
}

type setupLink struct {
	Body struct {
		URL       *string   `json:"url" once:"true" doc:"The address of the page on which the user chooses a password. It is null if a repeated request is answered again." example:"https://keepsake.example.org/console/setup#kpsu_usr_01k"`
		ExpiresAt wire.Time `json:"expiresAt" doc:"The time at which the link stops working."`
	}
}

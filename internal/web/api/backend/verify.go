package backend

import (
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	v1 "keepsake/internal/web/api/v1"
	"keepsake/internal/web/endpoint"
)

// AddVerify declares the verification of a key for another service. A caller with an API key verifies keys of its workspace, one
// with the backend secret keys of all workspaces.
func AddVerify(r *endpoint.Registry, keys *apikey.Service) {
	endpoint.Add(r, endpoint.Operation{
		ID: "verifyAPIKey", Method: "POST", Path: "/verify", Tag: "api keys", Summary: "Verify an API key",
		Description: "The operation is that of the API. With the backend secret it knows the keys of all workspaces; with an API key, those of the " +
			"caller's workspace.",
		Credentials: endpoint.Key | endpoint.Backend, Scope: auth.DeveloperManage, Status: 200, Uncharged: true,
	}, v1.Verify(keys))
}

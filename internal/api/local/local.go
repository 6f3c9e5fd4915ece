// Package local declares what only the operator of the machine may ask for: operations that the data folder's socket has
// and the network has not. They are no part of the API's description, and no key reaches them from outside.
package local

import (
	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
)

// operation is what the operations here have in common. They are no requests of a client, so no budget pays for them.
func operation(id, method, path, summary string, errors ...string) endpoint.Operation {
	return endpoint.Operation{
		ID: id, Method: method, Path: "/local" + path, Tag: "local", Summary: summary,
		Credentials: endpoint.Key, Scope: auth.Admin, Operator: true, Status: 200, Errors: errors, Uncharged: true, Vital: true,
	}
}

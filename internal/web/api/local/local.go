// Package local declares operations for the operator of the machine. Only the data folder's socket serves them, and the
// API's description omits them.
package local

import (
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// operation is what these operations have in common. They are not charged.
func operation(id, method, path, summary string, errors ...string) endpoint.Operation {
	return endpoint.Operation{
		ID: id, Method: method, Path: "/local" + path, Tag: "local", Summary: summary,
		Credentials: endpoint.Key, Scope: auth.Admin, Operator: true, Status: 200, Errors: errors, Uncharged: true, Vital: true,
	}
}

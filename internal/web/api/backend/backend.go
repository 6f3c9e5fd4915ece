// Package backend is the surface of the backend listener, for operators, proxies and services next to Keepsake. Each file
// declares some of its operations.
package backend

import (
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/api"
	"keepsake/internal/web/endpoint"
)

// Described returns the description of the surface for the document of the API. r are its operations.
func Described(r *endpoint.Registry) endpoint.Surface {
	return endpoint.Surface{
		Name: "backend", Tag: "backend service", Operations: r, Server: "http://127.0.0.1:8081",
		Description: "For proxies and services next to Keepsake, and for operators. It has an address of its own, the setting backend.listen. " +
			"If that is not loopback, everything but the probes needs the backend secret, in X-Keepsake-Backend or Authorization: Bearer.",
	}
}

// New returns the surface with the operations and the access of o. It has no description and no web page can call it.
func New(o api.Options) (*api.API, error) {
	o.Surface = usage.Backend
	o.Document, o.Replays, o.Origins = nil, nil, nil
	return api.New(o)
}

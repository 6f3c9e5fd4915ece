// Package backend is the surface of the backend listener, for operators, proxies and services next to Keepsake. Each file
// declares some of its operations.
package backend

import (
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/api"
)

// New returns the surface with the operations and the access of o. It has no description and no web page can call it.
func New(o api.Options) (*api.API, error) {
	o.Surface = usage.Backend
	o.Document, o.Replays, o.Origins = nil, nil, nil
	return api.New(o)
}

// Package backend is the surface for those who run Keepsake: probes now, on a listener of its own.
package backend

import (
	"context"

	"keepsake/internal/api"
)

// Probes is what the answers of /livez and /readyz follow from.
type Probes struct {
	// Checks are the parts that must work for the process to be ready.
	Checks []Check
	// Stopping reports that the process is going down; it is then not ready, whatever works.
	Stopping func() bool
}

// Check is one part of the process.
type Check struct {
	Name string // storage, index, usage
	Err  func(ctx context.Context) error
}

// New makes the surface. It reads of o what is not its own: Versions, Addresses, Usage, Log, Now and the proxies; the
// operations are the probes.
func New(o api.Options, p Probes) (*api.API, error) {
	return api.New(o)
}

// Package audittest stands in for the log in tests of what writes to it.
package audittest

import (
	"context"
	"sync"

	"keepsake/internal/audit"
)

// Recorder keeps the entries it is given, also those of a unit of work that fails.
type Recorder struct {
	mu      sync.Mutex
	entries []audit.Entry
}

var _ audit.Recorder = (*Recorder)(nil)

// Record implements audit.Recorder.
func (r *Recorder) Record(_ context.Context, e audit.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	return nil
}

// Entries gives what was recorded, in order.
func (r *Recorder) Entries() []audit.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]audit.Entry(nil), r.entries...)
}

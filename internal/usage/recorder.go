package usage

import (
	"context"
	"log/slog"
	"time"
)

// Recorder counts events in memory and adds them to the store each second.
type Recorder struct{}

// NewRecorder makes a recorder; Run flushes it.
func NewRecorder(store Store, now func() time.Time, log *slog.Logger) *Recorder { return &Recorder{} }

// Owner gives the handle of a workspace with one of its keys, or with keyID empty. Each call makes a new one, which is
// never given back: keep it for as long as the key is known.
func (r *Recorder) Owner(workspaceID, keyID string) Owner { return 0 }

// Secret gives the handle of one secret of a key. Each call makes a new one, which is never given back.
func (r *Recorder) Secret(keyID, hint string) Secret { return 0 }

// Route gives the handle of a route template, the same for the same method and template.
func (r *Recorder) Route(method, template string) Route { return 0 }

// Record counts e.
func (r *Recorder) Record(e Event) {}

// Touch notes that a secret was used.
func (r *Recorder) Touch(s Secret, at time.Time) {}

// LastUsed is the last use of a secret since the program started; the zero time when there was none.
func (r *Recorder) LastUsed(s Secret) time.Time { return time.Time{} }

// Restore reads what owners were charged in the present UTC day and month. The function it returns answers for the
// moment it is called in: once the day or month is over it answers 0.
func (r *Recorder) Restore(ctx context.Context) (func(ownerID string) (day, month int64), error) {
	return func(string) (int64, int64) { return 0, 0 }, nil
}

// Run flushes each second until ctx is done.
func (r *Recorder) Run(ctx context.Context) {}

// Flush adds what was counted since the last flush to the store.
func (r *Recorder) Flush(ctx context.Context) error { return nil }

// Close flushes what is left. Call it after Run has returned and the last event was recorded.
func (r *Recorder) Close(ctx context.Context) error { return nil }

// Degraded reports whether the last flush failed: its numbers are kept and tried again.
func (r *Recorder) Degraded() bool { return false }

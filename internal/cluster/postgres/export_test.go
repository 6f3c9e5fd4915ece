package postgres

import "time"

// SetPatience changes how long a request waits for the database. Call it before Run.
func (c *Claims) SetPatience(d time.Duration) { c.patience = d }

// SetRingEvery changes how long a Bell waits after it has rung. Call it before Run.
func (b *Bell) SetRingEvery(d time.Duration) { b.every = d }

// Pending is how many notifications a Bell has yet to send.
func (b *Bell) Pending() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pending)
}

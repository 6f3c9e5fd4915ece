package memory

import "context"

// FillChanged is what a process does after its writes.
func (b *Backfiller) FillChanged(ctx context.Context) error { return b.fillChanged(ctx) }

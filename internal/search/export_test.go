package search

import "context"

// Look looks over all workspaces now, as happens every lookEvery.
func (x *Indexer) Look(ctx context.Context) error { return x.look(ctx) }

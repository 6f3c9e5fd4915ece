package apikey

import (
	"context"
	"errors"
	"time"
)

// Authenticate looks for a key in memory, then in the database, as a request does.
func (d *Directory) Authenticate(ctx context.Context, text string, now time.Time) (LiveKey, error) {
	k, err := d.Lookup(text, now)
	if errors.Is(err, ErrNotInMemory) {
		k, err = d.LookupStored(ctx, text, now)
	}
	return k, err
}

// StorePending tries once to store the pending revocations, as Run does each second.
func (s *Service) StorePending(ctx context.Context) { s.storePending(ctx) }

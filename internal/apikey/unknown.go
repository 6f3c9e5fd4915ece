package apikey

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/problem"
)

// unknown remembers for a short while what the store said of secrets the directory does not hold: most are nobody's, a
// few belong to keys revoked before the program started. It is bounded, so inventing keys costs us no memory; and it is
// asked after the directory, so it never hides a live key.
type unknown struct {
	mu      sync.Mutex
	refused map[[32]byte]refusal
	order   [unknownCapacity][32]byte // of refused, as a ring: the oldest makes room
	next    int
	reads   map[[32]byte]*read

	hits, misses, evicted atomic.Int64
}

const (
	unknownCapacity = 4096
	unknownFor      = 10 * time.Second
	readTimeout     = 2 * time.Second
)

type refusal struct {
	problem *problem.Problem
	at      time.Time
}

// read is a look into the store that others may join.
type read struct {
	done chan struct{}
	err  error
}

func newUnknown() *unknown {
	return &unknown{refused: map[[32]byte]refusal{}, reads: map[[32]byte]*read{}}
}

// recogniseStored asks the store for a secret the directory does not hold. It returns nil when the key turned out to be
// usable and is in the directory now.
func (d *Directory) recogniseStored(ctx context.Context, hash [32]byte, now time.Time) error {
	u := d.unknown
	u.mu.Lock()
	if r, ok := u.refused[hash]; ok {
		if age := now.Sub(r.at); age >= 0 && age < unknownFor {
			u.mu.Unlock()
			u.hits.Add(1)
			return r.problem
		}
	}
	r, running := u.reads[hash]
	if !running {
		r = &read{done: make(chan struct{})}
		u.reads[hash] = r
		// Not the first caller's alone: if that one goes away, the others still want to know.
		go d.readStored(context.WithoutCancel(ctx), r, hash, now)
	}
	u.mu.Unlock()
	u.misses.Add(1)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("read API key by its secret: %w", context.Cause(ctx))
	}
}

func (d *Directory) readStored(ctx context.Context, r *read, hash [32]byte, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	refused, err := d.admit(ctx, hash)
	u := d.unknown
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.reads, hash)
	switch {
	case err != nil:
		r.err = fmt.Errorf("read API key by its secret: %w", err)
	case refused != nil:
		r.err = refused
		u.refuse(hash, refusal{refused, now})
	}
	close(r.done)
}

// admit reads the key of a secret and puts it into the directory, or says why not.
func (d *Directory) admit(ctx context.Context, hash [32]byte) (*problem.Problem, error) {
	k, refused, err := d.lookUp(ctx, hash)
	if k == nil {
		return refused, err
	}
	// Read again under the lock: a revocation that commits meanwhile reaches the directory after us, one that committed
	// before is what we read.
	d.mu.Lock()
	defer d.mu.Unlock()
	k, refused, err = d.lookUp(ctx, hash)
	if k == nil {
		return refused, err
	}
	return nil, d.put(k)
}

func (d *Directory) lookUp(ctx context.Context, hash [32]byte) (*APIKey, *problem.Problem, error) {
	k, err := d.store.APIKeyBySecret(ctx, hash)
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		return nil, ErrInvalid, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if k.RevokedAt != nil {
		return nil, k.refusal(hash, d.now()), nil
	}
	return k, nil, nil
}

// refusal says why a revoked key's secret is refused: that it was revoked only to who holds a secret that still counted.
func (k *APIKey) refusal(hash [32]byte, now time.Time) *problem.Problem {
	for _, s := range k.Secrets {
		if s.Hash == hash && s.liveAt(now) {
			return errRevoked
		}
	}
	return ErrInvalid
}

// refuse remembers r, at the cost of the oldest. The caller holds the lock.
func (u *unknown) refuse(hash [32]byte, r refusal) {
	if _, known := u.refused[hash]; !known {
		if len(u.refused) == unknownCapacity {
			delete(u.refused, u.order[u.next])
			u.evicted.Add(1)
		}
		u.order[u.next] = hash
		u.next = (u.next + 1) % unknownCapacity
	}
	u.refused[hash] = r
}

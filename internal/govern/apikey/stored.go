package apikey

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"keepsake/internal/base/problem"
)

const (
	maxRefusals = 4096
	refusalTTL  = 10 * time.Second
	readTimeout = 2 * time.Second
)

// LookupStored is Lookup for a key that is not in memory. It reads the database: another process has just created the key,
// or it was revoked before this process started, or the text is invented, which is the usual case.
//
// Invented texts must not cost much. Concurrent calls for one text share a read. A refusal is remembered for refusalTTL,
// and at most maxRefusals are. The caller charges for the read. Refusals are checked after the keys in memory, so they
// never hide a key that can be used.
func (d *Directory) LookupStored(ctx context.Context, text string, now time.Time) (LiveKey, error) {
	if !WellFormed(text) {
		return LiveKey{}, ErrInvalid
	}
	hash := d.hasher.Hash(text)
	if refusal := d.refusals.get(hash, now); refusal != nil {
		return LiveKey{}, refusal
	}
	// The read continues without the caller that started it, because others can be waiting for it.
	read := d.reads.DoChan(string(hash[:]), func() (any, error) {
		return nil, d.readStored(context.WithoutCancel(ctx), hash, now)
	})
	select {
	case r := <-read:
		if r.Err != nil {
			return LiveKey{}, r.Err
		}
	case <-ctx.Done():
		return LiveKey{}, fmt.Errorf("read API key by its secret: %w", context.Cause(ctx))
	}
	if e := d.index.find(hash); e != nil {
		return d.liveKey(e, hash, now)
	}
	return LiveKey{}, ErrInvalid
}

// readStored adds the key with this secret to the directory, or returns why it cannot be used.
func (d *Directory) readStored(ctx context.Context, hash [32]byte, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	k, err := d.store.APIKeyBySecret(ctx, hash)
	var refusal *problem.Problem
	switch {
	case isMissing(err):
		refusal = ErrInvalid
	case err != nil:
		return fmt.Errorf("read API key by its secret: %w", err)
	case k.RevokedAt != nil:
		if refusal = k.revokedProblem(hash, now); refusal == errRevoked {
			d.revokedUses.add(k.ID, k.WorkspaceID, now)
		}
	default:
		// A revocation that was committed since that read has a higher revision, so the order of the two does not matter.
		return d.add(k)
	}
	d.refusals.add(hash, refusal, now)
	return refusal
}

// revokedProblem is the problem of a secret of a revoked key. That the key was revoked is shown only to a caller whose
// secret has not expired.
func (k *APIKey) revokedProblem(hash [32]byte, now time.Time) *problem.Problem {
	for _, s := range k.liveSecrets(now) {
		if s.Hash == hash {
			return errRevoked
		}
	}
	return ErrInvalid
}

// isMissing reports whether err is problem.Missing.
func isMissing(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.NotFound
}

// refusals remembers the last secrets that the database refused.
type refusals struct {
	mu     sync.Mutex
	recent *simplelru.LRU[[32]byte, cachedRefusal]

	hits, misses, evicted int64
}

type cachedRefusal struct {
	problem *problem.Problem
	at      time.Time
}

func newRefusals() *refusals {
	recent, _ := simplelru.NewLRU[[32]byte, cachedRefusal](maxRefusals, nil)
	return &refusals{recent: recent}
}

// get returns the refusal of a secret, nil if there is none or it is too old.
func (r *refusals) get(hash [32]byte, now time.Time) *problem.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.recent.Peek(hash); ok {
		if age := now.Sub(known.at); age >= 0 && age < refusalTTL {
			r.hits++
			return known.problem
		}
	}
	r.misses++
	return nil
}

func (r *refusals) add(hash [32]byte, p *problem.Problem, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recent.Add(hash, cachedRefusal{p, now}) {
		r.evicted++
	}
}

package seal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
)

// Keeper changes the master key of a running instance. It is safe for concurrent use.
type Keeper struct {
	Secrets *Secrets
	File    KeyFile // empty if a setting provides the key, which this process cannot change
	Audit   audit.Recorder
	Now     func() time.Time
	// Alone runs fn while no other process of the instance changes the master key. It is nil if there is no other
	// process.
	Alone    func(ctx context.Context, fn func(ctx context.Context) error) error
	Subjects *Subjects // nil if there are none; their wrapping secret changes with the master key

	rotating sync.Mutex
}

// Rotated describes a change of the master key.
type Rotated struct {
	At      time.Time
	File    string // where the new key is; empty if a setting must provide it from the next start on
	OldFile string // where the old key was moved to; empty if it was not in a file of ours
	Secrets int    // how many secrets are sealed with the new key
}

// Rotate seals all secrets with a new master key: the one in text, or a random one if text is empty. API keys, tokens
// and cursors stay valid. actor is the caller.
//
// The error is a problem.Invalid for a text that is not a key, and a problem.Conflict for the key in use. It is also a
// problem.Conflict if text is empty and a setting provides the key: after a restart, the random key would be lost.
func (k *Keeper) Rotate(ctx context.Context, actor, text string) (r *Rotated, err error) {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	if k.Alone == nil {
		return k.rotateAlone(ctx, actor, text)
	}
	err = k.Alone(ctx, func(ctx context.Context) (err error) {
		r, err = k.rotateAlone(ctx, actor, text)
		return err
	})
	return r, err
}

func (k *Keeper) rotateAlone(ctx context.Context, actor, text string) (*Rotated, error) {
	switch err := k.Secrets.Reload(ctx); {
	case errors.Is(err, ErrMasterKeyReplaced):
		return nil, problem.Conflicts("Another process on this database has rotated the master key. Restart this process with the new key.").Because(err)
	case err != nil:
		return nil, err
	}
	next, err := k.choose(ctx, text)
	if err != nil {
		return nil, err
	}
	// Log it before it happens, because the secrets and the log are in two databases: a change that cannot be logged
	// must not happen.
	if err := k.tell(ctx, actor, audit.Done, "begun"); err != nil {
		return nil, err
	}
	r, err := k.rotate(ctx, next)
	if err != nil {
		return nil, errors.Join(err, k.tell(ctx, actor, audit.Failed, "completed"))
	}
	return r, k.tell(ctx, actor, audit.Done, "completed")
}

// choose reads or creates the new key.
func (k *Keeper) choose(ctx context.Context, text string) (next MasterKey, err error) {
	switch {
	case text != "":
		if next, err = ParseMasterKey(text); err != nil {
			return next, problem.Validation("masterKey", problem.Format, "A master key must be 32 bytes in base64.")
		}
	case k.File == "":
		return next, problem.Conflicts("The setting masterKey provides the master key of this instance, so the request must provide the new key.")
	default:
		if _, err = rand.Read(next[:]); err != nil {
			return next, fmt.Errorf("create a master key: %w", err)
		}
	}
	inUse, err := Opens(ctx, k.Secrets.store, next)
	if err == nil && inUse {
		err = problem.Conflicts("This master key is already in use.")
	}
	return next, err
}

func (k *Keeper) rotate(ctx context.Context, next MasterKey) (*Rotated, error) {
	r := &Rotated{At: k.Now().UTC().Truncate(time.Millisecond), File: string(k.File)}
	var err error
	if k.File == "" {
		if r.Secrets, err = k.Secrets.Rewrap(ctx, next); err != nil {
			return nil, err
		}
		return r, k.renew(ctx)
	}
	// A change that failed after the secrets were sealed left the key in use under the other name. A lost key file does
	// not matter: the secrets are in memory, and with a new key the instance can start again.
	if _, _, err := k.File.Recover(ctx, k.Secrets.store, r.At); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("locate the master key in use: %w", err)
	}
	if err := k.File.offer(next); err != nil {
		return nil, fmt.Errorf("store the new master key: %w", err)
	}
	if r.Secrets, err = k.Secrets.Rewrap(ctx, next); err != nil {
		return nil, err // both files stay: the outcome may be unknown until the store answers again
	}
	// Before the file is replaced, because the next start then completes a change that was cut off here.
	renewed := k.renew(ctx)
	if r.OldFile, err = k.File.replace(r.At); err != nil {
		return nil, fmt.Errorf("the new master key is in use and is in %s until the next start renames it: %w", k.File.next(), err)
	}
	return r, renewed
}

// renew rewraps the data keys after a change of the master key and overwrites the secrets sealed with the old one.
func (k *Keeper) renew(ctx context.Context) error {
	if k.Subjects != nil {
		if err := k.Subjects.Renew(ctx); err != nil {
			return fmt.Errorf("the new master key is in use, but no new wrapping secret was created: rotate once more: %w", err)
		}
	}
	if err := k.Secrets.store.ScrubSecrets(ctx); err != nil {
		return fmt.Errorf("the new master key is in use, but the files still contain secrets under the old one: rotate once more: %w", err)
	}
	return nil
}

// Recovered logs a change that a start completed.
func (k *Keeper) Recovered(ctx context.Context) error {
	if err := k.renew(ctx); err != nil {
		return err
	}
	return k.tell(ctx, "", audit.Done, "completed at start")
}

func (k *Keeper) tell(ctx context.Context, actor string, outcome audit.Outcome, step string) error {
	return k.Audit.Record(ctx, audit.Entry{
		Action: audit.MasterKeyRotated, Actor: actor, Outcome: outcome, Details: map[string]string{"step": step},
	})
}

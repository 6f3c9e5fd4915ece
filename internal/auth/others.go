package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"keepsake/internal/problem"
)

// ErrUnknownKey says of a token that no key is known which it names, and that another process may have made one since.
var ErrUnknownKey = errors.New("auth: the token names a key that is not known here")

// errCannotAsk is for who would have to wait with too many others.
var errCannotAsk = problem.NotAvailable("This access token cannot be checked at this moment.", time.Second)

// others is how keys are found that other processes have made. Whoever invents tokens could have us look as often as he
// likes, so it happens at most each askEvery, for all at once who want to know.
type others struct {
	reload func(ctx context.Context) error

	mu      sync.Mutex
	last    time.Time // when the last look began
	next    *look     // has not begun
	waiting int
}

// look is a look into the vault.
type look struct {
	done chan struct{}
	err  error
}

const (
	askEvery   = time.Second
	askTimeout = 2 * time.Second
	maxAsking  = 256
)

// Share says that other processes make and remove keys, too. reload brings the vault up to date with the store that they
// share. Call it before the keys are used.
func (s *SigningKeys) Share(reload func(ctx context.Context) error) {
	s.others = &others{reload: reload}
}

// Hear reads the keys anew: another process has made or removed one.
func (s *SigningKeys) Hear(ctx context.Context) error {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	return s.reload(ctx)
}

func (s *SigningKeys) reload(ctx context.Context) error {
	if err := s.others.reload(ctx); err != nil {
		return err
	}
	keys, err := s.kept()
	if err != nil {
		return err
	}
	if len(keys) > 0 { // else the store is another one by now, and what was signed is better than nothing
		s.keys.Store(&keys)
	}
	return nil
}

// AskOthers looks for keys that were made before it was called. It is ErrUnknownKey where nobody else makes any, and
// problem.Unavailable where nobody can tell.
func (t *Tokens) AskOthers(ctx context.Context) error {
	if t.keys.others == nil {
		return ErrUnknownKey
	}
	return t.keys.others.ask(ctx, t.keys.Hear)
}

func (o *others) ask(ctx context.Context, hear func(ctx context.Context) error) error {
	o.mu.Lock()
	if o.waiting >= maxAsking {
		o.mu.Unlock()
		return errCannotAsk
	}
	o.waiting++
	next := o.next
	if next == nil {
		next = &look{done: make(chan struct{})}
		o.next = next
		// Not the first caller's alone: if that one goes away, the others still want to know.
		go o.look(context.WithoutCancel(ctx), next, time.Until(o.last.Add(askEvery)), hear)
	}
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.waiting--
	}()
	select {
	case <-next.done:
		return next.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// look looks when it is time. Whoever asks after it has begun waits for the one after it: a key may have been made since.
func (o *others) look(ctx context.Context, l *look, wait time.Duration, hear func(ctx context.Context) error) {
	time.Sleep(wait) // the rate, not something to happen
	o.mu.Lock()
	o.next, o.last = nil, time.Now()
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := hear(ctx); err != nil {
		l.err = errCannotAsk.Because(fmt.Errorf("read the signing keys: %w", err))
	}
	close(l.done)
}

// isMissing reports that what was to be removed is not there: another process was first.
func isMissing(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.NotFound
}

package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/coalesce"
	"keepsake/internal/problem"
)

// ErrUnknownKey says of a token that no key is known which it names, and that another process may have made one since.
var ErrUnknownKey = errors.New("auth: the token names a key that is not known here")

// errCannotAsk is for who would have to wait with too many others.
var errCannotAsk = problem.NotAvailable("Access tokens cannot be verified right now; try again.", time.Second)

// others finds keys that other processes have made. Anybody can make up tokens that have us look, so it looks at most once
// every askEvery, for all that ask by then. A key may have been made since a look began, so who asks after that waits for the
// next one.
type others struct {
	reload func(ctx context.Context) error
	looks  *coalesce.Batcher[struct{}]
}

func newOthers(reload, look func(ctx context.Context) error) *others {
	last := time.Now().Add(-askEvery) // when the last look began
	return &others{reload, coalesce.New(coalesce.Options[struct{}]{
		Abandon: true,
		Pause:   func() { time.Sleep(time.Until(last.Add(askEvery))) }, // the rate, not something to happen
		Run: func(ctx context.Context, _ string, _ []struct{}) error {
			last = time.Now()
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			if err := look(ctx); err != nil {
				return errCannotAsk.Because(fmt.Errorf("read the signing keys: %w", err))
			}
			return nil
		},
	})}
}

const (
	askEvery   = time.Second
	askTimeout = 2 * time.Second
	maxAsking  = 256
)

// Share says that other processes make and remove keys, too. reload brings the vault up to date with the store that they
// share. Call it before the keys are used.
func (s *SigningKeys) Share(reload func(ctx context.Context) error) {
	s.others = newOthers(reload, s.Hear)
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
	return t.keys.others.ask(ctx)
}

func (o *others) ask(ctx context.Context) error {
	if o.looks.Waiting("") >= maxAsking {
		return errCannotAsk
	}
	return o.looks.Do(ctx, "", struct{}{})
}

// isMissing reports that what was to be removed is not there: another process was first.
func isMissing(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.NotFound
}

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Source reads news from where they are kept.
type Source interface {
	// From reads at most limit news from a number on, that one included, and the head, both as of one moment.
	From(ctx context.Context, number int64, limit int) (*Page, error)
	// Prune removes news that are older than that.
	Prune(ctx context.Context, keep time.Duration) error
}

// Hearer brings what a process holds in memory up to date.
type Hearer interface {
	// Hear reads anew what the news are about. After an error it is told again.
	Hear(ctx context.Context, news []News) error
	// HearEverything reads all of it anew, because nobody knows what was missed.
	HearEverything(ctx context.Context) error
}

// ReaderOptions is what a Reader needs.
type ReaderOptions struct {
	Source   Source
	Hearer   Hearer
	Patience time.Duration // how old the last news can be before callers must not rely on it
	Log      *slog.Logger
	Now      func() time.Time // nil: time.Now, whose moments a clock that is set does not part

	// Done is called after each poll with the number up to which all was heard. May be nil.
	Done func(ctx context.Context, number int64)

	// StartTimeout is how long Begin waits for the source. Zero: as long as a poll does.
	StartTimeout time.Duration
}

// Reader reads the news, all of them and in order: it polls every PollEvery.
type Reader struct {
	ReaderOptions

	number int64 // heard up to here
	last   *News // the news of that number; nil where nobody has read them

	began   time.Time
	elapsed func() time.Duration // since began
	current atomic.Int64         // when the last poll began that left nothing unheard, in nanoseconds since began
	failing bool
}

const (
	pageOfNews  = 500
	pollTimeout = 2 * time.Second
	pruneEvery  = 10 * time.Minute
	// What is read on behalf of news must end, too, where the database no longer answers.
	hearTimeout       = 5 * time.Second
	everythingTimeout = 2 * time.Minute
)

// NewReader makes a Reader, for Begin.
func NewReader(o ReaderOptions) *Reader {
	r := &Reader{ReaderOptions: o}
	if o.Now == nil {
		r.Now = time.Now
	}
	r.began = r.Now()
	// time.Since reads one clock where Now reads two, and every request asks.
	r.elapsed = func() time.Duration { return r.Now().Sub(r.began) }
	if o.Now == nil {
		r.elapsed = func() time.Duration { return time.Since(r.began) }
	}
	return r
}

// Begin hears from now on. What there is in memory must be read after it: what was changed before is in that already.
func (r *Reader) Begin(ctx context.Context) error {
	began := r.Now()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.StartTimeout, pollTimeout))
	defer cancel()
	page, err := r.Source.From(ctx, 0, 0)
	if err != nil {
		return fmt.Errorf("read the news: %w", err)
	}
	r.number, r.last = page.Head, nil
	r.current.Store(int64(began.Sub(r.began)))
	return nil
}

// Current reports whether all that was changed longer than Patience ago is known here.
func (r *Reader) Current() bool {
	return r.Heard() < r.Patience
}

// Heard is how long ago the last poll began that left nothing unheard.
func (r *Reader) Heard() time.Duration {
	return r.elapsed() - time.Duration(r.current.Load())
}

// Run hears until ctx ends.
func (r *Reader) Run(ctx context.Context) {
	every, prune := time.NewTimer(PollEvery), time.NewTicker(pruneEvery)
	defer every.Stop()
	defer prune.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-prune.C:
			r.prune(ctx)
			continue
		case <-every.C:
		}
		err := r.Poll(ctx)
		if ctx.Err() == nil {
			r.note(err)
		}
		every.Reset(PollEvery)
	}
}

// prune is done by every member: what one has removed, the others no longer find.
func (r *Reader) prune(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if err := r.Source.Prune(ctx, KeepNews); err != nil && ctx.Err() == nil {
		r.Log.Warn("old news were not removed", "error", err.Error())
	}
}

// Poll hears what there is. Only one goroutine polls at a time.
func (r *Reader) Poll(ctx context.Context) error {
	for {
		began := r.Now()
		page, err := r.read(ctx)
		if err != nil {
			return err
		}
		fresh, whole := hear(r.number, r.last, page)
		if !whole {
			return r.everything(ctx, began, page.Head)
		}
		if len(fresh) > 0 {
			if err := r.hear(ctx, distinct(fresh)); err != nil {
				return err
			}
			last := fresh[len(fresh)-1]
			r.number, r.last = last.Number, &last
		} else if r.last == nil && len(page.News) > 0 {
			r.last = &page.News[0]
		}
		if r.number == page.Head {
			r.current.Store(int64(began.Sub(r.began)))
			r.said(ctx)
			return nil
		}
	}
}

func (r *Reader) read(ctx context.Context) (*Page, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	page, err := r.Source.From(ctx, r.number, pageOfNews)
	if err != nil {
		return nil, fmt.Errorf("read the news: %w", err)
	}
	return page, nil
}

func (r *Reader) hear(ctx context.Context, fresh []News) error {
	ctx, cancel := context.WithTimeout(ctx, hearTimeout)
	defer cancel()
	if err := r.Hearer.Hear(ctx, fresh); err != nil {
		return fmt.Errorf("read what the news are about: %w", err)
	}
	return nil
}

// everything starts over at a head that was read before all else is.
func (r *Reader) everything(ctx context.Context, began time.Time, head int64) error {
	r.Log.Warn("news were missed, so everything is read again", "heard", r.number, "head", head)
	ctx, cancel := context.WithTimeout(ctx, everythingTimeout)
	defer cancel()
	if err := r.Hearer.HearEverything(ctx); err != nil {
		return fmt.Errorf("read everything again: %w", err)
	}
	r.number, r.last = head, nil
	r.current.Store(int64(began.Sub(r.began)))
	r.said(ctx)
	return nil
}

// said passes on up to where all was heard.
func (r *Reader) said(ctx context.Context) {
	if r.Done != nil {
		r.Done(ctx, r.number)
	}
}

// note logs the first of a row of failures, and the end of the row.
func (r *Reader) note(err error) {
	if failing := err != nil; failing != r.failing {
		r.failing = failing
		if failing {
			r.Log.Warn("what other processes change is not heard", "error", err.Error(), "patience", r.Patience.String())
		} else {
			r.Log.Info("what other processes change is heard again")
		}
	}
}

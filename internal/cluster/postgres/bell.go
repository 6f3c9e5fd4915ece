package postgres

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bell wakes those who look for something anyway, so that they look sooner. Nothing depends on it: a ring may be lost, be
// late, or come where there is nothing.
//
// It uses LISTEN and NOTIFY, outside of transactions that do anything else: a notification takes a lock that all
// committing ones on the server meet at.
type Bell struct {
	connect Connect
	log     *slog.Logger
	every   time.Duration // ringEvery but in tests

	mu        sync.Mutex
	ears      map[string][]func(subject string)
	pending   map[string]bool // notifications to send
	interrupt func()          // wakes up who listens; nil while nobody does
}

const (
	bellChannel = "keepsake"
	ringEvery   = 50 * time.Millisecond // at most 20 notifications a second
	bellCheck   = 20 * time.Second      // how long a silent connection is believed to be alive
	maxPending  = 1000
)

// NewBell makes a Bell.
func NewBell(connect Connect, log *slog.Logger) *Bell {
	return &Bell{connect: connect, log: log, every: ringEvery, ears: map[string][]func(string){}, pending: map[string]bool{}}
}

// On has heard called when another process rings for a topic, with the subject it named, and with an empty one where some
// ring may have been missed. It must return at once. Call it before Run.
func (b *Bell) On(topic string, heard func(subject string)) {
	b.ears[topic] = append(b.ears[topic], heard)
}

// Ring rings for a topic, a word, soon: of many rings for the same subject one is sent. It returns at once.
func (b *Bell) Ring(topic, subject string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) < maxPending {
		b.pending[topic+" "+subject] = true
	}
	if b.interrupt != nil {
		b.interrupt()
	}
}

// Run listens and rings until ctx ends.
func (b *Bell) Run(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		err := b.listen(ctx, func() { failing = false })
		if ctx.Err() != nil {
			return
		}
		if !failing {
			failing = true
			b.log.Debug("nobody is woken by other processes until the database is reached again", "error", err.Error())
		}
		pause(ctx, 200*time.Millisecond+rand.N(300*time.Millisecond))
	}
}

// listen listens on one connection for as long as that lives.
func (b *Bell) listen(ctx context.Context, connected func()) error {
	opening, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := b.connect(opening)
	if err != nil {
		return readable(err)
	}
	defer goodbye(conn)
	if _, err := conn.Exec(opening, "LISTEN "+bellChannel); err != nil {
		return readable(err)
	}
	connected()
	b.everything()
	var sent time.Time
	for {
		if wait := b.every - time.Since(sent); wait > 0 {
			if err := b.hear(ctx, conn, wait, false); err != nil {
				return err
			}
			continue
		}
		if ring := b.take(); len(ring) > 0 {
			if err := notify(ctx, conn, ring); err != nil {
				return err
			}
			sent = time.Now()
			continue
		}
		if err := b.hear(ctx, conn, bellCheck, true); err != nil {
			return err
		}
	}
}

// hear waits for a notification, but not longer than a time. Where it may be interrupted it also ends when there is
// something to send; where it waited in vain to the end it looks whether the connection is alive.
func (b *Bell) hear(ctx context.Context, conn *pgx.Conn, longest time.Duration, interruptible bool) error {
	waiting, stop := context.WithTimeout(ctx, longest)
	defer stop()
	if interruptible && !b.interruptBy(stop) {
		return nil
	}
	n, err := conn.WaitForNotification(waiting)
	b.interruptBy(nil)
	switch {
	case err == nil:
		if n.PID != conn.PgConn().PID() { // our own ring tells us nothing
			topic, subject, _ := strings.Cut(n.Payload, " ")
			b.tell(topic, subject)
		}
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case conn.IsClosed():
		return readable(err)
	case interruptible && waiting.Err() == context.DeadlineExceeded:
		checking, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if _, err := conn.Exec(checking, "SELECT 1"); err != nil {
			return readable(err)
		}
	}
	return nil
}

// interruptBy says how to interrupt who listens; false where there is something to send already.
func (b *Bell) interruptBy(stop func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if stop != nil && len(b.pending) > 0 {
		return false
	}
	b.interrupt = stop
	return true
}

// take gives what is to be sent.
func (b *Bell) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for ring := range b.pending {
		list = append(list, ring)
	}
	clear(b.pending)
	return list
}

func notify(ctx context.Context, conn *pgx.Conn, ring []string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := conn.Exec(ctx, `SELECT pg_notify('`+bellChannel+`', ring) FROM unnest($1::TEXT[]) AS ring`, ring)
	if err != nil {
		return readable(err)
	}
	return nil
}

func (b *Bell) tell(topic, subject string) {
	for _, heard := range b.ears[topic] {
		heard(subject)
	}
}

// everything tells all that they may have missed something.
func (b *Bell) everything() {
	for topic := range b.ears {
		b.tell(topic, "")
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"keepsake/internal/base/unit"
	"keepsake/internal/store/cluster"
)

// News records events that make other processes read something again.
type News struct {
	main   *DB
	shared bool // other processes can have the database open
}

func newNews(main *DB, e Engine) *News { return &News{main, e.Shared()} }

// announce records an event, with the commit of the transaction of ctx, that makes other processes read something again. It does
// nothing if no other process can have the database open.
func (s *News) announce(ctx context.Context, kind cluster.Kind, subject string) {
	if !s.shared {
		return
	}
	pending := unit.Local(ctx, pendingKey{}, func() *pendingEvents { return &pendingEvents{} })
	for _, n := range pending.list {
		if n.Kind == kind && n.Subject == subject {
			return
		}
	}
	pending.list = append(pending.list, cluster.Event{Kind: kind, Subject: subject})
	unit.LastBeforeCommit(ctx, eventsHook, func(ctx context.Context) error { return s.addEvents(ctx, pending) })
}

// eventsHook names the hook that numbers events. Every transaction with events locks the same row, from there to the end of its
// commit.
const eventsHook = "news"

type pendingKey struct{}

// pendingEvents are the events of one transaction.
type pendingEvents struct{ list []cluster.Event }

// addEvents numbers the events of a transaction. The head stays locked until the commit, so numbers follow the order of commits
// and have no gaps.
func (s *News) addEvents(ctx context.Context, pending *pendingEvents) error {
	var head int64
	err := s.main.In(ctx).QueryRow(ctx, `
		INSERT INTO cluster_head (name, number) VALUES ('news', $1)
		ON CONFLICT (name) DO UPDATE SET number = cluster_head.number + excluded.number RETURNING number`,
		int64(len(pending.list))).Scan(&head)
	if err != nil {
		return fmt.Errorf("number events: %w", err)
	}
	var c Conditions
	for i, n := range pending.list {
		c.Where(`(?, ?, ?)`, head-int64(len(pending.list)-1-i), string(n.Kind), n.Subject)
	}
	_, err = s.main.In(ctx).Exec(ctx, `INSERT INTO news (number, kind, subject) VALUES `+strings.Join(c.all, ", "), c.Args...)
	if err != nil {
		return fmt.Errorf("add events: %w", err)
	}
	return nil
}

// TellDestroyed records for the other processes that a subject's data key was destroyed, and returns the number of the event.
func (s *News) TellDestroyed(ctx context.Context, workspaceID string, subject [16]byte) (number int64, err error) {
	name := workspaceID + "/" + hex.EncodeToString(subject[:])
	err = s.main.Run(ctx, func(ctx context.Context) error {
		s.announce(ctx, cluster.Subject, name)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("record that a data key was destroyed: %w", err)
	}
	err = s.main.In(ctx).QueryRow(ctx, `SELECT max(number) FROM news WHERE kind = $1 AND subject = $2`, string(cluster.Subject), name).Scan(&number)
	if err != nil {
		return 0, fmt.Errorf("read the number of an event: %w", err)
	}
	return number, nil
}

// DestroyedSubject parses the subject of an event of TellDestroyed.
func DestroyedSubject(name string) (workspaceID string, subject [16]byte, err error) {
	workspaceID, text, _ := strings.Cut(name, "/")
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(subject) {
		return "", subject, fmt.Errorf("an event about a subject names none: %q", name)
	}
	return workspaceID, [16]byte(raw), nil
}

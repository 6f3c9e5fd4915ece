package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"keepsake/internal/apikey"
	"keepsake/internal/cluster"
	"keepsake/internal/unit"
)

// tell records an event, with the commit of the transaction of ctx, that makes other processes read something again. It does
// nothing if no other process can have the database open.
func (s *Store) tell(ctx context.Context, kind cluster.Kind, subject string) {
	if !s.engine.Shared() {
		return
	}
	told := unit.Local(ctx, toldKey{}, func() *toldNews { return &toldNews{} })
	for _, n := range told.list {
		if n.Kind == kind && n.Subject == subject {
			return
		}
	}
	told.list = append(told.list, cluster.News{Kind: kind, Subject: subject})
	unit.LastBeforeCommit(ctx, newsHook, func(ctx context.Context) error { return s.putNews(ctx, told) })
}

// newsHook takes the numbers of news: the row that all of them meet at is held from there to the end of the commit.
const newsHook = "news"

type toldKey struct{}

// toldNews is what one unit of work has to tell.
type toldNews struct{ list []cluster.News }

// putNews numbers what a unit tells. The head stays locked until the commit, so numbers follow the order of the commits
// and none of a unit that failed is missing.
func (s *Store) putNews(ctx context.Context, told *toldNews) error {
	var head int64
	err := s.main.In(ctx).QueryRow(ctx, `
		INSERT INTO cluster_head (name, number) VALUES ('news', $1)
		ON CONFLICT (name) DO UPDATE SET number = cluster_head.number + excluded.number RETURNING number`,
		int64(len(told.list))).Scan(&head)
	if err != nil {
		return fmt.Errorf("number news: %w", err)
	}
	var c conditions
	for i, n := range told.list {
		c.where(`(?, ?, ?)`, head-int64(len(told.list)-1-i), string(n.Kind), n.Subject)
	}
	_, err = s.main.In(ctx).Exec(ctx, `INSERT INTO news (number, kind, subject) VALUES `+strings.Join(c.all, ", "), c.args...)
	if err != nil {
		return fmt.Errorf("add news: %w", err)
	}
	return nil
}

// TellDestroyed tells the other processes that a subject's data key was destroyed, and gives the number of the news.
func (s *Store) TellDestroyed(ctx context.Context, workspaceID string, subject [16]byte) (number int64, err error) {
	name := workspaceID + "/" + hex.EncodeToString(subject[:])
	err = s.main.Run(ctx, func(ctx context.Context) error {
		s.tell(ctx, cluster.Subject, name)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("tell that a data key was destroyed: %w", err)
	}
	err = s.main.In(ctx).QueryRow(ctx, `SELECT max(number) FROM news WHERE kind = $1 AND subject = $2`, string(cluster.Subject), name).Scan(&number)
	if err != nil {
		return 0, fmt.Errorf("read the number of news: %w", err)
	}
	return number, nil
}

// DestroyedSubject is the subject that news of TellDestroyed are about.
func DestroyedSubject(name string) (workspaceID string, subject [16]byte, err error) {
	workspaceID, text, _ := strings.Cut(name, "/")
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(subject) {
		return "", subject, fmt.Errorf("news of a subject name none: %q", name)
	}
	return workspaceID, [16]byte(raw), nil
}

// changeSecrets runs fn as one unit of work of the keys' database, and tells of it after: the two databases may commit
// apart. Nothing depends on the telling: secrets are also read anew from time to time, and when a token names a key that
// is not known.
func (s *Store) changeSecrets(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := s.keys.Run(ctx, fn); err != nil {
		return err
	}
	_ = s.main.Run(ctx, func(ctx context.Context) error {
		s.tell(ctx, cluster.Secret, "")
		return nil
	})
	return nil
}

// APIKeys reads keys by their ids, of whatever workspace, for the directory. k is used again for the next one.
func (s *Store) APIKeys(ctx context.Context, ids []string, fn func(k *apikey.APIKey) error) error {
	const atOnce = 200
	for len(ids) > 0 {
		some := ids[:min(atOnce, len(ids))]
		ids = ids[len(some):]
		var c conditions
		for _, id := range some {
			c.where(`?`, id)
		}
		err := s.eachAPIKey(ctx, selectAPIKey+` FROM api_key k LEFT JOIN api_key_secret s ON s.key_id = k.id
			WHERE k.id IN (`+strings.Join(c.all, ", ")+`) ORDER BY k.id`, c.args, fn)
		if err != nil {
			return fmt.Errorf("read keys: %w", err)
		}
	}
	return nil
}

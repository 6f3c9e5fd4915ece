package store

import (
	"context"
	"fmt"
	"slices"

	"keepsake/internal/base/problem"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store/cluster"
)

// Secrets stores encrypted secrets.
type Secrets struct {
	main *DB // of the events
	keys *DB
	news *News
}

// InstanceID implements seal.Store.
func (s *Secrets) InstanceID(ctx context.Context) (string, error) {
	var id string
	if err := s.keys.In(ctx).QueryRow(ctx, `SELECT id FROM instance`).Scan(&id); err != nil {
		return "", fmt.Errorf("read instance id: %w", err)
	}
	return id, nil
}

// Secrets implements seal.Store.
func (s *Secrets) Secrets(ctx context.Context) ([]seal.Wrapped, error) {
	rows, err := s.keys.In(ctx).Query(ctx, `SELECT name, sealed, created_at FROM wrapped_secret ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	defer rows.Close()
	var list []seal.Wrapped
	for rows.Next() {
		var w seal.Wrapped
		var created int64
		if err := rows.Scan(&w.Name, &w.Sealed, &created); err != nil {
			return nil, fmt.Errorf("read secret: %w", err)
		}
		w.CreatedAt = TimeOf(created)
		list = append(list, w)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	return list, nil
}

// AddSecrets implements seal.Store.
func (s *Secrets) AddSecrets(ctx context.Context, secrets []seal.Wrapped) error {
	return s.changeSecrets(ctx, func(ctx context.Context) error {
		if err := s.holdSecrets(ctx); err != nil {
			return err
		}
		stored, err := s.Secrets(ctx)
		if err != nil {
			return err
		}
		for _, w := range secrets {
			if slices.ContainsFunc(stored, func(known seal.Wrapped) bool { return seal.NumberedAfter(known.Name, w.Name) }) {
				return problem.Conflicts("A later secret than this one already exists.")
			}
			n, err := s.keys.In(ctx).Exec(ctx, `
				INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
				w.Name, w.Sealed, Micros(w.CreatedAt))
			if err != nil {
				return fmt.Errorf("add secret %s: %w", w.Name, err)
			}
			if n == 0 {
				return problem.Conflicts("A secret with this name already exists.")
			}
		}
		return nil
	})
}

// RemoveSecret implements seal.Store.
func (s *Secrets) RemoveSecret(ctx context.Context, name string) error {
	err := s.changeSecrets(ctx, func(ctx context.Context) error {
		if err := s.holdSecrets(ctx); err != nil {
			return err
		}
		n, err := s.keys.In(ctx).Exec(ctx, `DELETE FROM wrapped_secret WHERE name = $1`, name)
		if err != nil {
			return fmt.Errorf("remove secret %s: %w", name, err)
		}
		if n == 0 {
			return problem.Missing()
		}
		// Checked after the row is deleted: a transaction that adds a key under this secret locks the row until its commit.
		var used bool
		err = s.keys.In(ctx).QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM subject_key WHERE wrapped_with = $1)`, name).Scan(&used)
		if err != nil {
			return fmt.Errorf("find data keys under secret %s: %w", name, err)
		}
		if used {
			return errUsed
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.ScrubSecrets(ctx)
}

// ResealSecrets implements seal.Store.
func (s *Secrets) ResealSecrets(ctx context.Context, secrets []seal.Wrapped) error {
	return s.changeSecrets(ctx, func(ctx context.Context) error {
		if err := s.holdSecrets(ctx); err != nil {
			return err
		}
		stored, err := s.Secrets(ctx)
		if err != nil {
			return err
		}
		given := make(map[string]bool, len(secrets))
		for _, w := range secrets {
			given[w.Name] = true
		}
		for _, w := range stored {
			if !given[w.Name] {
				return errResealed
			}
		}
		if len(stored) != len(secrets) || len(given) != len(secrets) {
			return errResealed
		}
		for _, w := range secrets {
			if _, err := s.keys.In(ctx).Exec(ctx, `UPDATE wrapped_secret SET sealed = $1 WHERE name = $2`, w.Sealed, w.Name); err != nil {
				return fmt.Errorf("reseal secret %s: %w", w.Name, err)
			}
		}
		return nil
	})
}

// ScrubSecrets implements seal.Store.
func (s *Secrets) ScrubSecrets(ctx context.Context) error {
	if _, err := s.keys.Rewrite(ctx, "wrapped_secret"); err != nil {
		return err
	}
	return s.keys.Scrub(ctx)
}

// holdSecrets serializes changes of secrets, so that none is added under a master key that is being replaced.
func (s *Secrets) holdSecrets(ctx context.Context) error {
	if err := s.keys.Hold(ctx, `SELECT id FROM instance`); err != nil {
		return fmt.Errorf("hold secrets: %w", err)
	}
	return nil
}

var errUsed = problem.Conflicts("This secret still wraps data keys.")

var errResealed = problem.Conflicts("Some secrets are missing from the list.")

// changeSecrets runs fn as a transaction of the keys' database, and then records an event. The two databases can commit
// separately, but nothing depends on the event: secrets are also read from time to time, and when a token names an unknown key.
func (s *Secrets) changeSecrets(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := s.keys.Run(ctx, fn); err != nil {
		return err
	}
	_ = s.main.Run(ctx, func(ctx context.Context) error {
		s.news.announce(ctx, cluster.Secret, "")
		return nil
	})
	return nil
}

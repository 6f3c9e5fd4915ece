package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/store/cluster"
)

// Versions stores what happens to versions of the API.
type Versions struct {
	main *DB
	news *News
}

// Versions implements lifecycle.Store.
func (s *Versions) Versions(ctx context.Context) ([]lifecycle.Version, error) {
	var list []lifecycle.Version
	err := s.main.EachRow(ctx, `SELECT number, since, announced_at, sunset_at, retired_at, guide_url, backdated, revision, dated_at FROM api_version ORDER BY number`, nil, func(row Row) error {
		var v lifecycle.Version
		var since int64
		var announced, sunset, retired, dated *int64
		if err := row.Scan(&v.Number, &since, &announced, &sunset, &retired, &v.GuideURL, &v.Backdated, &v.Revision, &dated); err != nil {
			return err
		}
		v.Since, v.AnnouncedAt, v.SunsetAt, v.RetiredAt = TimeOf(since), timeOrZero(announced), timeOrZero(sunset), timeOrZero(retired)
		v.DatedAt = timeOrZero(dated)
		list = append(list, v)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	return list, s.addHistory(ctx, list)
}

// KeepVersion implements lifecycle.Store.
func (s *Versions) KeepVersion(ctx context.Context, v *lifecycle.Version) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO api_version (number, since, announced_at, sunset_at, retired_at, guide_url, backdated, revision, dated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (number) DO UPDATE SET since = excluded.since, announced_at = excluded.announced_at,
				sunset_at = excluded.sunset_at, retired_at = excluded.retired_at, guide_url = excluded.guide_url,
				backdated = excluded.backdated, revision = excluded.revision, dated_at = excluded.dated_at
			WHERE api_version.revision = excluded.revision - 1`,
			v.Number, Micros(v.Since), microsOrNull(v.AnnouncedAt), microsOrNull(v.SunsetAt), microsOrNull(v.RetiredAt),
			v.GuideURL, v.Backdated, v.Revision, microsOrNull(v.DatedAt))
		if err != nil {
			return fmt.Errorf("store version %d: %w", v.Number, err)
		}
		if n == 0 {
			return errStale
		}
		s.news.announce(ctx, cluster.Version, strconv.Itoa(v.Number))
		return nil
	})
}

// Rehearsals implements lifecycle.Store.
func (s *Versions) Rehearsals(ctx context.Context) ([]lifecycle.Rehearsal, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT version, key_id, workspace_id, until FROM sunset_rehearsal ORDER BY version, key_id`)
	if err != nil {
		return nil, fmt.Errorf("list rehearsals: %w", err)
	}
	defer rows.Close()
	var list []lifecycle.Rehearsal
	for rows.Next() {
		var r lifecycle.Rehearsal
		var until int64
		if err := rows.Scan(&r.Version, &r.KeyID, &r.WorkspaceID, &until); err != nil {
			return nil, fmt.Errorf("read rehearsal: %w", err)
		}
		r.Until = TimeOf(until)
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list rehearsals: %w", err)
	}
	return list, nil
}

// KeepRehearsal implements lifecycle.Store.
func (s *Versions) KeepRehearsal(ctx context.Context, r *lifecycle.Rehearsal, now time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		if _, err := q.Exec(ctx, `DELETE FROM sunset_rehearsal WHERE until <= $1`, Micros(now)); err != nil {
			return fmt.Errorf("remove rehearsals: %w", err)
		}
		if _, err := q.Exec(ctx, `
			INSERT INTO sunset_rehearsal (version, key_id, workspace_id, until) VALUES ($1, $2, $3, $4)
			ON CONFLICT (version, key_id) DO UPDATE SET workspace_id = excluded.workspace_id, until = excluded.until`,
			r.Version, r.KeyID, r.WorkspaceID, Micros(r.Until)); err != nil {
			return fmt.Errorf("store rehearsal of %s: %w", r.KeyID, err)
		}
		s.news.announce(ctx, cluster.Version, strconv.Itoa(r.Version))
		return nil
	})
}

// WorkspaceOfAPIKey implements lifecycle.Store.
func (s *Versions) WorkspaceOfAPIKey(ctx context.Context, keyID string) (string, error) {
	var workspaceID string
	err := s.main.In(ctx).QueryRow(ctx, `SELECT workspace_id FROM api_key WHERE id = $1`, keyID).Scan(&workspaceID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", problem.Missing()
	}
	if err != nil {
		return "", fmt.Errorf("find key %s: %w", keyID, err)
	}
	return workspaceID, nil
}

// microsOrNull is Micros for a column that is NULL if the time is zero.
func microsOrNull(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return maybeMicros(&t)
}

// timeOrZero reads what microsOrNull wrote.
func timeOrZero(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return TimeOf(*us)
}

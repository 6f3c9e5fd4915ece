package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/store/cluster"
)

// AddCheck implements lifecycle.History.
func (s *Versions) AddCheck(ctx context.Context, c *lifecycle.Check) (added bool, err error) {
	t, u := &c.Thresholds, &c.Traffic
	added, err = s.addOnce(ctx, `
		INSERT INTO version_check (version, sunset_at, checked_at, verdict, new_sunset_at, first_day, days, requests, all_requests,
			keys, active_keys, max_days, percent, min_keys, keys_percent, key_requests, key_days)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
		ON CONFLICT (version, sunset_at) DO NOTHING`,
		c.Version, Micros(c.SunsetAt), Micros(c.At), string(c.Verdict), Micros(c.NewSunsetAt), Micros(u.From), u.Days, u.Requests,
		u.AllRequests, u.Keys, u.ActiveKeys, t.Days, t.Percent, t.Keys, t.KeysPercent, t.KeyRequests, t.KeyDays)
	if err != nil {
		return false, fmt.Errorf("store the check of version %d: %w", c.Version, err)
	}
	return added, nil
}

// addOnce runs a statement that adds a row about a version unless the row exists. Other processes read the versions again if it
// does.
func (s *Versions) addOnce(ctx context.Context, insert string, version int, args ...any) (added bool, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, insert, append([]any{version}, args...)...)
		if added = n > 0; err == nil && added {
			s.news.announce(ctx, cluster.Version, strconv.Itoa(version))
		}
		return err
	})
	return added && err == nil, err
}

// AddTransition implements lifecycle.History.
func (s *Versions) AddTransition(ctx context.Context, t lifecycle.Transition, at time.Time) (added bool, err error) {
	added, err = s.addOnce(ctx, `
		INSERT INTO version_transition (version, state, at, recorded_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (version, state) DO NOTHING`, t.Version, string(t.State), Micros(t.At), Micros(at))
	if err != nil {
		return false, fmt.Errorf("store a transition of version %d: %w", t.Version, err)
	}
	return added, nil
}

// Transitions implements lifecycle.History.
func (s *Versions) Transitions(ctx context.Context) ([]lifecycle.Transition, error) {
	var list []lifecycle.Transition
	err := s.main.EachRow(ctx, `SELECT version, state, at FROM version_transition ORDER BY version, at, state`, nil, func(row Row) error {
		var t lifecycle.Transition
		var at int64
		if err := row.Scan(&t.Version, &t.State, &at); err != nil {
			return err
		}
		t.At = TimeOf(at)
		list = append(list, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list transitions: %w", err)
	}
	return list, nil
}

// AddNotice implements lifecycle.History.
func (s *Versions) AddNotice(ctx context.Context, version int, sunsetAt time.Time, days int, at time.Time) (added bool, err error) {
	added, err = s.addOnce(ctx, `
		INSERT INTO version_notice (version, sunset_at, days, sent_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (version, sunset_at, days) DO NOTHING`, version, Micros(sunsetAt), days, Micros(at))
	if err != nil {
		return false, fmt.Errorf("store a notice about version %d: %w", version, err)
	}
	return added, nil
}

// AddServiceDay implements lifecycle.History.
func (s *Versions) AddServiceDay(ctx context.Context, day time.Time) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		q := s.main.In(ctx)
		if _, err := q.Exec(ctx, `INSERT INTO service_day (day) VALUES ($1) ON CONFLICT (day) DO NOTHING`, Micros(day)); err != nil {
			return fmt.Errorf("store a day of service: %w", err)
		}
		_, err := q.Exec(ctx, `
			DELETE FROM service_day WHERE day < (SELECT min(day) FROM (SELECT day FROM service_day ORDER BY day DESC LIMIT $1) latest)`, lifecycle.MaxDays)
		if err != nil {
			return fmt.Errorf("prune days of service: %w", err)
		}
		return nil
	})
}

// ServiceDays implements lifecycle.History.
func (s *Versions) ServiceDays(ctx context.Context, max int) ([]time.Time, error) {
	var list []time.Time
	err := s.main.EachRow(ctx, `SELECT day FROM service_day ORDER BY day DESC LIMIT $1`, []any{max}, func(row Row) error {
		var day int64
		err := row.Scan(&day)
		list = append(list, TimeOf(day))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list days of service: %w", err)
	}
	return list, nil
}

// addHistory adds the checks and the last notice of each version.
func (s *Versions) addHistory(ctx context.Context, versions []lifecycle.Version) error {
	byNumber := map[int]*lifecycle.Version{}
	for i := range versions {
		byNumber[versions[i].Number] = &versions[i]
	}
	err := s.main.EachRow(ctx, `
		SELECT version, sunset_at, checked_at, verdict, new_sunset_at, first_day, days, requests, all_requests, keys, active_keys,
			max_days, percent, min_keys, keys_percent, key_requests, key_days
		FROM version_check ORDER BY version, checked_at, sunset_at`, nil, func(row Row) error {
		var c lifecycle.Check
		var sunset, at, next, first int64
		t, u := &c.Thresholds, &c.Traffic
		err := row.Scan(&c.Version, &sunset, &at, &c.Verdict, &next, &first, &u.Days, &u.Requests, &u.AllRequests, &u.Keys, &u.ActiveKeys,
			&t.Days, &t.Percent, &t.Keys, &t.KeysPercent, &t.KeyRequests, &t.KeyDays)
		if err != nil {
			return err
		}
		c.SunsetAt, c.At, c.NewSunsetAt, u.From = TimeOf(sunset), TimeOf(at), TimeOf(next), TimeOf(first)
		if v := byNumber[c.Version]; v != nil {
			v.Checks = append(v.Checks, c)
			v.Checked = v.Checked || v.SunsetAt.Equal(c.SunsetAt)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list checks of versions: %w", err)
	}
	err = s.main.EachRow(ctx, `SELECT version, sunset_at, min(days) FROM version_notice GROUP BY version, sunset_at`, nil, func(row Row) error {
		var version, days int
		var sunset int64
		if err := row.Scan(&version, &sunset, &days); err != nil {
			return err
		}
		if v := byNumber[version]; v != nil && v.SunsetAt.Equal(TimeOf(sunset)) {
			v.NoticeDays = days
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list notices about versions: %w", err)
	}
	return nil
}

package apikey

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/limit"
	"keepsake/internal/usage"
)

// Uses is what the service reads of usage. A usage.Store is one.
type Uses interface {
	LastUses(ctx context.Context, keyIDs []string) ([]usage.LastUse, error)
	KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error)
}

// Usage is a key's use from a moment up to another, in steps.
type Usage struct {
	KeyID    string
	From, To time.Time
	Step     time.Duration
	Points   []usage.Point // one for each step, also where nothing happened; rising
}

// Usage reads a key's use in the window that ends now, begun at a whole step. The last step is still open.
func (s *Service) Usage(ctx context.Context, p *auth.Principal, keyID string, window, step time.Duration) (*Usage, error) {
	k, err := s.visible(ctx, p, keyID)
	if err != nil {
		return nil, err
	}
	now := s.now()
	from := now.Add(-window).Truncate(step).Add(step)
	stored, err := s.Uses.KeySeries(ctx, k.WorkspaceID, k.ID, from, now, step)
	if err != nil {
		return nil, fmt.Errorf("read the use of API key %s: %w", k.ID, err)
	}
	u := &Usage{KeyID: k.ID, From: from, To: now, Step: step}
	for at := from; !at.After(now); at = at.Add(step) {
		point := usage.Point{At: at}
		if len(stored) > 0 && stored[0].At.Equal(at) {
			point, stored = stored[0], stored[1:]
		}
		u.Points = append(u.Points, point)
	}
	return u, nil
}

// Limits is what a key and its workspace may still use at a moment.
type Limits struct {
	Key       *APIKey
	Workspace *account.Entry
	At        time.Time

	OfKey, OfWorkspace Budgets
}

// Budgets are the numbers of one subject.
type Budgets struct {
	Minute         Budget
	Daily, Monthly *Budget // nil: none of its own
}

// Budget is one of them.
type Budget struct {
	Limit     int64
	Remaining int64
	ResetsAt  time.Time
}

// Limits looks at a key's counters without charging them.
func (s *Service) Limits(ctx context.Context, p *auth.Principal, keyID string) (*Limits, error) {
	k, err := s.visible(ctx, p, keyID)
	if err != nil {
		return nil, err
	}
	workspace, ok := s.Accounts.Entry(k.WorkspaceID)
	if !ok {
		return nil, fmt.Errorf("read limits: workspace %q is not in the directory", k.WorkspaceID)
	}
	now := s.Now().UTC()
	account := limit.Account{
		Use: s.Directory.use(k.ID),
		Allowance: limit.Allowance{
			PerMinute: workspace.Tier().RequestsPerMinute, Daily: orZero(k.Daily), Monthly: orZero(k.Monthly),
		},
	}
	if k.RequestsPerMinute != nil {
		account.PerMinute = *k.RequestsPerMinute
	}
	return &Limits{
		Key: k, Workspace: workspace, At: now,
		OfKey: budgetsOf(now, account), OfWorkspace: budgetsOf(now, workspace.Account()),
	}, nil
}

// budgetsOf looks at one account as if it were all there is.
func budgetsOf(now time.Time, a limit.Account) Budgets {
	v := limit.Peek(now, a, limit.Account{})
	b := Budgets{Minute: Budget{v.Limit, v.Remaining, time.Unix(v.ResetUnix, 0).UTC()}}
	year, month, day := now.Date()
	if a.Daily > 0 {
		b.Daily = &Budget{a.Daily, v.DailyRemaining, time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)}
	}
	if a.Monthly > 0 {
		b.Monthly = &Budget{a.Monthly, v.MonthlyRemaining, time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)}
	}
	return b
}

// fillLastUses tells the keys when their secrets were last used: what is in the store, or in memory since its last flush.
func (s *Service) fillLastUses(ctx context.Context, keys []APIKey) error {
	if len(keys) == 0 {
		return nil
	}
	ids := make([]string, len(keys))
	for i := range keys {
		ids[i] = keys[i].ID
	}
	stored, err := s.Uses.LastUses(ctx, ids)
	if err != nil {
		return fmt.Errorf("read when API keys were used: %w", err)
	}
	type secret struct{ keyID, hint string }
	last := make(map[secret]time.Time, len(stored))
	for _, u := range stored {
		last[secret{u.KeyID, u.Hint}] = u.At
	}
	for i := range keys {
		k := &keys[i]
		key, _ := id.Parse(id.APIKey, k.ID)
		for n := range k.Secrets {
			at := last[secret{k.ID, k.Secrets[n].Hint}]
			if recent := s.Directory.lastUsed(key, n); recent.After(at) {
				at = recent
			}
			if !at.IsZero() {
				at = at.UTC().Truncate(time.Millisecond)
				k.Secrets[n].LastUsedAt = &at
			}
		}
	}
	return nil
}

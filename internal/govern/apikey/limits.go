package apikey

import (
	"context"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// Limits is what a key and its workspace can still use.
type Limits struct {
	Key       *Record
	Workspace *account.Entry
	At        time.Time

	OfKey, OfWorkspace Budgets
}

// Budgets are the limits of a key or a workspace.
type Budgets struct {
	Minute         Budget
	Daily, Monthly *Budget // nil: it has none
}

// Budget is a limit and what is left of it.
type Budget struct {
	Limit     int64
	Remaining int64
	ResetsAt  time.Time
}

// Limits reads a key's counters without charging them.
func (s *Service) Limits(ctx context.Context, p *auth.Principal, keyID string) (*Limits, error) {
	k, err := s.visible(ctx, p, keyID)
	if err != nil {
		return nil, err
	}
	workspace, err := s.workspace(k.WorkspaceID)
	if err != nil {
		return nil, err
	}
	now := s.o.Now().UTC()
	r := s.recordOf(k, workspace.Tier(), now)
	ofKey := limit.Account{
		Use:       s.o.Directory.counters(k.ID, workspace),
		Key:       limitKey(k.ID),
		Allowance: limit.Allowance{PerMinute: r.PerMinute, Daily: orZero(k.Daily), Monthly: orZero(k.Monthly)},
	}
	return &Limits{
		Key: r, Workspace: workspace, At: now,
		OfKey:       s.budgetsOf(now, ofKey),
		OfWorkspace: s.budgetsOf(now, workspace.Account()),
	}, nil
}

// budgetsOf reads the budgets of a key or a workspace. It peeks at a alone, like at the workspace of a caller without a key:
// of two accounts a verdict shows the one with less left.
func (s *Service) budgetsOf(now time.Time, a limit.Account) Budgets {
	var none limit.Account
	v := s.o.Limiter.Peek(now, 1, a, none)
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

// limitKey is a key's ID. It implements limit.Key.
type limitKey string

// ID returns the key's ID.
func (k limitKey) ID() string { return string(k) }

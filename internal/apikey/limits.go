package apikey

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/auth"
	"keepsake/internal/limit"
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
func (s *Service) Limits(ctx context.Context, p *auth.Principal, key string) (*Limits, error) {
	k, err := s.visible(ctx, p, key)
	if err != nil {
		return nil, err
	}
	workspace, ok := s.Accounts.Entry(k.WorkspaceID)
	if !ok {
		return nil, fmt.Errorf("read limits: workspace %q is not in the directory", k.WorkspaceID)
	}
	now := s.Now().UTC()
	r := s.recordOf(k, workspace.Tier(), now)
	account := limit.Account{
		Use:       s.Directory.counters(k.ID, workspace),
		Key:       keyID(k.ID),
		Allowance: limit.Allowance{PerMinute: r.PerMinute, Daily: orZero(k.Daily), Monthly: orZero(k.Monthly)},
	}
	return &Limits{
		Key: r, Workspace: workspace, At: now,
		OfKey:       s.budgetsOf(now, account),
		OfWorkspace: s.budgetsOf(now, workspace.Account()),
	}, nil
}

// budgetsOf reads one account by itself.
func (s *Service) budgetsOf(now time.Time, a limit.Account) Budgets {
	v := s.Limiter.Peek(now, 1, a, limit.Account{})
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

// keyID implements limit.Key.
type keyID string

// ID returns the key's ID.
func (k keyID) ID() string { return string(k) }

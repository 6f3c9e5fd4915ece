package account

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"keepsake/internal/audit"
)

// Logins that were refused are logged together, each minute: otherwise guessing would decide how much is written.
const (
	refusalsEvery = time.Minute
	maxRefusals   = 1024 // emails and addresses that are told apart in a minute
)

// refusals counts them.
type refusals struct {
	now    func() time.Time
	mu     sync.Mutex
	counts map[refusal]*refusalCount
}

// refusal is who was refused; the zero one stands for those beyond maxRefusals.
type refusal struct {
	target      string // a pseudonym
	workspaceID string // of the user the email is of; empty for nobody's
	from        netip.Addr
}

type refusalCount struct {
	count int64
	last  time.Time
}

func newRefusals(now func() time.Time) *refusals {
	return &refusals{now: now, counts: map[refusal]*refusalCount{}}
}

func (r *refusals) add(target string, u *User, from netip.Addr) {
	key := refusal{target: target, from: from}
	if u != nil {
		key.workspaceID = u.WorkspaceID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[key]
	if c == nil && len(r.counts) >= maxRefusals {
		key = refusal{}
		c = r.counts[key]
	}
	if c == nil {
		c = &refusalCount{}
		r.counts[key] = c
	}
	c.count++
	c.last = r.now()
}

func (r *refusals) take() map[refusal]*refusalCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	r.counts = map[refusal]*refusalCount{}
	return counts
}

// logRefused writes what was counted. What cannot be written is said in the program's log and not tried again.
func (s *LoginService) logRefused(ctx context.Context) {
	counts := s.refused.take()
	if len(counts) == 0 {
		return
	}
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		for who, c := range counts {
			err := s.Audit.Record(ctx, audit.Entry{
				Action: audit.SessionRefused, WorkspaceID: who.workspaceID, Target: who.target, Outcome: audit.Refused,
				Count: c.count, At: c.last, Address: who.from,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.Log.WarnContext(ctx, "refused logins are missing in the audit log", "kinds", len(counts), "error", err.Error())
	}
}

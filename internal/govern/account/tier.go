package account

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// LoadTiers applies the stored changes of tiers, at start and after another process has changed one. A changed tier that is
// not configured any more is ignored.
func (s *Service) LoadTiers(ctx context.Context) error {
	changed, err := s.Store.ChangedTiers(ctx)
	if err != nil {
		return fmt.Errorf("read tiers: %w", err)
	}
	for _, t := range changed {
		s.putTier(t)
	}
	return nil
}

// Tiers lists the current tiers.
func (s *Service) Tiers(ctx context.Context) ([]Tier, error) {
	revisions, err := s.tierRevisions(ctx)
	if err != nil {
		return nil, err
	}
	all := s.Directory.Tiers().All()
	list := make([]Tier, len(all))
	for i, t := range all {
		list[i] = Tier{Tier: t, Revision: max(1, revisions[t.Name])}
	}
	return list, nil
}

// ChangeTier replaces the numbers of a tier, including the configured ones. The change is in force from the commit on and
// does not reset what was used. It returns problem.Missing for a tier that does not exist, problem.Invalid for numbers that
// are inconsistent or would lock the operator out, and problem.Mismatch if ifRevision does not allow the tier's revision.
// change gets the numbers of now and sets others; it can run more than once.
func (s *Service) ChangeTier(
	ctx context.Context, p *auth.Principal, ifRevision revision.Expected, name string, change func(*limit.Tier),
) (*Tier, error) {
	if s.Directory.Tiers().Lookup(name) == nil {
		return nil, problem.Missing()
	}
	var changed *Tier
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		stored, err := s.storedTier(ctx, name)
		if err != nil {
			return err
		}
		changed = &Tier{Tier: stored.Tier, Revision: stored.Revision + 1}
		change(&changed.Tier)
		changed.Name = name
		if err := s.checkTier(changed.Tier); err != nil {
			return err
		}
		if !ifRevision.Allows(stored.Revision) {
			return problem.RevisionMismatch()
		}
		if err := s.Store.KeepTier(ctx, changed); err != nil {
			return err
		}
		unit.AfterCommit(ctx, func() { s.putTier(*changed) })
		return s.record(ctx, p, audit.TierChanged, "", name, tierChange(stored.Tier, changed.Tier))
	})
	if err != nil {
		return nil, fmt.Errorf("change tier %s: %w", name, err)
	}
	return changed, nil
}

// operatorLeast are the smallest limits of the operator workspace's tier. With these its administrators can always undo a
// change.
var operatorLeast = limit.Allowance{PerMinute: 60, Daily: 1_000, Monthly: 10_000}

// checkTier validates the numbers of a tier.
func (s *Service) checkTier(t limit.Tier) error {
	if t.Daily > t.Monthly {
		return problem.Validation("daily", problem.TooLargeVal, "daily must not be above monthly.")
	}
	if operator, ok := s.Directory.Operator(); !ok || operator.Tier().Name != t.Name {
		return nil
	}
	if field := belowLeast(t); field != "" {
		return problem.Validation(field, problem.TooSmall, fmt.Sprintf(
			"The operator workspace is in this tier, so it must allow at least %d requests per minute, %d per day and %d per month.",
			operatorLeast.PerMinute, operatorLeast.Daily, operatorLeast.Monthly))
	}
	return nil
}

// belowLeast names the first number of a tier that is too small for the operator workspace; it is empty if none is.
func belowLeast(t limit.Tier) string {
	switch {
	case t.RequestsPerMinute < operatorLeast.PerMinute:
		return "requestsPerMinute"
	case t.Daily < operatorLeast.Daily:
		return "daily"
	case t.Monthly < operatorLeast.Monthly:
		return "monthly"
	default:
		return ""
	}
}

// tierRevisions holds the revisions of the current tiers.
type tierRevisions struct {
	mu     sync.Mutex
	latest map[string]int64
}

// putTier applies a stored tier, unless a later revision is already in force: reads and changes can finish in any order.
func (s *Service) putTier(t Tier) {
	s.tiers.mu.Lock()
	defer s.tiers.mu.Unlock()
	if s.tiers.latest[t.Name] > t.Revision {
		return
	}
	if s.tiers.latest == nil {
		s.tiers.latest = map[string]int64{}
	}
	s.tiers.latest[t.Name] = t.Revision
	if s.Directory.Tiers().Set(t.Tier) && t.Name == limit.TierAnonymous && s.Anonymous != nil {
		s.Anonymous(t.Allowance())
	}
}

// storedTier reads the last change of a tier. A tier that was never changed has revision 1 and the configured numbers.
func (s *Service) storedTier(ctx context.Context, name string) (*Tier, error) {
	changed, err := s.Store.ChangedTiers(ctx)
	if err != nil {
		return nil, fmt.Errorf("read tiers: %w", err)
	}
	for i := range changed {
		if changed[i].Name == name {
			return &changed[i], nil
		}
	}
	return &Tier{Tier: *s.Directory.Tiers().Lookup(name).Tier(), Revision: 1}, nil
}

// tierRevisions reads the revisions of the changed tiers.
func (s *Service) tierRevisions(ctx context.Context) (map[string]int64, error) {
	changed, err := s.Store.ChangedTiers(ctx)
	if err != nil {
		return nil, fmt.Errorf("read tiers: %w", err)
	}
	revisions := make(map[string]int64, len(changed))
	for _, t := range changed {
		revisions[t.Name] = t.Revision
	}
	return revisions, nil
}

func tierDetails(t limit.Tier) map[string]string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	orNone := func(v *int64) string {
		if v == nil {
			return "none"
		}
		return n(*v)
	}
	return map[string]string{
		"requestsPerMinute": n(t.RequestsPerMinute), "daily": n(t.Daily), "monthly": n(t.Monthly),
		"keys": orNone(t.Keys), "users": orNone(t.Users), "documents": orNone(t.Documents), "memories": orNone(t.Memories),
		"storage": orNone(t.Storage),
	}
}

// tierChange describes a changed tier for the audit log: its numbers, and those that differed before as NAME.before.
func tierChange(before, after limit.Tier) map[string]string {
	details := tierDetails(after)
	for name, was := range tierDetails(before) {
		if details[name] != was {
			details[name+".before"] = was
		}
	}
	return details
}

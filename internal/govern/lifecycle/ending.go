package lifecycle

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// EndChange changes the announced end of a version. A nil field stays as it is.
type EndChange struct {
	SunsetAt *time.Time // later than it was
	GuideURL *string    // empty: this instance's own page
}

// ChangeEnd changes the end of a deprecated version. The error is RevisionMismatch if ifRevision does not allow its revision.
// The date only moves later, because clients plan with it.
func (s *Service) ChangeEnd(ctx context.Context, p *auth.Principal, number int, ifRevision revision.Expected, c EndChange) (*Version, error) {
	if c.GuideURL != nil {
		guide, err := checkGuide(*c.GuideURL)
		if err != nil {
			return nil, err
		}
		c.GuideURL = &guide
	}
	return s.changeVersion(ctx, p, audit.VersionChanged, number, func(v *Version, now time.Time) (map[string]string, error) {
		if !ifRevision.Allows(v.Revision) {
			return nil, problem.RevisionMismatch()
		}
		switch v.At(now) {
		case Active:
			if v.SunsetAt.IsZero() {
				return nil, problem.Conflicts("This version is active and has no sunset date.")
			}
		case Deprecated:
		default:
			return nil, problem.Conflicts("This version has already been sunset.")
		}
		return c.apply(v, now)
	})
}

// apply changes v and returns the changed fields for the audit log.
func (c *EndChange) apply(v *Version, now time.Time) (map[string]string, error) {
	details := map[string]string{}
	if c.SunsetAt != nil {
		at := whole(*c.SunsetAt)
		if err := checkSunset(at, v.SunsetAt); err != nil {
			return nil, err
		}
		if !at.Equal(v.SunsetAt) {
			if err := checkSunset(at, now); err != nil {
				return nil, err
			}
			v.date(at, now)
			details["sunsetAt"] = dateText(at)
		}
	}
	if c.GuideURL != nil && *c.GuideURL != v.GuideURL {
		v.GuideURL, details["guideUrl"] = *c.GuideURL, audit.Changed
	}
	return details, nil
}

// Retire removes the routes of a sunset version before its twelve months are over. Retiring a retired version changes nothing.
func (s *Service) Retire(ctx context.Context, p *auth.Principal, number int) (*Version, error) {
	return s.changeVersion(ctx, p, audit.VersionRetired, number, func(v *Version, now time.Time) (map[string]string, error) {
		switch v.At(now) {
		case Retired:
			return nil, nil
		case Sunset:
			v.RetiredAt = now
			return map[string]string{"retiredAt": dateText(now)}, nil
		default:
			return nil, problem.Conflicts("This version is still served. It can be retired after its sunset.")
		}
	})
}

// changeVersion changes a version with fn, which returns the changed fields. If there are none, nothing is stored.
func (s *Service) changeVersion(ctx context.Context, p *auth.Principal, action audit.Action, number int, fn func(v *Version, now time.Time) (map[string]string, error)) (*Version, error) {
	var changed Version
	err := s.change(ctx, func(ctx context.Context, st *state) error {
		v := st.version(number)
		if v == nil {
			return problem.Missing()
		}
		details, err := fn(v, s.now())
		changed = *v
		if err != nil || len(details) == 0 {
			return err
		}
		v.Revision++
		changed = *v
		if err := s.Store.KeepVersion(ctx, v); err != nil {
			return err
		}
		if err := s.record(ctx, p, action, number, "", details); err != nil {
			return err
		}
		return s.recordTransitions(ctx, st, v, s.now(), Retired) // it has an entry, if it was just retired
	})
	if err != nil {
		return nil, fmt.Errorf("change version %d: %w", number, err)
	}
	return &changed, nil
}

// Rehearse answers one API key's requests to a deprecated version as after its sunset, until a time in the future. A second
// call for the same key replaces that time.
func (s *Service) Rehearse(ctx context.Context, p *auth.Principal, number int, key string, until time.Time) (*Rehearsal, error) {
	r := &Rehearsal{Version: number, KeyID: key, Until: whole(until)}
	err := s.change(ctx, func(ctx context.Context, st *state) (err error) {
		v, now := st.version(number), s.now()
		switch {
		case v == nil:
			return problem.Missing()
		case v.At(now) != Deprecated:
			return problem.Conflicts("Only the sunset of a deprecated version can be rehearsed.")
		case !r.Until.After(now):
			return problem.Validation("until", problem.TooSmall, "until must be in the future.")
		}
		if r.WorkspaceID, err = s.workspaceOf(ctx, key); err != nil {
			return err
		}
		if err := s.Store.KeepRehearsal(ctx, r, now); err != nil {
			return err
		}
		if st.rehearsals, err = s.Store.Rehearsals(ctx); err != nil {
			return err
		}
		return s.record(ctx, p, audit.VersionRehearsed, number, r.WorkspaceID, map[string]string{
			"keyId": key, "until": dateText(r.Until),
		})
	})
	if err != nil {
		return nil, fmt.Errorf("rehearse the sunset of version %d: %w", number, err)
	}
	return r, nil
}

func (s *Service) workspaceOf(ctx context.Context, key string) (string, error) {
	unknown := problem.Validation("keyId", problem.InvalidVal, "There is no such API key.")
	if !keyID(key) {
		return "", unknown
	}
	workspaceID, err := s.Store.WorkspaceOfAPIKey(ctx, key)
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		return "", unknown
	}
	return workspaceID, err
}

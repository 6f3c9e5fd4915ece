package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/event"
)

// History stores what a Service has done by itself. What is added twice, perhaps by two processes at once, is stored once: the
// later call returns false.
type History interface {
	// AddCheck adds a check, one for each version and date.
	AddCheck(ctx context.Context, c *Check) (added bool, err error)
	// AddTransition adds a change of state that was recorded at a time, one for each version and state.
	AddTransition(ctx context.Context, t Transition, at time.Time) (added bool, err error)
	// Transitions lists the changes of state that were added.
	Transitions(ctx context.Context) ([]Transition, error)
	// AddNotice adds a notice that was sent at a time, one for each version, date and number of days.
	AddNotice(ctx context.Context, version int, sunsetAt time.Time, days int, at time.Time) (added bool, err error)
	// AddServiceDay adds a day in which the service ran. It can forget all but the latest MaxDays.
	AddServiceDay(ctx context.Context, day time.Time) error
	// ServiceDays lists the latest days in which the service ran, the latest first.
	ServiceDays(ctx context.Context, max int) ([]time.Time, error)
}

// advanceEvery is how often states are brought up to date.
const advanceEvery = time.Minute

// Run brings the versions up to date every minute, until ctx is done.
func (s *Service) Run(ctx context.Context) {
	ticker := time.NewTicker(advanceEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.AdvanceOrLog(ctx)
		}
	}
}

// AdvanceOrLog is Advance for callers that go on after an error. No version is sunset before its check, so the next run is soon
// enough.
func (s *Service) AdvanceOrLog(ctx context.Context) {
	if err := s.Advance(ctx); err != nil && ctx.Err() == nil {
		s.Log.Error("advancing versions failed; retrying every minute", "error", err)
	}
}

// Advance brings the versions up to date: it runs the traffic checks that are due, records the changes of state and sends the
// notices. Several processes can do it at once, and each step happens once.
func (s *Service) Advance(ctx context.Context) error {
	now := s.now()
	if err := s.markDay(ctx, now); err != nil {
		return err
	}
	err := s.runChecks(ctx, now)
	st, readErr := s.read(ctx)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	done, readErr := s.History.Transitions(ctx)
	if readErr != nil {
		return errors.Join(err, fmt.Errorf("read transitions: %w", readErr))
	}
	for i := range st.versions {
		v := &st.versions[i]
		if missing(v, now, done) {
			err = errors.Join(err, s.Units.Run(ctx, func(ctx context.Context) error { return s.recordTransitions(ctx, st, v, now, "") }))
		}
		err = errors.Join(err, s.notify(ctx, st, v, now))
	}
	if heard := s.Hear(ctx); !errors.Is(heard, ErrCannotServe) { // which is reported when the change arrives
		err = errors.Join(err, heard)
	}
	return err
}

// markDay stores that the service runs on this day.
func (s *Service) markDay(ctx context.Context, now time.Time) error {
	day := startOfDay(now)
	if s.day.Load() == day.Unix() {
		return nil
	}
	if err := s.History.AddServiceDay(ctx, day); err != nil {
		return fmt.Errorf("store a day of service: %w", err)
	}
	s.day.Store(day.Unix())
	return nil
}

// runChecks runs all checks that are due. A check can set a date whose own check is due at once.
func (s *Service) runChecks(ctx context.Context, now time.Time) error {
	for {
		st, err := s.read(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(st.versions, func(v Version) bool { return v.CheckDue(now) })
		if i < 0 {
			return nil
		}
		if err := s.runCheck(ctx, &st.versions[i], now); err != nil {
			return fmt.Errorf("check the traffic of version %d: %w", st.versions[i].Number, err)
		}
	}
}

// errDone means that another process has done the same.
var errDone = errors.New("it is done")

// runCheck checks the traffic of a version. Reading it takes too long for a transaction.
func (s *Service) runCheck(ctx context.Context, due *Version, now time.Time) error {
	traffic, err := s.trafficOf(ctx, due.Number, now)
	if err != nil {
		return err
	}
	err = s.change(ctx, func(ctx context.Context, st *state) error {
		v := st.version(due.Number)
		if v == nil || !v.SunsetAt.Equal(due.SunsetAt) || !v.CheckDue(now) {
			return errDone
		}
		c := v.Decide(traffic, s.Thresholds, now)
		added, err := s.History.AddCheck(ctx, &c)
		if err != nil {
			return err
		}
		if !added {
			return errDone
		}
		return s.conclude(ctx, st, v, c)
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// conclude applies a check to the version that it checked.
func (s *Service) conclude(ctx context.Context, st *state, v *Version, c Check) error {
	v.Checks, v.Checked = append(slices.Clone(v.Checks), c), true
	entry := audit.Entry{Action: audit.VersionChecked, Target: target(v), Details: map[string]string{
		"verdict": string(c.Verdict), "sunsetAt": dateText(c.NewSunsetAt),
		"requests": number(c.Traffic.Requests), "allRequests": number(c.Traffic.AllRequests),
		"keys": number(c.Traffic.Keys), "activeKeys": number(c.Traffic.ActiveKeys),
	}}
	if err := s.Audit.Record(ctx, entry); err != nil {
		return err
	}
	if c.NewSunsetAt.Equal(v.SunsetAt) {
		return nil
	}
	v.date(c.NewSunsetAt, c.At)
	v.Revision++
	if err := s.Store.KeepVersion(ctx, v); err != nil {
		return err
	}
	data := s.about(st, v, c.At)
	data["previousSunsetAt"], data["reason"] = c.SunsetAt, string(c.Verdict)
	return s.Events.Record(ctx, event.Event{Type: event.VersionSunsetExtended, At: c.At, Data: data})
}

// trafficOf counts the traffic of a version.
func (s *Service) trafficOf(ctx context.Context, version int, now time.Time) (Traffic, error) {
	ran, err := s.History.ServiceDays(ctx, s.Thresholds.Days)
	if err != nil {
		return Traffic{}, fmt.Errorf("read the days of service: %w", err)
	}
	window := Window(now, ran, s.Thresholds.Days)
	c := newCensus(version, s.Thresholds, window)
	if err := s.EachUse(ctx, window[0], startOfDay(now).AddDate(0, 0, 1), c.add); err != nil {
		return Traffic{}, fmt.Errorf("read usage: %w", err)
	}
	return c.count(), nil
}

// missing reports whether a change of state of v is not among those that are done.
func missing(v *Version, now time.Time, done []Transition) bool {
	return slices.ContainsFunc(v.Transitions(now), func(t Transition) bool {
		return !slices.ContainsFunc(done, func(d Transition) bool { return d.Version == t.Version && d.State == t.State })
	})
}

var (
	actionOf = map[State]audit.Action{Deprecated: audit.VersionDeprecated, Sunset: audit.VersionSunset, Retired: audit.VersionRetired}
	eventOf  = map[State]event.Type{Deprecated: event.VersionDeprecated, Sunset: event.VersionSunset, Retired: event.VersionRetired}
)

// recordTransitions stores the changes of state of v until now, with an entry in the audit log and an event each, unless that is
// done. logged is a state whose entry exists already. It runs in a transaction.
func (s *Service) recordTransitions(ctx context.Context, st *state, v *Version, now time.Time, logged State) error {
	for _, t := range v.Transitions(now) {
		added, err := s.History.AddTransition(ctx, t, now)
		if err != nil {
			return fmt.Errorf("record that version %d is %s: %w", v.Number, t.State, err)
		}
		if !added {
			continue
		}
		if t.State != logged {
			err := s.Audit.Record(ctx, audit.Entry{Action: actionOf[t.State], Target: target(v), Details: map[string]string{"at": dateText(t.At)}})
			if err != nil {
				return err
			}
		}
		if err := s.Events.Record(ctx, event.Event{Type: eventOf[t.State], At: now, Data: s.about(st, v, now)}); err != nil {
			return err
		}
	}
	return nil
}

// about is the data of an event about v.
func (s *Service) about(st *state, v *Version, now time.Time) map[string]any {
	data := map[string]any{
		"version": strconv.Itoa(v.Number), "announcedAt": v.AnnouncedAt, "sunsetAt": v.SunsetAt, "retiresAt": v.Retires(),
		"migrationGuideUrl": s.guide(v), "replacementVersion": nil, "daysLeft": max(0, int(v.SunsetAt.Sub(now)/(24*time.Hour))),
	}
	for i := range st.versions {
		if next := &st.versions[i]; next.Number > v.Number && next.Live(now) {
			data["replacementVersion"] = strconv.Itoa(next.Number)
			break
		}
	}
	return data
}

// guide returns the address of the migration guide, absolute if the public address is known.
func (s *Service) guide(v *Version) string {
	guide := v.Guide()
	if guide[0] == '/' {
		return s.PublicURL + guide
	}
	return guide
}

const (
	noticeWindow = 30 * 24 * time.Hour // a caller that has not called for so long is not notified
	noticePage   = 1000                // callers that are read at once
	noticeIDs    = 100                 // callers that an event names
)

// notify sends the notice that is due about v to the workspaces that still call it.
func (s *Service) notify(ctx context.Context, st *state, v *Version, now time.Time) error {
	days := v.NoticeDue(now)
	if days == 0 {
		return nil
	}
	remaining, err := s.remaining(ctx, v.Number, now)
	if err != nil {
		return err
	}
	err = s.Units.Run(ctx, func(ctx context.Context) error {
		added, err := s.History.AddNotice(ctx, v.Number, v.SunsetAt, days, now)
		if err != nil || !added {
			return err
		}
		for _, workspaceID := range slices.Sorted(maps.Keys(remaining)) {
			data := s.about(st, v, now)
			data["daysLeft"] = days // of the notice, however late it is
			data["keyIds"], data["userIds"] = remaining[workspaceID].keys.list(), remaining[workspaceID].users.list()
			e := event.Event{Type: event.VersionDeprecated, WorkspaceID: workspaceID, At: now, Data: data}
			if err := s.Events.Record(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("send the notice of %d days about version %d: %w", days, v.Number, err)
	}
	return nil
}

// idSet is a set of IDs, of which an event names the first ones.
type idSet map[string]bool

func (s idSet) list() []string {
	all := slices.Sorted(maps.Keys(s))
	return append([]string{}, all[:min(len(all), noticeIDs)]...)
}

// remainingCallers are the callers of a version in one workspace.
type remainingCallers struct{ keys, users idSet }

// remaining returns the callers that called a version lately, by workspace.
func (s *Service) remaining(ctx context.Context, version int, now time.Time) (map[string]remainingCallers, error) {
	if err := s.Callers.Flush(ctx); err != nil {
		return nil, err
	}
	found := map[string]remainingCallers{}
	q := CallerQuery{Version: version, From: now.Add(-noticeWindow), Limit: noticePage}
	for {
		list, err := s.Callers.store.Callers(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list callers of version %d: %w", version, err)
		}
		for _, c := range list {
			r, ok := found[c.WorkspaceID]
			if !ok {
				r = remainingCallers{idSet{}, idSet{}}
				found[c.WorkspaceID] = r
			}
			if _, isKey := id.Parse(id.APIKey, c.CallerID); isKey {
				r.keys[c.CallerID] = true
			} else {
				r.users[c.CallerID] = true
			}
		}
		if len(list) < noticePage {
			return found, nil
		}
		q.After = &list[len(list)-1]
	}
}

func target(v *Version) string { return "v" + strconv.Itoa(v.Number) }

func number(n int64) string { return strconv.FormatInt(n, 10) }

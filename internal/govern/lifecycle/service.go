package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
)

// Store stores versions and rehearsals.
type Store interface {
	// Versions lists the versions that were released or changed, by number, with their checks. Version 1 is among them only
	// after its end was announced.
	Versions(ctx context.Context) ([]Version, error)
	// KeepVersion adds v or replaces it, if its stored revision is v.Revision-1; otherwise RevisionMismatch. It does not store
	// checks and notices.
	KeepVersion(ctx context.Context, v *Version) error
	// Rehearsals lists all rehearsals, also past ones.
	Rehearsals(ctx context.Context) ([]Rehearsal, error)
	// KeepRehearsal adds r, which replaces the one that its key has for the version, and deletes those that are over.
	KeepRehearsal(ctx context.Context, r *Rehearsal, now time.Time) error
	// WorkspaceOfAPIKey returns the workspace of an API key; NotFound if there is no such key.
	WorkspaceOfAPIKey(ctx context.Context, keyID string) (string, error)
}

// Options configures a Service. All fields are required unless they are said to be optional.
type Options struct {
	Store    Store
	History  History
	Units    unit.Runner
	Registry *Registry
	Callers  *Callers
	Audit    audit.Recorder
	Events   event.Recorder

	PublicURL       string     // base of links in events, without a slash at its end; can be empty
	Newest          int        // the latest version that the running build declares
	AllowUndeclared bool       // later ones can be released, too
	AllowBackdating bool       // an announcement in the past counts for the notice
	Thresholds      Thresholds // of the traffic check

	// EachUse calls fn with the authenticated requests of a range of time.
	EachUse func(ctx context.Context, from, to time.Time, fn func(Use)) error

	Now func() time.Time
	Log *slog.Logger
}

// Service releases and ends versions. Its changes are stored, and in force on every surface for all requests that begin
// afterwards.
type Service struct {
	Options
	changed turns
	day     atomic.Int64 // Unix time of the last day that was stored as one in which the service ran
}

// NewService creates a Service.
func NewService(o Options) *Service { return &Service{Options: o} }

// Load publishes the stored versions at start.
func (s *Service) Load(ctx context.Context) error {
	state, err := s.read(ctx)
	if err != nil {
		return err
	}
	return s.Registry.Replace(state.versions, state.rehearsals...)
}

// Undeclared lists the versions in force that the running build does not declare. It serves them like their predecessors.
func (s *Service) Undeclared() []int {
	var list []int
	for _, v := range s.Registry.Snapshot().All() {
		if v.Number > s.Newest {
			list = append(list, v.Number)
		}
	}
	return list
}

// state is what a change decides on, as its transaction sees it.
type state struct {
	versions   []Version // by number
	rehearsals []Rehearsal
}

func (s *Service) read(ctx context.Context) (*state, error) {
	versions, err := s.Store.Versions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	if len(versions) == 0 || versions[0].Number != First().Number {
		versions = slices.Insert(versions, 0, First())
	}
	rehearsals, err := s.Store.Rehearsals(ctx)
	if err != nil {
		return nil, fmt.Errorf("read rehearsals: %w", err)
	}
	return &state{versions, rehearsals}, nil
}

// version finds a version by number; nil if there is none.
func (st *state) version(number int) *Version {
	for i := range st.versions {
		if st.versions[i].Number == number {
			return &st.versions[i]
		}
	}
	return nil
}

func (st *state) current() *Version { return &st.versions[len(st.versions)-1] }

// change runs fn on the stored state in a transaction, and publishes the changed state after the commit.
func (s *Service) change(ctx context.Context, fn func(ctx context.Context, st *state) error) error {
	return s.Units.Run(ctx, func(ctx context.Context) error {
		st, err := s.read(ctx)
		if err != nil {
			return err
		}
		if err := fn(ctx, st); err != nil {
			return err
		}
		if err := check(st.versions); err != nil {
			return err
		}
		unit.AfterCommit(ctx, func() { s.changed.replace(s.Registry, st) })
		return nil
	})
}

// Release describes a release. The dates and the guide are those of the predecessor, which ends.
type Release struct {
	Number      int
	AnnouncedAt *time.Time // nil: now
	SunsetAt    *time.Time // nil: the earliest that is allowed
	GuideURL    string     // empty: this instance's own page
}

// Prepare builds what is needed to serve a version. It is called before Release, outside its transaction. If the version
// cannot be released, it does nothing, because Release returns that error.
func (s *Service) Prepare(number int) error {
	if s.checkNumber(s.Registry.Snapshot().Current().Number, number) != nil {
		return nil
	}
	if err := s.Registry.makeReady(number); err != nil {
		return fmt.Errorf("prepare version %d: %w", number, err)
	}
	return nil
}

// lastNumber bounds the routes that releases of undeclared versions keep in memory.
const lastNumber = 255

// checkNumber returns why a version cannot be released now.
func (s *Service) checkNumber(current, number int) error {
	switch {
	case number <= current:
		return problem.Conflicts("Version " + strconv.Itoa(number) + " was released before.")
	case number > current+1:
		return problem.Conflicts("The next version is " + strconv.Itoa(current+1) + ".")
	case number > lastNumber:
		return problem.Conflicts("Version " + strconv.Itoa(lastNumber) + " is the last that can be released.")
	case number > s.Newest && !s.AllowUndeclared:
		return problem.Conflicts("This build declares no version " + strconv.Itoa(number) + " of the API.")
	default:
		return nil
	}
}

// Release makes the next version the current one. It serves all operations of its predecessor, except for those that the code
// changes. The predecessor is deprecated from the announcement on.
func (s *Service) Release(ctx context.Context, p *auth.Principal, r Release) (*Version, error) {
	guide, err := checkGuide(r.GuideURL)
	if err != nil {
		return nil, err
	}
	released := &Version{Number: r.Number, Since: s.now(), Revision: 1}
	err = s.change(ctx, func(ctx context.Context, st *state) error {
		previous := st.current()
		if err := s.checkNumber(previous.Number, r.Number); err != nil {
			return err
		}
		if err := s.announce(previous, &r, released.Since); err != nil {
			return err
		}
		previous.GuideURL = guide
		previous.Revision++
		st.versions = append(st.versions, *released)
		for i := previous.Number; i <= r.Number; i++ {
			if err := s.Store.KeepVersion(ctx, st.version(i)); err != nil {
				return err
			}
		}
		ends := st.version(r.Number - 1)
		err := s.record(ctx, p, audit.VersionReleased, r.Number, "", map[string]string{
			"announcedAt": dateText(ends.AnnouncedAt), "sunsetAt": dateText(ends.SunsetAt),
		})
		if err != nil {
			return err
		}
		return s.recordTransitions(ctx, st, ends, released.Since, "")
	})
	if err != nil {
		return nil, fmt.Errorf("release version %d: %w", r.Number, err)
	}
	return released, nil
}

// announce sets the dates of v's end.
func (s *Service) announce(v *Version, r *Release, now time.Time) error {
	v.AnnouncedAt = now
	if r.AnnouncedAt != nil {
		v.AnnouncedAt = whole(*r.AnnouncedAt)
	}
	earliest := Earliest(v.AnnouncedAt, now)
	if r.SunsetAt == nil {
		v.date(earliest, now)
		return nil
	}
	v.date(whole(*r.SunsetAt), now)
	if v.SunsetAt.Before(earliest) && s.AllowBackdating {
		v.Backdated = true
		earliest = AddMonths(v.AnnouncedAt, notice)
	}
	return checkSunset(v.SunsetAt, earliest)
}

// Earliest is the earliest sunset of a version: six calendar months after the announcement or now, whichever is later.
func Earliest(announcedAt, now time.Time) time.Time {
	if announcedAt.Before(now) {
		announcedAt = now
	}
	return AddMonths(announcedAt, notice)
}

// farthest keeps retirement dates within four-digit years.
var farthest = time.Date(9000, time.January, 1, 0, 0, 0, 0, time.UTC)

func checkSunset(at, earliest time.Time) error {
	switch {
	case at.Before(earliest):
		return problem.Validation("sunsetAt", problem.TooSmall, "sunsetAt must not be before "+dateText(earliest)+".")
	case at.After(farthest):
		return problem.Validation("sunsetAt", problem.TooLargeVal, "sunsetAt is too far ahead.")
	default:
		return nil
	}
}

// checkGuide validates an absolute URL that a browser can open, and returns it as headers carry it.
func checkGuide(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", problem.Validation("guideUrl", problem.Format, "guideUrl must be an address such as https://example.org/guide.")
	}
	return u.String(), nil
}

// record adds what p did to a version to the audit log.
func (s *Service) record(ctx context.Context, p *auth.Principal, action audit.Action, number int, workspaceID string, details map[string]string) error {
	return s.Audit.Record(ctx, audit.Entry{
		Action: action, WorkspaceID: workspaceID, Actor: p.Actor(), Target: "v" + strconv.Itoa(number), Details: details,
	})
}

func (s *Service) now() time.Time { return whole(s.Now()) }

// whole is a time as it is stored and shown: UTC, in milliseconds.
func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func dateText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// keyID checks the form of an API key's id.
func keyID(text string) bool {
	_, ok := id.Parse(id.APIKey, text)
	return ok
}

package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
)

// Sweeper erases what has expired and finishes what was interrupted.
type Sweeper struct {
	store interface {
		subjectStore
		rowStore
		planStore
		expiryStore
	}
	units    unit.Runner
	opener   *opener
	rows     *rowEraser
	subjects *SubjectEraser
	indexer  *indexer
	now      clock
	log      *slog.Logger
}

// expiryStore finds and removes what is over.
type expiryStore interface {
	// ExpiredMemories lists at most limit memories of all workspaces that had expired at now.
	ExpiredMemories(ctx context.Context, now time.Time, limit int) ([]Expired, error)
	// ScrubErased removes what was erased from the database's files, if any of it was erased before a time. It must not be
	// called in a transaction.
	ScrubErased(ctx context.Context, before time.Time) error
}

// Expired is a memory that has expired.
type Expired struct {
	WorkspaceID string
	Subject     Hash
	ID          string
}

// sweepEvery is the interval of sweeps.
const sweepEvery = time.Minute

// expireEvery is how often expired memories are erased. Reads leave them out anyway, but docs/webhooks.md promises how late the
// event about one can be.
const expireEvery = 15 * time.Second

// scrubAfter is how long erased content can remain in files. The documented limit is an hour, which leaves time for the sweep
// that erases an expired memory and for another attempt.
const scrubAfter = 30 * time.Minute

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) { s.schedule(ctx, s.Sweep, s.expire) }

// schedule calls sweep at once and every sweepEvery, and expire every expireEvery, until ctx ends.
func (s *Sweeper) schedule(ctx context.Context, sweep func(ctx context.Context, begunBefore time.Time) error, expire func(ctx context.Context) error) {
	// At the start, no request of this process is erasing a subject, so all erasures are resumed. The hour is for those that
	// another process began whose clock is ahead.
	begunBefore := s.now().Add(time.Hour)
	nextSweep, nextExpiry := time.NewTicker(sweepEvery), time.NewTicker(expireEvery)
	defer nextSweep.Stop()
	defer nextExpiry.Stop()
	err := sweep(ctx, begunBefore)
	for {
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "sweep of memories failed", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-nextSweep.C:
			err = sweep(ctx, s.now().Add(-sweepEvery))
		case <-nextExpiry.C:
			err = expire(ctx)
		}
	}
}

// Sweep sweeps once. It leaves erasures that began after begunBefore to the requests that began them.
func (s *Sweeper) Sweep(ctx context.Context, begunBefore time.Time) error {
	errs := []error{s.subjects.resume(ctx, begunBefore), s.expire(ctx), s.indexer.compactAll(ctx)}
	if err := s.store.ScrubErased(ctx, s.now().Add(-scrubAfter)); err != nil {
		errs = append(errs, fmt.Errorf("remove erased content from files: %w", err))
	}
	err := s.units.Run(ctx, func(ctx context.Context) error { return s.store.PruneMemoryPlans(ctx, s.now()) })
	if err != nil {
		errs = append(errs, fmt.Errorf("remove expired plans: %w", err))
	}
	return errors.Join(errs...)
}

// expire erases what has expired, in one transaction for each subject, and reports it by one event for each workspace. An
// error does not stop it from erasing memories of other subjects. It returns the errors of the last round.
func (s *Sweeper) expire(ctx context.Context) error {
	bulks := map[string]*event.Bulk{} // by workspace
	defer func() {
		for _, b := range bulks {
			b.End(ctx)
		}
	}()
	for {
		list, err := s.store.ExpiredMemories(ctx, s.now(), eraseChunk)
		if err != nil {
			return fmt.Errorf("list expired memories: %w", err)
		}
		var errs []error
		erasedAny := false
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n].WorkspaceID == list[0].WorkspaceID && list[n].Subject == list[0].Subject {
				n++
			}
			workspaceID := list[0].WorkspaceID
			if bulks[workspaceID] == nil {
				bulks[workspaceID] = event.NewBulk(s.rows.events.to, event.MemoryExpired, workspaceID)
			}
			erased, err := s.expireSubject(ctx, list[:n], bulks[workspaceID])
			if err != nil {
				errs = append(errs, fmt.Errorf("erase expired memories: %w", err))
			}
			erasedAny = erasedAny || erased > 0
			list = list[n:]
		}
		if !erasedAny || ctx.Err() != nil {
			return errors.Join(errs...)
		}
	}
}

// expireSubject erases memories of one subject, unless their expiry was changed. If the subject's data key is missing, the
// entry in the access log does not name the subject.
func (s *Sweeper) expireSubject(ctx context.Context, list []Expired, bulk *event.Bulk) (erased int, err error) {
	workspaceID, subject := list[0].WorkspaceID, list[0].Subject
	row, err := s.store.MemorySubject(ctx, workspaceID, subject)
	if err != nil || row == nil {
		return 0, err
	}
	name, err := s.opener.name(ctx, workspaceID, row)
	if err != nil {
		return 0, err
	}
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	err = s.units.Run(ctx, func(ctx context.Context) error {
		locked, err := s.rows.lock(ctx, workspaceID, subject)
		if err != nil {
			return err
		}
		rows, err := s.store.MemoriesByID(ctx, workspaceID, ids)
		if err != nil {
			return err
		}
		now := s.now()
		rows = slices.DeleteFunc(rows, func(r *Row) bool { return r.Subject != subject || !r.expired(now) })
		erased = len(rows)
		return s.rows.erase(ctx, &auth.Principal{WorkspaceID: workspaceID}, name, locked, rows, audit.MemoryExpired, func(ctx context.Context, _ string, rows []*Row) error {
			return bulk.Add(ctx, itemsOf(rows), false)
		})
	})
	return erased, err
}

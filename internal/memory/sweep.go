package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
)

// sweepEvery is how often what has expired is erased, which is no longer read anyway.
const sweepEvery = time.Minute

// scrubAfter is how long what was erased may be in files before they are cleared of it, well below the hour that is promised:
// what expires is erased only by the next sweep, and clearing may have to be tried again.
const scrubAfter = 30 * time.Minute

// Run erases what has expired and brings erasures to their end that were cut off, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	began := s.o.Now().Add(time.Hour) // at the start, nobody else is at work on any erasure of this process
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := s.Sweep(ctx, began); err != nil && ctx.Err() == nil {
			s.o.Log.WarnContext(ctx, "memories that are over were not all removed", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			began = s.o.Now().Add(-sweepEvery)
		}
	}
}

// Sweep does once what Run does. Erasures that began later than a moment are left to whoever is at work on them.
func (s *Service) Sweep(ctx context.Context, began time.Time) error {
	errs := []error{s.resume(ctx, began), s.expire(ctx), s.tidyRecalls(ctx), s.o.Store.ScrubErased(ctx, s.o.Now().Add(-scrubAfter))}
	err := s.o.Units.Run(ctx, func(ctx context.Context) error { return s.o.Store.PruneMemoryPlans(ctx, s.o.Now()) })
	if err != nil {
		errs = append(errs, fmt.Errorf("remove plans that have expired: %w", err))
	}
	return errors.Join(errs...)
}

func (s *Service) resume(ctx context.Context, began time.Time) error {
	all, err := s.o.Store.Erasures(ctx)
	if err != nil {
		return fmt.Errorf("list erasures: %w", err)
	}
	var errs []error
	for _, e := range all {
		if e.BeganAt.After(began) {
			continue
		}
		if _, err := s.finishErasure(ctx, e); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// expire erases what has expired, the memories of one subject in one unit.
func (s *Service) expire(ctx context.Context) error {
	var errs []error
	for {
		list, err := s.o.Store.ExpiredMemories(ctx, s.o.Now(), eraseAtOnce)
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("list expired memories: %w", err))...)
		}
		progress := false
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n].WorkspaceID == list[0].WorkspaceID && list[n].Subject == list[0].Subject {
				n++
			}
			erased, err := s.expireOf(ctx, list[:n])
			if err != nil { // the memories of others are over, too
				errs = append(errs, fmt.Errorf("erase expired memories: %w", err))
			}
			progress = progress || erased > 0
			list = list[n:]
		}
		if !progress || ctx.Err() != nil {
			return errors.Join(errs...)
		}
	}
}

// expireOf erases memories of one subject, unless they were given a later end.
func (s *Service) expireOf(ctx context.Context, list []Expired) (erased int, err error) {
	workspaceID, subject := list[0].WorkspaceID, list[0].Subject
	row, err := s.o.Store.MemorySubject(ctx, workspaceID, subject)
	if err != nil || row == nil {
		return 0, err
	}
	name, err := s.openName(ctx, workspaceID, row)
	if err != nil || name == "" {
		return 0, err
	}
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	err = s.o.Units.Run(ctx, func(ctx context.Context) error {
		held, err := s.hold(ctx, workspaceID, subject)
		if err != nil {
			return err
		}
		rows, err := s.o.Store.MemoriesByID(ctx, workspaceID, ids)
		if err != nil {
			return err
		}
		now := s.o.Now()
		rows = slices.DeleteFunc(rows, func(r *Row) bool { return r.Subject != subject || !r.expired(now) })
		erased = len(rows)
		return s.erase(ctx, &auth.Principal{WorkspaceID: workspaceID}, name, held, rows, audit.MemoryExpired)
	})
	return erased, err
}

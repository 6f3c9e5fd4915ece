package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/problem"
	"keepsake/internal/revision"
)

// Change writes a further revision. ifRevision must allow the stored one.
func (s *Service) Change(ctx context.Context, p *auth.Principal, id string, c Change, ifRevision revision.Expected) (*Memory, error) {
	for range tries {
		m, err := s.change(ctx, p, id, &c, ifRevision)
		if !errors.Is(err, ErrAgain) {
			return m, err
		}
	}
	return nil, errErasing
}

func (s *Service) change(ctx context.Context, p *auth.Principal, id string, c *Change, ifRevision revision.Expected) (next *Memory, err error) {
	row, m, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	seen, err := s.see(ctx, p.WorkspaceID, map[Hash]string{row.Subject: m.SubjectID})
	if err != nil {
		return nil, fmt.Errorf("change memory: %w", err)
	}
	by := callerOf(ctx, p)
	err = s.commit(ctx, p.WorkspaceID, seen, func(ctx context.Context, left room) ([]*work, error) {
		st := seen[row.Subject]
		base, err := s.o.Store.Memory(ctx, p.WorkspaceID, id, s.reach(p), s.o.Now())
		if err != nil {
			return nil, err
		}
		if !ifRevision.Allows(base.Revision) {
			return nil, problem.RevisionMismatch()
		}
		old := m
		if base.Revision != m.Revision {
			if old, err = open(p.WorkspaceID, base, st.key); err != nil {
				return nil, err
			}
		}
		if next, err = s.revision(ctx, st, c, old); err != nil {
			return nil, err
		}
		next.UpdatedBy = p.Actor()
		written, err := st.row(next, base)
		if err != nil {
			return nil, err
		}
		more := int64(len(written.Sealed))
		if left.limited && base.Revision >= maxRevisions {
			trimmed, err := s.o.Store.TrimmedBytes(ctx, p.WorkspaceID, id, maxRevisions-2)
			if err != nil {
				return nil, err
			}
			more -= trimmed
		}
		if !left.take(more) {
			return nil, problem.StorageFull()
		}
		w := &work{standing: st, replace: []*Row{written}, older: []*Row{base}, bytes: written.Size - base.Size}
		w.log(by, audit.MemoryUpdated, id)
		return []*work{w}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("change memory: %w", err)
	}
	s.answered(ctx, p.WorkspaceID, seen)
	return next, nil
}

// revision makes the next revision of a memory, if the change can be made.
func (s *Service) revision(ctx context.Context, st *standing, c *Change, old *Memory) (*Memory, error) {
	next, err := c.apply(old, s.now())
	if err == nil && next.Key != "" && next.Key != old.Key {
		err = s.unused(ctx, st, next.Key)
	}
	return next, err
}

// unused refuses a natural key that another memory of the subject has.
func (s *Service) unused(ctx context.Context, st *standing, key string) error {
	rows, err := s.o.Store.MemoriesAlike(ctx, st.workspaceID, []Alike{st.withKey(key)}, 1, s.o.Now())
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return problem.Conflicts("Another memory of this subject already has this key.")
	}
	return nil
}

// apply makes the next revision of m, at a moment.
func (c *Change) apply(m *Memory, now time.Time) (*Memory, error) {
	for field, removed := range map[string]bool{
		"kind": c.Kind.removed(), "text": c.Text.removed(), "pinned": c.Pinned.removed(),
	} {
		if removed {
			return nil, problem.Validation(field, problem.Type, field+" cannot be removed.")
		}
	}
	next := *m
	c.Kind.value(&next.Kind)
	c.Text.value(&next.Text)
	c.Speaker.value(&next.Speaker)
	c.Tags.value(&next.Tags)
	c.Pinned.value(&next.Pinned)
	c.Key.value(&next.Key)
	c.Source.value(&next.Source)
	c.Importance.pointer(&next.Importance)
	c.OccurredAt.pointer(&next.OccurredAt)
	c.ValidFrom.pointer(&next.ValidFrom)
	c.ValidTo.pointer(&next.ValidTo)
	c.ExpiresAt.pointer(&next.ExpiresAt)
	next.Metadata = c.metadata(m.Metadata)
	next.UpdatedAt, next.Revision = now, m.Revision+1
	if err := next.check(); err != nil {
		return nil, err
	}
	if c.ExpiresAt.Set {
		if err := checkExpiry(next.ExpiresAt, now); err != nil {
			return nil, err
		}
	}
	next.tidy()
	return &next, nil
}

// metadata merges name by name.
func (c *Change) metadata(old map[string]any) map[string]any {
	switch {
	case !c.Metadata.Set:
		return old
	case c.Metadata.To == nil:
		return nil
	}
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, v := range *c.Metadata.To {
		if v == nil {
			delete(merged, name)
		} else {
			merged[name] = v
		}
	}
	return merged
}

func (o Optional[T]) removed() bool { return o.Set && o.To == nil }

// value puts what is given into a field whose zero value is nothing.
func (o Optional[T]) value(field *T) {
	if !o.Set {
		return
	}
	var none T
	if *field = none; o.To != nil {
		*field = *o.To
	}
}

// pointer puts what is given into a field that may be nil.
func (o Optional[T]) pointer(field **T) {
	if o.Set {
		*field = o.To
	}
}

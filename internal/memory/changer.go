package memory

import (
	"context"
	"fmt"
	"maps"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// Change is a merge patch. Subject, agent and session cannot be changed, and Text cannot be removed. A Kind
// that is removed is Fact.
type Change struct {
	Kind       Optional[Kind]
	Text       Optional[string]
	Speaker    Optional[string]
	Tags       Optional[[]string]
	Metadata   Optional[map[string]any] // merged by name; a nil value removes the entry
	Importance Optional[float64]
	Pinned     Optional[bool]
	OccurredAt Optional[time.Time]
	ValidFrom  Optional[time.Time]
	ValidTo    Optional[time.Time]
	ExpiresAt  Optional[time.Time]
	Key        Optional[string]
	Source     Optional[string]
}

// Optional is a field of a Change: omitted (the zero value), set, or removed (Set without To).
type Optional[T any] struct {
	Set bool
	To  *T
}

// SetTo sets a field to v.
func SetTo[T any](v T) Optional[T] { return Optional[T]{Set: true, To: &v} }

// Unset removes a field.
func Unset[T any]() Optional[T] { return Optional[T]{Set: true} }

// Changer changes memories.
type Changer struct {
	committer *committer
	matcher   *matcher
	reader    *Reader
	store     interface {
		rowStore
		matchStore
	}
	lookup Lookup
	now    clock
}

// Change writes the next revision of a memory, if ifRevision allows the current one.
func (c *Changer) Change(ctx context.Context, p *auth.Principal, id string, change Change, ifRevision revision.Expected) (m *Memory, err error) {
	err = retry(func() (err error) {
		m, err = c.change(ctx, p, id, &change, ifRevision)
		return err
	})
	return m, err
}

func (c *Changer) change(ctx context.Context, p *auth.Principal, id string, change *Change, ifRevision revision.Expected) (next *Memory, err error) {
	row, m, err := c.reader.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	states, err := c.committer.load(ctx, p.WorkspaceID, map[Hash]string{row.Subject: m.SubjectID})
	if err != nil {
		return nil, fmt.Errorf("change memory: %w", err)
	}
	by := callerOf(ctx, p)
	err = c.committer.commit(ctx, p.WorkspaceID, states, c.committer.events.each, func(ctx context.Context, left room) ([]*subjectWrites, error) {
		base, err := c.store.Memory(ctx, p.WorkspaceID, id, visibilityOf(c.lookup, p), c.now())
		if err != nil {
			return nil, err
		}
		set := newWriteSet(states, left)
		current, err := c.matcher.add(ctx, set, base)
		if err != nil {
			return nil, err
		}
		if next, err = change.apply(current.memory, c.now.stored()); err != nil {
			return nil, err
		}
		next.UpdatedBy = p.Actor()
		if err := c.checkKey(ctx, states[row.Subject], current.memory.Key, next.Key); err != nil {
			return nil, err
		}
		if err := set.revise(current, next); err != nil {
			return nil, err
		}
		if !ifRevision.Allows(base.Revision) { // after every 400 and 409 (docs/spec/scopes.md)
			return nil, problem.RevisionMismatch()
		}
		set.log(row.Subject, by, audit.MemoryUpdated, id)
		return set.writes(), nil
	})
	if err != nil {
		return nil, fmt.Errorf("change memory: %w", err)
	}
	c.committer.reportKeys(ctx, p.WorkspaceID, states)
	return next, nil
}

// checkKey returns an error if another memory of the subject has the new key.
func (c *Changer) checkKey(ctx context.Context, state *subjectState, old, key string) error {
	if key == "" || key == old {
		return nil
	}
	match := MatchKey{Subject: state.subject, Generation: state.generation, KeyHash: state.hashKey(key)}
	rows, err := c.store.MatchingMemories(ctx, state.workspaceID, []MatchKey{match}, 1, c.now())
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return problem.Conflicts("Another memory of this subject already has this key.")
	}
	return nil
}

// apply returns the next revision of m.
func (c *Change) apply(m *Memory, now time.Time) (*Memory, error) {
	if c.Text.removed() {
		return nil, problem.Validation("text", problem.Required, "text cannot be removed.")
	}
	next := *m
	if c.Kind.value(&next.Kind); c.Kind.removed() {
		next.Kind = Fact
	}
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
	next.truncateTimes()
	if err := next.check(); err != nil {
		return nil, err
	}
	if c.ExpiresAt.Set {
		if err := checkExpiry(next.ExpiresAt, now); err != nil {
			return nil, err
		}
	}
	next.normalize()
	return &next, nil
}

// metadata merges entries by name.
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

// value sets a field whose zero value means that it is not set.
func (o Optional[T]) value(field *T) {
	if !o.Set {
		return
	}
	var none T
	if *field = none; o.To != nil {
		*field = *o.To
	}
}

// pointer sets a field that is nil if it is not set.
func (o Optional[T]) pointer(field **T) {
	if o.Set {
		*field = o.To
	}
}

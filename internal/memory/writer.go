package memory

import (
	"context"
	"fmt"
	"io"
	"time"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// MaxBatch is the maximum number of items of a batch.
const MaxBatch = 1000

// Item is a memory to create. Its ID, times, authors and revision are ignored; an empty kind is Fact. Err, a
// problem.Problem, says why the item cannot be written.
type Item struct {
	Memory     Memory
	Duplicates Duplicates
	Err        error
}

// Stored is the outcome of a write. Without Created and Deduplicated, the memory replaced the one with its key.
type Stored struct {
	Memory       *Memory
	Created      bool
	Deduplicated bool // an equal memory existed, and nothing was written
}

// Result is the outcome of an item. Err is a problem.Problem, with which Memory is nil.
type Result struct {
	Stored
	Err error
}

// Writer creates memories. A write is prepared first, because keys are created and texts encrypted outside the transaction
// that writes.
type Writer struct {
	committer *committer
	matcher   *matcher
	groups    *coalesce.Batcher[*Prepared] // single memories
	lookup    Lookup
	now       clock
	random    io.Reader
}

// Prepare validates and encrypts a memory.
func (w *Writer) Prepare(ctx context.Context, p *auth.Principal, item Item) (*Prepared, error) {
	b := &Prepared{workspaceID: p.WorkspaceID, drafts: []*draft{w.draft(callerOf(ctx, p), &item, w.now())}}
	if err := b.drafts[0].err; err != nil {
		return nil, err
	}
	if err := retry(func() error { return w.prepare(ctx, b) }); err != nil {
		return nil, fmt.Errorf("prepare memory: %w", err)
	}
	return b, nil
}

// Create writes a prepared memory. It replaces the memory with the same key, and writes nothing if an equal one exists.
func (w *Writer) Create(ctx context.Context, b *Prepared) (*Stored, error) {
	if err := w.write(ctx, b); err != nil {
		return nil, fmt.Errorf("write memory: %w", err)
	}
	if err := b.results[0].Err; err != nil {
		return nil, err
	}
	return &b.results[0].Stored, nil
}

// PrepareBatch validates and encrypts items. If atomic is set, an invalid item is an error, whose field begins with items[n].
func (w *Writer) PrepareBatch(ctx context.Context, p *auth.Principal, items []Item, atomic bool) (*Prepared, error) {
	switch {
	case len(items) == 0:
		return nil, problem.Validation("items", problem.Required, "items is required.")
	case len(items) > MaxBatch:
		return nil, problem.Validation("items", problem.TooLong, fmt.Sprintf("items must have at most %d items.", MaxBatch))
	}
	b := &Prepared{workspaceID: p.WorkspaceID, atomic: atomic, drafts: make([]*draft, len(items)), bulk: len(items) > eachUpTo}
	by, now := callerOf(ctx, p), w.now()
	for i := range items {
		if items[i].Err != nil {
			b.drafts[i] = &draft{err: items[i].Err}
		} else {
			b.drafts[i] = w.draft(by, &items[i], idTime(now, i))
		}
		if err := b.drafts[i].err; err != nil && atomic {
			return nil, ofItem(i, err)
		}
	}
	if err := retry(func() error { return w.prepare(ctx, b) }); err != nil {
		return nil, fmt.Errorf("prepare memories: %w", err)
	}
	return b, nil
}

// Batch writes prepared items as if one after the other, and returns their results in the same order.
func (w *Writer) Batch(ctx context.Context, b *Prepared) ([]Result, error) {
	if err := w.write(ctx, b); err != nil {
		return nil, fmt.Errorf("write memories: %w", err)
	}
	return b.results, nil
}

// draft validates an item and completes its memory.
func (w *Writer) draft(by *caller, item *Item, at time.Time) *draft {
	d := &draft{by: by}
	m := item.Memory
	m.ID, m.Revision = id.At(id.Memory, at, w.random), 1
	m.CreatedAt, m.UpdatedAt, m.CreatedBy, m.UpdatedBy = at, at, by.Actor(), by.Actor()
	if m.Kind == "" {
		m.Kind = Fact
	}
	if d.err = m.bind(by.Principal); d.err != nil {
		return d
	}
	if d.err = checkExpiry(m.ExpiresAt, at); d.err != nil {
		return d
	}
	m.normalize()
	d.memory, d.subject, d.compare = &m, w.lookup.Subject(by.WorkspaceID, m.SubjectID), item.Duplicates.compares(&m)
	return d
}

// idTime returns the time from which the ID of item i is generated. IDs sort by time down to 250 ns.
func idTime(now time.Time, i int) time.Time { return now.Add(time.Duration(i) * 250 * time.Nanosecond) }

// bind sets the subject and the agent that the caller is bound to, truncates times, and validates the memory.
func (m *Memory) bind(p *auth.Principal) (err error) {
	if m.SubjectID, err = subjectOf(p, m.SubjectID); err != nil {
		return err
	}
	if m.AgentID, err = agentOf(p, m.AgentID); err != nil {
		return err
	}
	m.truncateTimes()
	return m.check()
}

// ofItem converts the error of an item into that of an atomic batch.
func ofItem(i int, err error) error {
	field := fmt.Sprintf("items[%d]", i)
	p, ok := problem.As(err)
	switch {
	case !ok:
		return err
	case p.Kind == problem.Invalid && p.Details.Field != "" && p.Details.Field != "body":
		return problem.Validation(field+"."+p.Details.Field, p.Details.Issue, p.Message)
	case p.Kind == problem.Invalid:
		return problem.Validation(field, p.Details.Issue, p.Message)
	default:
		return problem.Validation(field, problem.NotAllowed, p.Message)
	}
}

package memory

import (
	"context"
	"fmt"
	"io"
	"slices"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
)

// Imported counts the lines of an import.
type Imported struct {
	Received  int
	Created   int
	Replaced  int
	Unchanged int // the memory existed and is equal to the line
	field.Failures
}

// Importer imports memories with their history.
type Importer struct {
	store     rowStore
	committer *committer
	matcher   *matcher
	lookup    Lookup
	now       clock
	random    io.Reader
}

// A chunk is what one transaction stores: enough lines to share the cost of a commit, few enough bytes that other writes do
// not wait for long.
const (
	chunkLines = 256
	chunkBytes = 1 << 20
)

// Import stores lines in chunks. An invalid line does not affect the others. With requireID, every line must have an ID, so
// that a repeated request does not create new ones. After an error, the chunks before it remain stored.
func (i *Importer) Import(ctx context.Context, p *auth.Principal, lines Lines, requireID bool) (Imported, error) {
	var total Imported
	bulk := event.NewBulk(i.committer.events.to, event.MemoryImported, p.WorkspaceID)
	defer bulk.End(ctx)
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("import: %w", err)
		}
		var chunk []*importLine
		var err error
		if chunk, done, err = i.readChunk(ctx, p, lines, requireID); err != nil {
			return total, fmt.Errorf("read import: %w", interrupted(err, total))
		}
		counts, err := i.importChunk(ctx, p, chunk, func(ctx context.Context, _ string, created, changed []*Row) error {
			return bulk.Add(ctx, itemsOf(slices.Concat(created, changed)), done)
		})
		if err != nil {
			return total, fmt.Errorf("store a chunk of an import: %w", err)
		}
		total.add(counts)
	}
	return total, nil
}

// readChunk reads and validates lines until a chunk is full. done says that they were the last.
func (i *Importer) readChunk(ctx context.Context, p *auth.Principal, lines Lines, requireID bool) (chunk []*importLine, done bool, err error) {
	by, now := callerOf(ctx, p), i.now()
	for bytes := 0; len(chunk) < chunkLines && bytes < chunkBytes; {
		given, ok, err := lines()
		if err != nil {
			return nil, false, err
		}
		if !ok {
			return chunk, true, nil
		}
		line := i.newLine(p, &given, requireID, idTime(now, len(chunk)))
		line.by = by
		chunk = append(chunk, line)
		bytes += line.size()
	}
	return chunk, false, nil
}

// importChunk stores the valid lines of a chunk. If a subject is erased meanwhile, it tries again.
func (i *Importer) importChunk(ctx context.Context, p *auth.Principal, chunk []*importLine, tell report) (counts Imported, err error) {
	names := map[Hash]string{}
	for _, line := range chunk {
		if line.err == nil {
			names[line.subject] = line.memory.SubjectID
		}
	}
	if len(names) == 0 { // without a transaction
		for _, line := range chunk {
			counts.Received++
			counts.Fail(line.number, line.err)
		}
		return counts, nil
	}
	err = retry(func() (err error) {
		counts, err = i.storeChunk(ctx, p, chunk, names, tell)
		return err
	})
	return counts, err
}

func (i *Importer) storeChunk(ctx context.Context, p *auth.Principal, chunk []*importLine, names map[Hash]string, tell report) (counts Imported, err error) {
	states, err := i.committer.load(ctx, p.WorkspaceID, names)
	if err != nil {
		return counts, err
	}
	for _, line := range chunk {
		if line.err != nil {
			continue
		}
		if err := line.seal(states[line.subject]); err != nil {
			return counts, err
		}
		if err := line.sealHistory(states[line.subject], line.row); err != nil {
			return counts, err
		}
	}
	err = i.committer.commit(ctx, p.WorkspaceID, states, tell, func(ctx context.Context, left room) (_ []*subjectWrites, err error) {
		set := newWriteSet(states, left)
		erased, err := i.loadExisting(ctx, p.WorkspaceID, set, chunk)
		if err != nil {
			return nil, err
		}
		if counts, err = set.importLines(chunk, erased); err != nil {
			return nil, err
		}
		return set.writes(), nil
	})
	return counts, err
}

// loadExisting adds to a write set the memories that have the IDs and keys of a chunk, and returns which of the IDs were erased.
func (i *Importer) loadExisting(ctx context.Context, workspaceID string, set *writeSet, chunk []*importLine) (erased map[string]bool, err error) {
	var ids []string
	var drafts []*draft
	for _, line := range chunk {
		if line.err != nil {
			continue
		}
		if line.hasID {
			ids = append(ids, line.memory.ID)
		}
		if !line.hasID || line.memory.Key != "" {
			drafts = append(drafts, &line.draft)
		}
	}
	erased = map[string]bool{}
	if len(ids) > 0 {
		tombstones, err := i.store.MemoryTombstones(ctx, workspaceID, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range tombstones {
			erased[id] = true
		}
		rows, err := i.store.MemoriesByID(ctx, workspaceID, ids)
		if err != nil {
			return nil, err
		}
		now := i.now()
		for _, r := range rows {
			switch {
			case r.expired(now):
				erased[r.ID] = true
			case set.subjects[r.Subject] == nil:
				set.foreign[r.ID] = true
			default:
				if _, err := i.matcher.add(ctx, set, r); err != nil {
					return nil, err
				}
			}
		}
	}
	return erased, i.matcher.loadMatches(ctx, workspaceID, set, drafts)
}

func (i *Imported) add(o Imported) {
	i.Received += o.Received
	i.Created += o.Created
	i.Replaced += o.Replaced
	i.Unchanged += o.Unchanged
	i.Failures.Add(o.Failures)
}

// interrupted adds to the error that ended a body how much of it was stored.
func interrupted(err error, before Imported) error {
	p, ok := problem.As(err)
	if !ok || before.Received == 0 {
		return err
	}
	reported := *p
	reported.Message += fmt.Sprintf(" The %d lines before that were read, and what was imported of them stays.", before.Received)
	return reported.Because(err)
}

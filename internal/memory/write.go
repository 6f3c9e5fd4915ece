package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/problem"
	"keepsake/internal/seal"
	"keepsake/internal/unit"
)

// A write happens in three steps. It looks how the subjects stand and gets their keys (see), which may be a commit of the
// keys' database. It seals what it will most likely write. Then, in one unit of work, it holds the subjects, looks at what is
// there and decides. Where a subject was erased meanwhile, all is done again, under a new key.

// standing is how a subject stood when it was looked at.
type standing struct {
	id   string
	name []byte // its readable id, sealed, for a row that has none yet
	sealer
}

// ErrAgain says that something was prepared on what does not stand any more: the subject was erased, or an id was taken.
var ErrAgain = errors.New("memory: what was prepared does not hold any more")

// maxRevisions is how many revisions of a memory are kept, the current one among them.
const maxRevisions = 100

// tries is how often a write is prepared. Only an erasure makes it necessary.
const tries = 5

// see looks at subjects, given by their readable ids.
func (s *Service) see(ctx context.Context, workspaceID string, ids map[Hash]string) (map[Hash]*standing, error) {
	subjects := rising(ids)
	seen := make(map[Hash]*standing, len(ids))
	named := make(map[Hash]bool, len(ids))
	var ask []Hash
	for _, hash := range subjects {
		st := &standing{id: ids[hash], sealer: sealer{workspaceID: workspaceID, subject: hash, generation: 1, lookup: s.o.Lookup}}
		if generation, ok := s.written.get(hash); ok && s.o.Alone {
			st.generation, named[hash] = generation, true
		} else {
			ask = append(ask, hash)
		}
		seen[hash] = st
	}
	rows, err := s.o.Store.MemorySubjects(ctx, workspaceID, ask)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		st := seen[row.Hash]
		st.generation = row.Generation
		named[row.Hash] = len(row.SealedID) > 0
	}
	if err := s.keysOf(ctx, workspaceID, subjects, seen, named); err != nil {
		s.written.forget(seen)
		return nil, err
	}
	for hash, st := range seen {
		if !named[hash] {
			st.name = st.sealer.name(st.id)
		}
	}
	return seen, nil
}

// rising are hashes in the order in which rows are held, so that nobody waits in a circle.
func rising[T any](of map[Hash]T) []Hash {
	return slices.SortedFunc(maps.Keys(of), func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
}

// keysOf gets the data keys of subjects. Only that of a subject in whose generation nothing was written may be a new one:
// another one that is missing is lost, and what it sealed with it.
func (s *Service) keysOf(ctx context.Context, workspaceID string, subjects []Hash, seen map[Hash]*standing, named map[Hash]bool) error {
	var missing []seal.SubjectGeneration
	for _, hash := range subjects {
		st := seen[hash]
		if !named[hash] {
			missing = append(missing, seal.SubjectGeneration{Subject: hash, Generation: st.generation})
			continue
		}
		key, err := s.o.Keys.Find(ctx, workspaceID, hash, st.generation)
		if err != nil {
			return keyError(err)
		}
		st.key = key
	}
	if len(missing) == 0 {
		return nil
	}
	keys, err := s.o.Keys.Ensure(ctx, workspaceID, missing)
	if err != nil {
		return keyError(err)
	}
	for i, key := range keys {
		seen[missing[i].Subject].key = key
	}
	return nil
}

func keyError(err error) error {
	if errors.Is(err, seal.ErrDestroyed) {
		return ErrAgain
	}
	return fmt.Errorf("get a data key: %w", err)
}

// caller is who writes, and from where.
type caller struct {
	*auth.Principal
	source audit.Source
}

func callerOf(ctx context.Context, p *auth.Principal) *caller {
	source, _ := ctx.Value(audit.SourceKey).(audit.Source)
	return &caller{p, source}
}

// work is what is written of one subject.
type work struct {
	*standing
	insert  []*Row
	replace []*Row
	older   []*Row // revisions
	bytes   int64  // how much larger it gets
	did     []deed
}

// deed is what the access log is told.
type deed struct {
	by     *caller
	action audit.Action
	ids    []string
}

func (w *work) writes() bool { return len(w.insert)+len(w.replace)+len(w.older) > 0 }

func (w *work) log(by *caller, action audit.Action, id string) {
	for i := range w.did {
		if d := &w.did[i]; d.by == by && d.action == action {
			d.ids = append(d.ids, id)
			return
		}
	}
	w.did = append(w.did, deed{by, action, []string{id}})
}

// room is what a workspace may still add.
type room struct {
	memories int64
	bytes    int64
	limited  bool // bytes are
}

// decide decides what to write, in the unit that holds the subjects.
type decide func(ctx context.Context, left room) ([]*work, error)

// commit holds subjects, has it decided what to write of them, and writes and logs that.
func (s *Service) commit(ctx context.Context, workspaceID string, seen map[Hash]*standing, decide decide) error {
	subjects := rising(seen)
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		rows, err := s.o.Store.HoldMemorySubjects(ctx, workspaceID, subjects, s.now())
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Generation != seen[row.Hash].generation {
				return ErrAgain
			}
		}
		left, err := s.room(ctx, workspaceID)
		if err != nil {
			return err
		}
		works, err := decide(ctx, left)
		if err != nil {
			return err
		}
		return s.write(ctx, workspaceID, rows, works)
	})
	if errors.Is(err, ErrAgain) {
		s.written.forget(seen)
		if unit.Running(ctx) {
			return &unit.StaleError{Problem: errErasing}
		}
	}
	return err
}

var errErasing = problem.NotAvailable("The subject is being erased; try again.", time.Second)

// room is what may be added to a workspace. Where there is a limit, nobody else adds anything until the unit ends.
func (s *Service) room(ctx context.Context, workspaceID string) (left room, err error) {
	left = room{memories: math.MaxInt64, bytes: math.MaxInt64}
	if most := s.o.Max(workspaceID); most > 0 {
		n, err := s.o.Store.MemoryCount(ctx, workspaceID)
		if err != nil {
			return left, err
		}
		left.memories = most - n
	}
	if most := s.o.MaxBytes(workspaceID); most != nil {
		left.limited = true
		left.bytes, err = s.o.Store.StorageRoom(ctx, workspaceID, *most)
	}
	return left, err
}

// take takes the room of a row with older revisions, unless there is too little of it. What makes nothing larger fits.
func (r *room) take(bytes int64) bool {
	if bytes > 0 && bytes > r.bytes {
		return false
	}
	r.bytes -= bytes
	return true
}

// write writes works. rows are those of the subjects that are held.
func (s *Service) write(ctx context.Context, workspaceID string, rows []*Subject, works []*work) error {
	held := make(map[Hash]*Subject, len(rows))
	for _, row := range rows {
		held[row.Hash] = row
	}
	now := s.now()
	var all work
	var save, count []*Subject // rows that are new in their generation, and the others
	for _, w := range works {
		if !w.writes() {
			continue
		}
		row := held[w.subject]
		if len(row.SealedID) == 0 {
			save = append(save, row)
		} else {
			count = append(count, row)
		}
		row.change(w, now)
		unit.AfterCommit(ctx, func() { s.written.put(w.subject, w.generation) })
		all.insert = append(all.insert, w.insert...)
		all.replace = append(all.replace, w.replace...)
		all.older = append(all.older, w.older...)
	}
	if err := s.store(ctx, workspaceID, &all, save, count); err != nil {
		return err
	}
	for _, w := range works {
		for _, did := range w.did {
			for _, e := range s.entries(did.by.Principal, did.action, w.id, did.ids) {
				e.Address, e.RequestID = did.by.source.Address, did.by.source.RequestID
				if err := s.o.Audit.Record(ctx, e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// change counts what w writes, and gives it the number of the subject's change.
func (row *Subject) change(w *work, now time.Time) {
	row.Change++
	row.Memories += int64(len(w.insert))
	row.Bytes += w.bytes
	row.UpdatedAt = now
	if len(row.SealedID) == 0 {
		row.SealedID, row.CreatedAt = w.name, now
	}
	for _, rows := range [][]*Row{w.insert, w.replace} {
		for _, r := range rows {
			r.Change = row.Change
		}
	}
}

func (s *Service) store(ctx context.Context, workspaceID string, w *work, save, count []*Subject) error {
	if len(save)+len(count) == 0 {
		return nil
	}
	if len(w.insert) > 0 { // before the rows, whose bytes are counted after it by everybody
		if err := s.o.Store.AddMemoryCount(ctx, workspaceID, int64(len(w.insert))); err != nil {
			return err
		}
	}
	if err := s.o.Store.InsertMemories(ctx, workspaceID, w.insert); err != nil {
		return err
	}
	if err := s.o.Store.ReplaceMemories(ctx, workspaceID, w.replace); err != nil {
		return err
	}
	if err := s.o.Store.AddMemoryRevisions(ctx, workspaceID, w.older); err != nil {
		return err
	}
	for _, r := range slices.Concat(w.insert, w.replace) {
		if r.Revision > maxRevisions && len(w.older) > 0 {
			if err := s.o.Store.TrimMemoryRevisions(ctx, workspaceID, r.ID, maxRevisions-1); err != nil {
				return err
			}
		}
	}
	if err := s.o.Store.SaveMemorySubjects(ctx, workspaceID, save); err != nil {
		return err
	}
	return s.o.Store.CountMemorySubjects(ctx, workspaceID, count)
}

// entry is a row of the access log about a subject.
func (s *Service) entry(p *auth.Principal, action audit.Action, subjectID string, ids []string) audit.Entry {
	e := audit.Entry{
		Action: action, WorkspaceID: p.WorkspaceID, Actor: p.Actor(), Target: s.o.Audit.Subject(p.WorkspaceID, subjectID),
		Count: int64(len(ids)),
	}
	if len(ids) > 0 {
		e.Details = map[string]string{audit.MemoryIDs: audit.JoinMemoryIDs(ids)}
	}
	return e
}

// entries are rows that name all of ids, each as many as a row holds.
func (s *Service) entries(p *auth.Principal, action audit.Action, subjectID string, ids []string) (list []audit.Entry) {
	if len(ids) == 0 {
		return []audit.Entry{s.entry(p, action, subjectID, nil)}
	}
	for some := range slices.Chunk(ids, audit.MaxMemoryIDs) {
		list = append(list, s.entry(p, action, subjectID, some))
	}
	return list
}

// now is the moment as it is kept.
func (s *Service) now() time.Time { return kept(s.o.Now()) }

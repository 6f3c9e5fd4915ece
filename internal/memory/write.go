package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
// keys' database. It decides what to write and seals that. Then, in one unit of work, it holds the subjects: where one has
// changed since, it is decided anew, under the same key; where one was erased, all is done again, under a new key.

// standing is how a subject stood when it was looked at.
type standing struct {
	id     string
	change int64
	name   []byte // its readable id, sealed, for a row that has none yet
	sealer
}

// seen is the subjects of a write, in rising order of their hashes.
type seen struct {
	workspaceID string
	subjects    []Hash
	of          map[Hash]*standing
}

// ErrAgain says that something was prepared on what does not stand any more: the subject was erased, or an id was taken.
var ErrAgain = errors.New("memory: what was prepared does not hold any more")

// tries is how often a write is prepared. Only an erasure makes it necessary.
const tries = 5

// see looks at subjects, given by their readable ids.
func (s *Service) see(ctx context.Context, workspaceID string, ids map[Hash]string) (*seen, error) {
	v := &seen{workspaceID: workspaceID, of: make(map[Hash]*standing, len(ids))}
	for hash := range ids {
		v.subjects = append(v.subjects, hash)
	}
	slices.SortFunc(v.subjects, func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	rows, err := s.o.Store.MemorySubjects(ctx, workspaceID, v.subjects)
	if err != nil {
		return nil, err
	}
	for hash, id := range ids {
		v.of[hash] = &standing{id: id, sealer: sealer{workspaceID: workspaceID, subject: hash, generation: 1, lookup: s.o.Lookup}}
	}
	named := make(map[Hash]bool, len(rows))
	for _, row := range rows {
		st := v.of[row.Hash]
		st.generation, st.change = row.Generation, row.Change
		named[row.Hash] = len(row.SealedID) > 0
	}
	if err := s.keysOf(ctx, v, named); err != nil {
		return nil, err
	}
	for hash, st := range v.of {
		if !named[hash] {
			st.name = st.sealer.name(st.id)
		}
	}
	return v, nil
}

// keysOf gets the data keys of subjects. Only that of a subject in whose generation nothing was written may be a new one:
// another one that is missing is lost, and what it sealed with it.
func (s *Service) keysOf(ctx context.Context, v *seen, named map[Hash]bool) error {
	var missing []seal.SubjectGeneration
	for _, hash := range v.subjects {
		st := v.of[hash]
		if !named[hash] {
			missing = append(missing, seal.SubjectGeneration{Subject: hash, Generation: st.generation})
			continue
		}
		key, err := s.o.Keys.Find(ctx, v.workspaceID, hash, st.generation)
		if err != nil {
			return keyError(err)
		}
		st.key = key
	}
	if len(missing) == 0 {
		return nil
	}
	keys, err := s.o.Keys.Ensure(ctx, v.workspaceID, missing)
	if err != nil {
		return keyError(err)
	}
	for i, key := range keys {
		v.of[missing[i].Subject].key = key
	}
	return nil
}

func keyError(err error) error {
	if errors.Is(err, seal.ErrDestroyed) {
		return ErrAgain
	}
	return fmt.Errorf("get a data key: %w", err)
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
	action audit.Action
	ids    []string
}

func (w *work) writes() bool { return len(w.insert)+len(w.replace)+len(w.older) > 0 }

func (w *work) log(action audit.Action, id string) {
	for i := range w.did {
		if w.did[i].action == action {
			w.did[i].ids = append(w.did[i].ids, id)
			return
		}
	}
	w.did = append(w.did, deed{action, []string{id}})
}

// decision is what is to be written, by subject in the order of seen.
type decision struct {
	works   []*work
	results []Result // of a batch
	counts  Imported // of an import
}

func (d *decision) inserts() (n int64) {
	for _, w := range d.works {
		n += int64(len(w.insert))
	}
	return n
}

// noLimit is the room of a workspace without a limit.
const noLimit = math.MaxInt64

// decide decides on what stands in the store, where room is how many memories may be added.
type decide func(ctx context.Context, v *seen, room int64) (*decision, error)

// commit writes what was decided on what v saw, or what is decided anew, and logs it.
func (s *Service) commit(ctx context.Context, p *auth.Principal, v *seen, first *decision, again decide) (d *decision, err error) {
	err = s.o.Units.Run(ctx, func(ctx context.Context) error {
		d = first
		held, err := s.o.Store.HoldMemorySubjects(ctx, v.workspaceID, v.subjects, s.now())
		if err != nil {
			return err
		}
		changed := false
		for i, row := range held {
			st := v.of[v.subjects[i]]
			if row.Generation != st.generation {
				return ErrAgain
			}
			changed = changed || row.Change != st.change
		}
		room, err := s.room(ctx, v.workspaceID)
		if err != nil {
			return err
		}
		if changed || d.inserts() > room {
			if d, err = again(ctx, v, room); err != nil {
				return err
			}
		}
		return s.write(ctx, p, v, held, d)
	})
	if errors.Is(err, ErrAgain) && unit.Running(ctx) {
		return nil, &unit.StaleError{Problem: errErasing}
	}
	return d, err
}

var errErasing = problem.NotAvailable("The subject is being erased at this moment.", time.Second)

// room is how many memories may be added to a workspace. Where there is a limit, nobody else adds any until the unit ends.
func (s *Service) room(ctx context.Context, workspaceID string) (int64, error) {
	most := s.o.Max(workspaceID)
	if most <= 0 {
		return noLimit, nil
	}
	n, err := s.o.Store.MemoryCount(ctx, workspaceID)
	if err != nil {
		return 0, err
	}
	return max(0, most-n), nil
}

// write writes a decision. held are the rows of the subjects, in the order of v.
func (s *Service) write(ctx context.Context, p *auth.Principal, v *seen, held []*Subject, d *decision) error {
	rows := make(map[Hash]*Subject, len(held))
	for _, row := range held {
		rows[row.Hash] = row
	}
	now := s.now()
	var all work
	var save []*Subject
	for _, w := range d.works {
		if !w.writes() {
			continue
		}
		row := rows[w.subject]
		row.change(w, now)
		save = append(save, row)
		all.insert = append(all.insert, w.insert...)
		all.replace = append(all.replace, w.replace...)
		all.older = append(all.older, w.older...)
	}
	if err := s.store(ctx, v.workspaceID, &all, save); err != nil {
		return err
	}
	for _, w := range d.works {
		for _, did := range w.did {
			if err := s.o.Audit.Record(ctx, s.entry(p, did.action, w.id, did.ids)); err != nil {
				return err
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

func (s *Service) store(ctx context.Context, workspaceID string, w *work, save []*Subject) error {
	if len(save) == 0 {
		return nil
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
	if err := s.o.Store.SaveMemorySubjects(ctx, workspaceID, save); err != nil {
		return err
	}
	if len(w.insert) == 0 {
		return nil
	}
	return s.o.Store.AddMemoryCount(ctx, workspaceID, int64(len(w.insert)))
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

// now is the moment as it is kept.
func (s *Service) now() time.Time { return kept(s.o.Now()) }

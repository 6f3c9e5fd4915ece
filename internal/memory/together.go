package memory

import (
	"context"

	"keepsake/internal/coalesce"
	"keepsake/internal/problem"
)

// Single memories that come while others are being written share a unit with those that wait beside them: they hold a
// subject once, count once, and have one place in the access log's chain.

// Bounds of a unit that is shared: nobody in it waits for long, and it stays small in memory.
const (
	togetherWrites = 64
	togetherBytes  = 1 << 20
)

// How many units of a workspace may be under way. Where units follow each other anyhow, and share commits, there may be more;
// elsewhere each has a connection, and waits for the same subjects.
const (
	unitsAlone  = 4
	unitsShared = 2
)

// single is a memory that is written with others, and what became of it.
type single struct {
	batch   *batch
	results []Result
}

func (s *Service) newBatcher() *coalesce.Batcher[*single] {
	units := unitsShared
	if s.o.Alone {
		units = unitsAlone
	}
	return coalesce.New(coalesce.Options[*single]{
		Runs: units, Calls: togetherWrites, Bytes: togetherBytes, Run: s.putTogether,
		Size: func(w *single) int { return len(w.batch.drafts[0].memory.Text) },
		Shared: func(err error) bool {
			p, known := problem.As(err)
			return known && p.Kind == problem.Unavailable
		},
	})
}

// putSingle writes a single memory in a unit that it may share.
func (s *Service) putSingle(ctx context.Context, b *batch) ([]Result, error) {
	w := &single{batch: b}
	err := s.batches.Do(ctx, b.workspaceID, w)
	return w.results, problem.Busy(err)
}

// putTogether writes single memories as one batch. Where they saw a subject in different generations it is ErrAgain.
func (s *Service) putTogether(ctx context.Context, workspaceID string, singles []*single) error {
	all := &batch{workspaceID: workspaceID, seen: map[Hash]*standing{}}
	for _, w := range singles {
		all.drafts = append(all.drafts, w.batch.drafts...)
		for hash, st := range w.batch.seen {
			if other := all.seen[hash]; other != nil && other.generation != st.generation {
				return ErrAgain
			}
			all.seen[hash] = st
		}
	}
	results, err := s.putBatch(ctx, all)
	if err != nil {
		return err
	}
	for i, w := range singles {
		w.results = results[i : i+1]
	}
	return nil
}

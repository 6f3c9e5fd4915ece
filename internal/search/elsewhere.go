package search

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// Reader is what a search reads: an index of this process as it was after a change, or one elsewhere. Its methods are described at
// index.Snapshot.
type Reader interface {
	// LookIn lets Near, Count and Begins also look for words in entries of metadata.
	LookIn(fields []index.FieldWeight)
	// Expect tells the reader what will probably be searched, so that it can read most of what it needs at once: a query, and everything
	// that all asks of a reader. It calls all perhaps several times, with a reader that has only the answers that are known by then,
	// finds no documents, and can end all by an error.
	Expect(query func() *index.Query, all func(Reader) error) error
	Languages() (text.LanguageSet, error)
	Count(stem, word, scope string, step index.Step) (int64, error)
	Begins(word, scope string, step index.Step) (bool, error)
	Near(word string, edits, shared int, scope string, step index.Step) ([]index.Neighbour, error)
	Search(q *index.Query, step index.Step) (*index.Found, error)
}

// Elsewhere has the indexes of workspaces that are not in this process.
type Elsewhere interface {
	// Has reports whether the index of a workspace is there.
	Has(ctx context.Context, workspaceID string) (bool, error)
	// State returns the state of the documents of a workspace.
	State(ctx context.Context, workspaceID string) (document.State, error)
	// Open returns a reader of a workspace for one search, which finds every change up to a state. It returns problem.Unavailable if
	// that takes too long.
	Open(ctx context.Context, workspaceID string, state document.State) (Reader, error)
}

// local reads an index of this process.
type local struct{ *index.Snapshot }

func (l *local) LookIn(fields []index.FieldWeight) { l.Snapshot = l.View(fields) }

func (l *local) Expect(func() *index.Query, func(Reader) error) error { return nil }

func (l *local) Languages() (text.LanguageSet, error) { return l.Snapshot.Languages(), nil }

// remote finds documents whose indexes are elsewhere.
type remote struct {
	Elsewhere
	states reads[document.State]
	mu     sync.Mutex
	tuned  map[string]tunedAt // by workspace
}

// tunedAt are settings as they were in a state.
type tunedAt struct {
	state    document.State
	settings *settings
}

// maxTuned is how many workspaces' settings are kept.
const maxTuned = 1_000

// read calls do with a reader that finds everything that was committed before, wherever the index is.
func (s *Service) read(ctx context.Context, workspaceID string, do func(Reader, *settings) error) error {
	if s.remote.Elsewhere != nil {
		there, err := s.remote.Has(ctx, workspaceID)
		if err != nil {
			return err
		}
		if there {
			return s.readElsewhere(ctx, workspaceID, do)
		}
	}
	err := s.indexer.read(ctx, workspaceID, func(snapshot *index.Snapshot, tuned *settings) error {
		return do(&local{snapshot}, tuned)
	})
	if errors.Is(err, errMoved) {
		return s.readElsewhere(ctx, workspaceID, do)
	}
	return err
}

func (s *Service) readElsewhere(ctx context.Context, workspaceID string, do func(Reader, *settings) error) error {
	x := s.indexer
	waiting, cancel := context.WithTimeout(ctx, x.o.Wait)
	defer cancel()
	state, err := s.remote.states.read(waiting, workspaceID)
	if err != nil {
		return inTime(waiting, fmt.Errorf("read the state of the documents: %w", err))
	}
	if state.Change == 0 {
		return do(&local{index.Empty()}, noSettings)
	}
	tuned, err := s.remote.settings(waiting, x, workspaceID, state)
	if err != nil {
		return inTime(waiting, err)
	}
	r, err := s.remote.Open(ctx, workspaceID, state)
	if err != nil {
		return err
	}
	return do(r, tuned)
}

// inTime returns problem.Unavailable for an error of a database that did not answer while a search waited for it.
func inTime(waiting context.Context, err error) error {
	if waiting.Err() != nil || errors.Is(err, context.DeadlineExceeded) { // the question's own timeout can end slightly earlier
		return errBehind.Because(err)
	}
	return err
}

// settings returns those of a workspace in a state.
func (r *remote) settings(ctx context.Context, x *Indexer, workspaceID string, state document.State) (*settings, error) {
	if x.o.Settings == nil {
		return noSettings, nil
	}
	r.mu.Lock()
	kept := r.tuned[workspaceID]
	r.mu.Unlock()
	if kept.settings != nil && kept.state == state {
		return kept.settings, nil
	}
	list, err := x.o.Settings.CollectionSettings(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("read settings of collections: %w", err)
	}
	kept = tunedAt{state, settingsOf(x.analyzer, list)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tuned == nil || len(r.tuned) >= maxTuned {
		r.tuned = map[string]tunedAt{}
	}
	r.tuned[workspaceID] = kept
	return kept.settings, nil
}

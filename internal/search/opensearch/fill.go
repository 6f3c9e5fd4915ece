package opensearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// filled is a generation with what this process knows of its content.
type filled struct {
	*generation
	has        document.State // what it contains; without a mark if that is not all of a state; with the number unknown: read it
	seen       document.State // the last state of which it can contain changes; empty: none
	batch      int            // changes to read at once
	dictionary dictionary
}

const unknown = -1

// of returns what is known of a generation: f, if it is the same one.
func (f *filled) of(g *generation) *filled {
	switch {
	case g == nil:
		return nil
	case f != nil && f.index == g.index:
		f.generation = g
		return f
	}
	return &filled{generation: g, has: document.State{Change: unknown}, batch: firstBatch, dictionary: dictionary{words: map[string]bool{}}}
}

// The number of changes that are stored at once. It is small if documents are long.
const (
	firstBatch = 64
	minBatch   = 16
	maxBatch   = 1_024
	longBatch  = 4 << 20 // bytes of text above which the next batch is smaller
	shortBatch = 1 << 20 // bytes of text below which the next batch is larger
	atOnce     = 4 << 20 // bytes of JSON in a request
	fewChanges = 16      // for which a client perhaps waits
	maxWords   = 200_000 // that are remembered
)

// advance stores the next changes in an index. now is the state of the documents, which was read before. more means that there are more.
// The error is document.ErrLost if the index can contain changes that the database has lost.
func (w *worker) advance(ctx context.Context, f *filled, now document.State) (more bool, err error) {
	if f.has.Change == unknown {
		if err := w.remember(ctx, f); err != nil {
			return false, err
		}
	}
	if f.has.Ahead(now) {
		// Another process can have stored later changes since now was read, but numbers only rise.
		if now, err = w.o.Source.State(ctx, w.id); err != nil {
			return false, fmt.Errorf("read the state of the documents: %w", err)
		}
		if f.has.Ahead(now) {
			return false, document.ErrLost
		}
	}
	if f.has == now {
		return false, nil
	}
	changes, seen, err := w.changes(ctx, f)
	if err != nil {
		return false, err
	}
	if changes.Last <= f.has.Change {
		return false, fmt.Errorf("there are no changes after %d, though the last is %d", f.has.Change, seen.Change)
	}
	if seen != f.seen {
		err := w.o.Client.setPosition(ctx, f.index+wordsEnd+writeEnd, seen)
		if f.dictionary.changed(1, err); err != nil {
			f.has.Change = unknown
			return false, err
		}
		f.seen = seen
	}
	if err := w.store(ctx, f, changes); err != nil {
		f.batch = max(minBatch, f.batch/2)
		return false, err
	}
	has := document.State{Change: changes.Last}
	if has.Change == seen.Change {
		has = seen
	}
	if err := w.o.Client.setPosition(ctx, f.index+writeEnd, has); err != nil {
		f.has.Change = unknown // another process is ahead, or the outcome is not known
		return false, err
	}
	f.has = has
	switch {
	case changes.Bytes > longBatch:
		f.batch = max(minBatch, f.batch/2)
	case changes.Bytes < shortBatch && len(changes.List) >= f.batch:
		f.batch = min(maxBatch, f.batch*2)
	}
	if changes.Settings {
		w.check = time.Time{} // documents are perhaps to be indexed in another way
	}
	return f.has.Change < now.Change, nil
}

// remember reads what an index contains.
func (w *worker) remember(ctx context.Context, f *filled) error {
	has, _, err := w.o.Client.position(ctx, f.index+writeEnd)
	if err != nil {
		return err
	}
	seen, _, err := w.o.Client.position(ctx, f.index+wordsEnd+writeEnd)
	if err != nil {
		return err
	}
	f.seen = seen
	if seen == (document.State{}) {
		if has.Change > 0 {
			return document.ErrLost // it was changed by hand
		}
	} else if had, err := w.o.Source.HadState(ctx, w.id, seen); err != nil {
		return fmt.Errorf("look for a state of the documents: %w", err)
	} else if !had {
		return w.lost(ctx, f)
	}
	f.has = has
	return nil
}

// changes reads the next changes for an index, and returns a state of the documents that has them.
func (w *worker) changes(ctx context.Context, f *filled) (*Changes, document.State, error) {
	from := document.Following{After: f.has.Change, Limit: f.batch, Has: f.seen}
	changes, seen, err := w.o.Source.Follow(ctx, w.id, from)
	if errors.Is(err, document.ErrLost) {
		err = w.lost(ctx, f)
	}
	if err != nil {
		return nil, seen, fmt.Errorf("read changes after %d: %w", f.has.Change, err)
	}
	return changes, seen, nil
}

// lost returns document.ErrLost if an index was not written by another process since f.seen was read. Then the database has perhaps
// forgotten the state.
func (w *worker) lost(ctx context.Context, f *filled) error {
	seen, _, err := w.o.Client.position(ctx, f.index+wordsEnd+writeEnd)
	if err != nil {
		return err
	}
	if seen == f.seen {
		return document.ErrLost
	}
	f.has.Change = unknown
	return &Error{State: Conflicting, Type: "another process follows the index"}
}

// store stores changes: first the words, so that none is missing in the dictionary.
func (w *worker) store(ctx context.Context, f *filled, changes *Changes) error {
	if err := f.dictionary.trust(ctx, w.o.Client, f.index+wordsEnd); err != nil {
		return err
	}
	var documents, words []Action
	encode := func() error {
		documents, words = w.actions(f, changes.List)
		return nil
	}
	if len(changes.List) > fewChanges {
		if err := w.o.Background(ctx, encode); err != nil {
			return err
		}
	} else {
		_ = encode()
	}
	stored, err := w.send(ctx, f.index+wordsEnd+writeEnd, words)
	if f.dictionary.changed(stored, err); err != nil {
		return err
	}
	if _, err := w.send(ctx, f.index+writeEnd, documents); err != nil {
		return err
	}
	if len(f.dictionary.words)+len(words) > maxWords {
		clear(f.dictionary.words)
	}
	for i := range words {
		f.dictionary.words[words[i].ID] = true
	}
	return nil
}

// send stores actions, and returns how many were not stored before.
func (w *worker) send(ctx context.Context, alias string, actions []Action) (stored int, err error) {
	for len(actions) > 0 {
		var some []Action
		some, actions = cut(actions, atOnce)
		n, err := w.o.Client.bulk(ctx, alias, some)
		if err != nil {
			return stored, err
		}
		stored += n
	}
	return stored, nil
}

// actions returns what to store. Of several changes of a document only the last one is among changes. A deleted document is replaced by
// one of the same ID, because OpenSearch soon forgets the version of a deletion, and a request of before that arrives late would
// bring the document back.
func (w *worker) actions(f *filled, changes []index.Change) (documents, words []Action) {
	fresh := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		if c.Document == nil {
			documents = append(documents, Action{ID: c.ID, Version: c.Number, Body: Gone(w.o.Now())})
			continue
		}
		body, found := w.o.Writer.Document(c.ID, c.Document)
		documents = append(documents, Action{ID: c.ID, Version: c.Number, Body: body})
		for _, word := range found {
			if !f.dictionary.words[word] && !fresh[word] {
				fresh[word] = true
				words = append(words, Action{ID: word, Body: Word(word)})
			}
		}
	}
	return documents, words
}

// cut splits off the first actions, whose bodies have at most the given bytes, and at least one.
func cut(actions []Action, most int) (some, rest []Action) {
	n, bytes := 0, 0
	for n < len(actions) {
		bytes += len(actions[n].Body)
		if n > 0 && bytes > most {
			break
		}
		n++
	}
	return actions[:n], actions[n:]
}

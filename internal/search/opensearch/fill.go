package opensearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/search/index"
)

// filled is a generation with what this process knows of its content.
type filled struct {
	*generation
	position int64           // the last change in it; unknown: read it
	batch    int             // changes to read at once
	words    map[string]bool // that are in the dictionary
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
	return &filled{generation: g, position: unknown, batch: firstBatch, words: map[string]bool{}}
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

// errAhead is an index with changes that the database does not have.
var errAhead = errors.New("the index is ahead of the documents")

// advance stores the next changes in an index. more means that there are more.
func (w *worker) advance(ctx context.Context, f *filled, last int64) (more bool, err error) {
	if f.position == unknown {
		// The number of the last change was read before, but it only rises: a position above it has to be compared with a newer one.
		if f.position, _, err = w.o.Client.position(ctx, f.index+writeEnd); err != nil {
			f.position = unknown
			return false, err
		}
	}
	if f.position > last {
		return false, w.compare(ctx, f.position)
	}
	if f.position == last {
		return false, nil
	}
	changes, err := w.o.Source.Changes(ctx, w.id, f.position, f.batch)
	if err != nil {
		return false, fmt.Errorf("read changes after %d: %w", f.position, err)
	}
	if changes.Last <= f.position {
		return false, fmt.Errorf("there are no changes after %d, though the last is %d", f.position, last)
	}
	if err := w.store(ctx, f, changes); err != nil {
		f.batch = max(minBatch, f.batch/2)
		return false, err
	}
	// If the database has lost changes since they were read, they must not stay.
	if err := w.compare(ctx, changes.Last); err != nil {
		return false, err
	}
	if err := w.o.Client.setPosition(ctx, f.index+writeEnd, changes.Last); err != nil {
		f.position = unknown // another process is ahead, or the outcome is not known
		return false, err
	}
	f.position = changes.Last
	switch {
	case changes.Bytes > longBatch:
		f.batch = max(minBatch, f.batch/2)
	case changes.Bytes < shortBatch && len(changes.List) >= f.batch:
		f.batch = min(maxBatch, f.batch*2)
	}
	if changes.Settings {
		w.check = time.Time{} // documents are perhaps to be indexed in another way
	}
	return f.position < last, nil
}

// compare returns errAhead if the database does not have a change.
func (w *worker) compare(ctx context.Context, change int64) error {
	last, err := w.o.Source.LastChange(ctx, w.id)
	if err != nil {
		return fmt.Errorf("read the number of the last change: %w", err)
	}
	if change > last {
		return errAhead
	}
	return nil
}

// store stores changes: first the words, so that none is missing in the dictionary.
func (w *worker) store(ctx context.Context, f *filled, changes *Changes) error {
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
	for _, part := range []struct {
		alias   string
		actions []Action
	}{{f.index + wordsEnd + writeEnd, words}, {f.index + writeEnd, documents}} {
		for rest := part.actions; len(rest) > 0; {
			var some []Action
			some, rest = cut(rest, atOnce)
			if err := w.o.Client.Bulk(ctx, part.alias, some); err != nil {
				return err
			}
		}
	}
	if len(f.words)+len(words) > maxWords {
		clear(f.words)
	}
	for i := range words {
		f.words[words[i].ID] = true
	}
	return nil
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
			if !f.words[word] && !fresh[word] {
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

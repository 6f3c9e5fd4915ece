package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	keepsake "keepsake/client"
)

// ledger knows the documents that one client has written to a workspace, each with a word that no other has. The client writes one
// after the other, and repeats a write until it is acknowledged.
type ledger struct {
	*tenancy
	name string // in the IDs

	mu      sync.Mutex
	has     map[string]string // the word of each document that was acknowledged
	gone    []string          // words that no document has any more
	open    map[string]bool   // IDs of documents whose last write was not acknowledged
	streams int               // documents of imports that were acknowledged
	number  int               // of words
}

// The collections of ledgers.
const (
	moving    = "moving"    // documents that are written one by one
	streaming = "streaming" // documents that are imported
)

func newLedger(t *tenancy, name string) *ledger {
	return &ledger{tenancy: t, name: name, has: map[string]string{}, open: map[string]bool{}}
}

// word returns a new word, of letters and with an end that no language has.
func (l *ledger) word() string {
	l.number++
	return "zq" + strings.Map(letter, l.name+fmt.Sprintf("%06d", l.number)) + "zx"
}

// write does the step n: of four steps, two create a document, one replaces the first and one deletes the second.
func (l *ledger) write(n int, until context.Context, tally *tally) {
	id := func(n int) string { return fmt.Sprintf("%s-%d", l.name, n) }
	switch n % 4 {
	case 0, 1:
		l.put(id(n), until, tally)
	case 2:
		l.put(id(n-2), until, tally)
	default:
		l.remove(id(n-2), until, tally)
	}
}

func (l *ledger) put(id string, until context.Context, tally *tally) {
	l.mu.Lock()
	word := l.word()
	l.open[id] = true
	l.mu.Unlock()
	body, err := json.Marshal(map[string]string{"collection": moving, "title": word, "text": "one that changes"})
	if err != nil || !l.repeat(until, tally, http.MethodPut, "/api/v1/documents/"+id, body) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(id)
	l.has[id] = word
}

func (l *ledger) remove(id string, until context.Context, tally *tally) {
	l.mu.Lock()
	l.open[id] = true
	l.mu.Unlock()
	if !l.repeat(until, tally, http.MethodDelete, "/api/v1/documents/"+id, nil) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(id)
	delete(l.has, id)
}

// settle records that the change of a document was acknowledged, so that what it said before is gone. The caller holds mu.
func (l *ledger) settle(id string) {
	delete(l.open, id)
	if before := l.has[id]; before != "" {
		l.gone = append(l.gone, before)
	}
}

// stream imports some documents.
func (l *ledger) stream(n int, until context.Context, tally *tally) {
	const each = 50
	var lines bytes.Buffer
	for i := range each {
		lines.Write(lineOf(fmt.Sprintf("%s-%d-%d", l.name, n, i), streaming, "a stream", l.queries[(n*each+i)%len(l.queries)]))
	}
	if l.repeat(until, tally, http.MethodPost, "/api/v1/documents/import", lines.Bytes()) {
		l.mu.Lock()
		l.streams += each
		l.mu.Unlock()
	}
}

// repeat sends a write until it is acknowledged, and reports whether it is.
func (l *ledger) repeat(until context.Context, tally *tally, method, path string, body []byte) bool {
	for try := 0; ; try++ {
		began := time.Now()
		status, answer, err := l.do(method, path, body)
		good := status >= 200 && status < 300 || try > 0 && method == http.MethodDelete && status == http.StatusNotFound
		tally.add(outcome{took: time.Since(began), status: status, good: good, again: try > 0, text: textOf(answer, err)})
		if good {
			return true
		}
		select {
		case <-until.Done():
			return false
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func textOf(answer []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(string(answer[:min(len(answer), 200)])), " ")
}

// audited is the difference between the database and what searches find.
type audited struct {
	written  int // documents that must be found
	absent   int // acknowledged, but not in the database
	lost     int // in the database, but not found
	ghosts   int // words of deleted and replaced documents that are found
	counted  int // documents of collections of which the searches find another number than the database has
	examples []string
}

func (a *audited) add(o audited) {
	a.written, a.absent, a.lost, a.ghosts, a.counted = a.written+o.written, a.absent+o.absent, a.lost+o.lost, a.ghosts+o.ghosts, a.counted+o.counted
	a.examples = append(a.examples, o.examples...)
}

func (a *audited) String() string {
	if a.absent+a.lost+a.ghosts+a.counted == 0 {
		return fmt.Sprintf("%d written, none lost, no ghost", a.written)
	}
	return fmt.Sprintf("%d written, %d not in the database, %d lost, %d ghosts, %d counted differently: %s", a.written, a.absent, a.lost, a.ghosts,
		a.counted, strings.Join(a.examples[:min(5, len(a.examples))], ", "))
}

// audit compares searches with the ledger, and what the ledger does not know with the database.
func (l *ledger) audit() (a audited, err error) {
	c, err := l.client()
	if err != nil {
		return a, err
	}
	stored, err := l.stored(c)
	if err != nil {
		return a, fmt.Errorf("export documents: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.open { // the database decides
		delete(l.has, id)
		if word, ok := stored[id]; ok {
			l.has[id] = word
		}
		delete(l.open, id)
	}
	a.written = len(l.has) + l.streams
	for id, word := range stored {
		if strings.HasPrefix(id, l.name+"-") && l.has[id] != word {
			a.absent++
			a.examples = append(a.examples, "the database has "+id+" with another word")
		}
	}
	words := map[string]bool{} // whether it must be found
	for id, word := range l.has {
		if stored[id] == "" {
			a.absent++
			a.examples = append(a.examples, id+" is not in the database")
		}
		words[word] = true
	}
	for _, word := range l.gone {
		words[word] = false
	}
	return a, l.find(c, words, &a)
}

// stored reads the words of the documents in the database.
func (l *ledger) stored(c *keepsake.Client) (map[string]string, error) {
	all := map[string]string{}
	in, out := io.Pipe()
	go func() { out.CloseWithError(c.ExportDocuments(context.Background(), moving, out)) }()
	defer in.Close()
	for lines := json.NewDecoder(in); ; {
		var d struct{ ID, Title string }
		if err := lines.Decode(&d); err != nil {
			if err == io.EOF {
				return all, nil
			}
			return nil, err
		}
		all[d.ID] = d.Title
	}
}

func (l *ledger) find(c *keepsake.Client, words map[string]bool, a *audited) error {
	list := make([]string, 0, len(words))
	for word := range words {
		list = append(list, word)
	}
	one := 1
	for some := range slices.Chunk(list, 20) {
		var searches []keepsake.Query
		for _, word := range some {
			searches = append(searches, keepsake.Query{Q: word, Fuzzy: "off", Prefix: "false", Limit: &one})
		}
		outcomes, err := c.SearchMulti(context.Background(), searches)
		if err != nil {
			return fmt.Errorf("search %d words: %w", len(some), err)
		}
		for i, word := range some {
			switch o := outcomes[i]; {
			case o.Err != nil:
				return fmt.Errorf("search a word: %w", o.Err)
			case words[word] && o.Found.Total != 1:
				a.lost++
				a.examples = append(a.examples, fmt.Sprintf("%s is found %d times", word, o.Found.Total))
			case !words[word] && o.Found.Total != 0:
				a.ghosts++
				a.examples = append(a.examples, word+" is found")
			}
		}
	}
	return nil
}

// counts compares the numbers of documents of the collections.
func (t *tenancy) counts() (a audited, err error) {
	c, err := t.client()
	if err != nil {
		return a, err
	}
	page, err := c.ListCollections(context.Background(), keepsake.CollectionQuery{})
	if err != nil {
		return a, fmt.Errorf("count documents: %w", err)
	}
	found, err := c.Search(context.Background(), keepsake.Query{Q: "*", Facets: []string{"collection"}})
	if err != nil {
		return a, fmt.Errorf("count documents that are found: %w", err)
	}
	has := map[string]int64{}
	for _, f := range found.Facets["collection"] {
		has[fmt.Sprint(f.Value)] = f.Count
	}
	for _, in := range page.Items {
		if has[in.Collection] != in.Documents {
			a.counted++
			a.examples = append(a.examples, fmt.Sprintf("%s of %s has %d documents and %d are found", in.Collection, t.name, in.Documents, has[in.Collection]))
		}
	}
	return a, nil
}

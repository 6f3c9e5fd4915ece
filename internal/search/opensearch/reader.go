package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"keepsake/internal/base/text"
	"keepsake/internal/search"
	"keepsake/internal/search/index"
)

// What differs from an index of the program: a stem that is more than ten times in a title counts as if it were there ten times, and
// from 64 times in a text on, its frequency is rounded down by at most a sixteenth; of more than a thousand words that are similar to a
// misspelled one, the first thousand are looked at; the words of documents that were deleted, which the dictionary still has, can take
// the place of others among the 64 that share most parts with a word; and with several shards, facets can miss rare values. The rest is
// the same, also the scores, except that sums above 1,024 are rounded.

// Reader reads the indexes of a workspace, as an index.Snapshot is read. It first asks what it has to know, which it keeps, and then
// searches.
type Reader struct {
	ctx       context.Context // of the search
	client    *Client
	documents string // names of the indexes, or aliases
	words     string
	answers   *Answers
	fields    []index.FieldWeight
	foresees  *asker                          // notes what is asked, for a search that begins later; nil: it is asked
	doubt     func(ctx context.Context) error // returns an error if the index does not answer at all; nil: it is not asked
}

// NewReader returns a Reader for one search. answers are those after the last change that the search must see.
func NewReader(ctx context.Context, c *Client, documents, words string, answers *Answers) *Reader {
	return &Reader{ctx: ctx, client: c, documents: documents, words: words, answers: answers}
}

// LookIn lets Near, Count and Begins also look for words in entries of metadata.
func (r *Reader) LookIn(fields []index.FieldWeight) { r.fields = fields }

// Expect asks in few requests for most of what a search will ask for.
func (r *Reader) Expect(query func() *index.Query, all func(search.Reader) error) error {
	q := query()
	err := r.rounds(func(a *asker) error {
		for i := range q.Any {
			if _, err := r.remote(a).Count(q.Any[i].Stem, q.Any[i].Word, q.Scope); err != nil {
				return err
			}
		}
		if _, err := index.NewPlan(q, a); err != nil {
			return err
		}
		ahead := *r
		ahead.foresees = a
		return all(&ahead)
	})
	if errors.Is(err, errRounds) {
		return nil // the rest is asked when it is needed
	}
	return err
}

// Languages returns the languages of the documents.
func (r *Reader) Languages() (set text.LanguageSet, err error) {
	err = r.settle(func(in index.Elsewhere) error {
		set = in.Statistics("").Languages
		return nil
	})
	return set, err
}

// Count is described at index.Snapshot, like the methods below.
func (r *Reader) Count(stem, word, scope string, step index.Step) (docs int64, err error) {
	count := func(in index.Elsewhere) (err error) {
		docs, err = r.remote(in).Count(stem, word, scope)
		return err
	}
	if r.foresees == nil {
		err = r.settle(count)
		return docs, err
	}
	blind, err := r.foresees.ahead(count)
	if blind {
		return 0, errBlind // a word that documents have leads to other questions than one that they do not have
	}
	return docs, err
}

// Begins reports whether a document of the scope has a word that begins with one.
func (r *Reader) Begins(word, scope string, step index.Step) (begins bool, err error) {
	err = r.settle(func(in index.Elsewhere) error {
		begins = r.remote(in).Begins(word, scope)
		return nil
	})
	return begins, err
}

// Near returns words that are spelled nearly like one.
func (r *Reader) Near(word string, edits, shared int, scope string, step index.Step) (list []index.Neighbour, err error) {
	err = r.settle(func(in index.Elsewhere) (err error) {
		list, err = r.remote(in).Near(word, edits, shared, scope)
		return err
	})
	return list, err
}

// Search finds documents.
func (r *Reader) Search(q *index.Query, step index.Step) (*index.Found, error) {
	var plan *index.Plan
	err := r.settle(func(in index.Elsewhere) (err error) {
		plan, err = index.NewPlan(q, in)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.foresees != nil {
		return plan.Found, nil
	}
	if findsNothing(plan) {
		return foundOf(q, plan, &found{})
	}
	answer, err := r.post("/"+url.PathEscape(r.documents)+"/_search"+wholeAndCurrent, searchBody(q, plan))
	if err != nil {
		return nil, away(fmt.Errorf("search: %w", err))
	}
	f, err := readFound(answer)
	if err != nil {
		return nil, err
	}
	return foundOf(q, plan, f)
}

// wholeAndCurrent are the parameters of searches that see everything that was stored before the last refresh.
const wholeAndCurrent = "?allow_partial_search_results=false&preference=_primary"

// doubtAfter is how long a search waits for an answer before it looks whether the index answers at all, and then again.
const doubtAfter = 500 * time.Millisecond

// post sends a request of the search. It waits for a node that has much to do, but not for one that hangs.
func (r *Reader) post(path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	if r.doubt != nil {
		timer := time.AfterFunc(doubtAfter, func() {
			for ctx.Err() == nil {
				if err := r.doubt(ctx); err != nil {
					cancel(unavailable(err))
				}
				select {
				case <-ctx.Done():
				case <-time.After(doubtAfter):
				}
			}
		})
		defer timer.Stop()
	}
	answer, err := r.client.Do(ctx, http.MethodPost, path, body)
	if err != nil && r.ctx.Err() == nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return answer, err
}

func (r *Reader) remote(in index.Elsewhere) *index.Remote {
	return &index.Remote{In: in, Fields: r.fields}
}

// errBlind ends what is read ahead when it depends on the answer to a question that was not asked yet.
var errBlind = errors.New("a question has no answer yet")

var errRounds = &Error{State: Failed, Type: "a search has too many questions"}

// maxRounds is how often a search asks, which it does until it knows everything. Each answer can lead to other questions.
const maxRounds = 12

// settle runs do with answers, or ahead of a search, with those that there are.
func (r *Reader) settle(do func(index.Elsewhere) error) error {
	if r.foresees != nil {
		_, err := r.foresees.ahead(do)
		return err
	}
	return r.rounds(func(a *asker) error { return do(a) })
}

// rounds runs do with answers, until it has asked for none that are missing.
func (r *Reader) rounds(do func(*asker) error) error {
	known := map[string]any{}
	for range maxRounds {
		a := newAsker(known, r.answers)
		err := do(a)
		if len(a.missing) == 0 {
			return err
		}
		if err := r.answer(known, a.missing); err != nil {
			return err
		}
	}
	return errRounds
}

// answer adds the answers to questions to known.
func (r *Reader) answer(known map[string]any, questions []question) error {
	open, err := r.answerTerms(known, questions)
	if err != nil || len(open) == 0 {
		return err
	}
	var body []byte
	for _, q := range open {
		name := r.documents
		if q.dictionary {
			name = r.words
		}
		body = append(body, encode(object{"index": name, "preference": "_primary", "allow_partial_search_results": false})...)
		body = append(append(append(body, '\n'), encode(q.body())...), '\n')
	}
	data, err := r.post("/_msearch", body)
	if err != nil {
		return away(fmt.Errorf("count documents: %w", err))
	}
	var all struct {
		Responses []found `json:"responses"`
	}
	if err := json.Unmarshal(data, &all); err != nil || len(all.Responses) != len(open) {
		return &Error{State: Failed, Status: http.StatusOK, Type: "the answer to several searches cannot be read", cause: err}
	}
	for i, q := range open {
		f := &all.Responses[i]
		if f.Status != http.StatusOK {
			return away(fmt.Errorf("count documents: %w", f.Error.failure(f.Status)))
		}
		if !q.dictionary {
			r.answers.keep(shardsKey, f.Shards.Total)
		}
		r.keep(known, q.key, q.read(f))
	}
	return nil
}

func (r *Reader) keep(known map[string]any, key string, answer any) {
	known[key] = answer
	r.answers.keep(key, answer)
}

// shardsKey is the key of the number of shards of the documents.
const shardsKey = "shards"

// manyTerms is from how many terms on it takes less time to ask for all of them first: of the other spellings of a query, most are in no
// document.
const manyTerms = 4

// wholeKey is the key of whether the files of an index had no deleted documents when that was last seen.
const wholeKey = "whole"

// answerTerms answers how many documents have terms, as the files of the index have it, and returns the other questions. The files count
// deleted documents, too, until these are removed, so all that they tell then is which terms no document has. An index with several shards
// cannot be asked for that.
func (r *Reader) answerTerms(known map[string]any, questions []question) (others []question, err error) {
	whole, _ := r.answers.before.of(wholeKey)
	all, counted := r.answers.now.of(statisticsKey)
	terms := map[string][]string{}
	n := 0
	for _, q := range questions {
		if q.term != "" && (q.rare || whole == true && counted && !q.scoped) {
			field, value := fieldOf(q.term)
			terms[field] = append(terms[field], value)
			n++
		}
	}
	if shards, _ := r.answers.before.of(shardsKey); shards != 1 || n < manyTerms {
		return questions, nil
	}
	document := object{fieldKeys: "-"} // of which it tells how many documents have any: all have the key of a collection
	for field, values := range terms {
		document[field] = strings.Join(values, " ")
	}
	data, err := r.post("/"+url.PathEscape(r.documents)+"/_termvectors?preference=_primary", encode(object{
		"doc": document, "term_statistics": true, "field_statistics": true, "positions": false, "offsets": false, "payloads": false,
	}))
	if err != nil {
		return nil, away(fmt.Errorf("ask for terms: %w", err))
	}
	var answer struct {
		Fields map[string]struct {
			Statistics struct {
				Documents int64 `json:"doc_count"`
			} `json:"field_statistics"`
			Terms map[string]struct {
				Documents int64 `json:"doc_freq"`
			} `json:"terms"`
		} `json:"term_vectors"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, &Error{State: Failed, Status: http.StatusOK, Type: "the answer about terms cannot be read", cause: err}
	}
	exact := false
	if counted {
		exact = answer.Fields[fieldKeys].Statistics.Documents == all.(index.Statistics).Docs
		r.answers.before.keep(wholeKey, exact)
	}
	for _, q := range questions {
		if q.term != "" {
			field, value := fieldOf(q.term)
			if term, ok := answer.Fields[field].Terms[value]; ok && (term.Documents == 0 || exact && !q.scoped) {
				r.keep(known, q.key, term.Documents)
				continue
			}
		}
		others = append(others, q)
	}
	return others, nil
}

// away returns problem.Unavailable for a failure that says nothing about the search, and else the error.
func away(err error) error {
	switch StateOf(err) {
	case Unreachable, Denied, Throttled, Unavailable, Missing, Closed:
		return unavailable(err)
	default:
		return err
	}
}

// foundOf returns what a search has found.
func foundOf(q *index.Query, p *index.Plan, f *found) (*index.Found, error) {
	out := p.Found
	out.Total = f.Hits.Total.Value
	for i := range f.Hits.Hits {
		h := &f.Hits.Hits[i]
		hit, ok := hitOf(q, h)
		if !ok {
			return nil, &Error{State: Failed, Status: http.StatusOK, Type: "a hit lacks what it is sorted by"}
		}
		out.Hits = append(out.Hits, hit)
	}
	for i := range q.Facets {
		counts := index.Counts{ByTerm: map[string]int64{}, Complete: true}
		terms := f.Aggregations[facetName(i)]
		for _, b := range terms.Buckets {
			if key, ok := b.Key.(string); ok {
				counts.ByTerm[unlatin(key)] = b.Count
			}
		}
		counts.Complete = terms.Others == 0
		out.Facets = append(out.Facets, counts)
	}
	return out, nil
}

func hitOf(q *index.Query, h *foundHit) (hit index.Hit, ok bool) {
	if len(h.Sort) != 2 || h.Score == nil || len(h.Fields[fieldLanguage]) != 1 {
		return hit, false
	}
	key, ok1 := h.Sort[0].(float64)
	id, ok2 := h.Sort[1].(string)
	hit.Place = index.Place{Key: keyOf(q.Sort, int64(key)), ID: id}
	hit.Score = *h.Score / index.ScaleUnit
	hit.Language = languageOf(h.Fields[fieldLanguage][0])
	return hit, ok1 && ok2
}

// languageOf returns the language with a number, or English.
func languageOf(number any) text.Language {
	n := 0
	switch number := number.(type) {
	case float64:
		n = int(number)
	case string:
		n, _ = strconv.Atoi(number)
	}
	if n < 0 || n >= int(text.Languages) {
		return text.English
	}
	return text.Language(n)
}

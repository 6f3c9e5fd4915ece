package opensearch

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"keepsake/internal/search/index"
)

// Answers are what a workspace's indexes answered after one change: counts of documents, and words of the dictionary. They are safe for
// concurrent use.
type Answers struct {
	mu      sync.Mutex
	known   map[string]any     // by the key of a question
	earlier map[string]counted // by scope; not changed
}

// maxAnswers is how many answers are kept.
const maxAnswers = 20_000

// NewAnswers returns Answers that know nothing.
func NewAnswers() *Answers { return &Answers{known: map[string]any{}} }

// next returns Answers after another change of the same index. a are those after change.
func (a *Answers) next(change, next int64) *Answers {
	n := NewAnswers()
	n.earlier = map[string]counted{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for scope, c := range a.earlier {
		if c.holds(next) {
			n.earlier[scope] = c
		}
	}
	for key, answer := range a.known {
		scope, ok := strings.CutPrefix(key, statisticsKey)
		if !ok {
			continue
		}
		if c := (counted{answer.(index.Statistics), change}); c.holds(next) {
			n.earlier[scope] = c
		}
	}
	return n
}

func (a *Answers) of(key string) (answer any, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, ok = a.known[key]
	return answer, ok
}

func (a *Answers) keep(key string, answer any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= maxAnswers {
		clear(a.known)
	}
	a.known[key] = answer
}

// question is a search whose hits tell something.
type question struct {
	key        string
	dictionary bool   // it is for the dictionary, not for the documents
	term       string // of which it counts the documents, if that is all
	body       object
	read       func(*found) any
}

// found is the answer to a search.
type found struct {
	Status int      `json:"status"`
	Error  reported `json:"error"`
	Shards struct {
		Total int `json:"total"`
	} `json:"_shards"`
	Hits struct {
		Total struct {
			Value int64 `json:"value"`
		} `json:"total"`
		Hits []foundHit `json:"hits"`
	} `json:"hits"`
	Aggregations map[string]aggregation `json:"aggregations"`
}

type foundHit struct {
	Score  *float64         `json:"_score"`
	Sort   []any            `json:"sort"`
	Fields map[string][]any `json:"fields"`
}

type aggregation struct {
	Value   float64 `json:"value"`
	Others  int64   `json:"sum_other_doc_count"`
	Buckets []struct {
		Key   any   `json:"key"`
		Count int64 `json:"doc_count"`
	} `json:"buckets"`
}

// asker knows answers, and notes the questions that have none yet. Their answer is nothing, meanwhile. It implements index.Elsewhere.
type asker struct {
	earlier map[string]counted
	known   map[string]any
	missing []question
	noted   map[string]bool
}

func ask[T any](a *asker, q question) (answer T) {
	if known, ok := a.known[q.key]; ok {
		return known.(T)
	}
	if !a.noted[q.key] {
		a.noted[q.key] = true
		a.missing = append(a.missing, q)
	}
	return answer
}

// Count implements index.Elsewhere.
func (a *asker) Count(scope string, c *index.Condition) int64 {
	query := conditionQuery(c)
	if scope != "" {
		query = object{"bool": object{"filter": []object{query, scopeQuery(scope)}}}
	}
	return ask[int64](a, question{
		key:  "count " + string(encode(query)),
		term: termOf(c),
		body: object{"size": 0, "track_total_hits": true, "query": query},
		read: func(f *found) any { return f.Hits.Total.Value },
	})
}

// termOf returns the term that a condition is about, or nothing.
func termOf(c *index.Condition) string {
	if len(c.Any) != 1 || c.Marked != nil || len(c.Phrases) > 0 {
		return ""
	}
	term, ok := c.Any[0].Term()
	if kind, _, _ := index.KindOf(term); !ok || kind != index.StemTerm && kind != index.WordTerm {
		return ""
	}
	return term
}

// The most words that are asked of the dictionary at once.
const (
	mostAlike = 64
	mostNear  = 1_000
)

// Alike implements index.Elsewhere.
func (a *asker) Alike(of []uint32, least int) []string {
	text := grams(of)
	return ask[[]string](a, question{
		key: fmt.Sprint("alike ", least, " ", text), dictionary: true,
		body: wordsBody(mostAlike, object{"match": object{fieldGrams: object{"query": text, "minimum_should_match": least}}}),
		read: wordsOf,
	})
}

// Near implements index.Elsewhere.
func (a *asker) Near(word string, edits, shared int) []string {
	return ask[[]string](a, question{
		key: fmt.Sprint("near ", edits, " ", shared, " ", word), dictionary: true,
		body: wordsBody(mostNear, object{"fuzzy": object{fieldWord: object{
			"value": word, "fuzziness": edits, "prefix_length": shared, "transpositions": true, "rewrite": "constant_score",
		}}}),
		read: wordsOf,
	})
}

func wordsBody(size int, query object) object {
	return object{
		"size": size, "track_total_hits": false, "_source": false, "stored_fields": "_none_", "query": query,
		"sort": []object{{"_score": object{"order": "desc"}}, {fieldWord: object{"order": "asc"}}},
	}
}

func wordsOf(f *found) any {
	words := make([]string, 0, len(f.Hits.Hits))
	for _, h := range f.Hits.Hits {
		if word, ok := h.Sort[len(h.Sort)-1].(string); ok {
			words = append(words, word)
		}
	}
	return words
}

// readFound reads the answer to one search.
func readFound(data []byte) (*found, error) {
	f := &found{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, &Error{State: Failed, Type: "the answer to a search cannot be read", cause: err}
	}
	return f, nil
}

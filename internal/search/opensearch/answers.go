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
	now     *answerMap
	before  *answerMap         // the last answers after any change of the same index, which are guesses
	earlier map[string]counted // by scope; not changed
}

// NewAnswers returns Answers that know nothing.
func NewAnswers() *Answers { return &Answers{now: newAnswerMap(), before: newAnswerMap()} }

// Next returns Answers after another change of the same index. a are those after change.
func (a *Answers) Next(change, next int64) *Answers {
	n := &Answers{now: newAnswerMap(), before: a.before, earlier: map[string]counted{}}
	for scope, c := range a.earlier {
		if c.holds(next) {
			n.earlier[scope] = c
		}
	}
	a.now.mu.Lock()
	defer a.now.mu.Unlock()
	for key, answer := range a.now.known {
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

func (a *Answers) keep(key string, answer any) {
	a.now.keep(key, answer)
	a.before.keep(key, answer)
}

// answerMap has answers by the keys of their questions.
type answerMap struct {
	mu    sync.Mutex
	known map[string]any
}

func newAnswerMap() *answerMap { return &answerMap{known: map[string]any{}} }

// maxAnswers is how many answers are kept.
const maxAnswers = 20_000

func (m *answerMap) of(key string) (answer any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer, ok = m.known[key]
	return answer, ok
}

func (m *answerMap) keep(key string, answer any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxAnswers {
		clear(m.known)
	}
	m.known[key] = answer
}

// question is a search whose hits tell something.
type question struct {
	key        string
	dictionary bool   // it is for the dictionary, not for the documents
	term       string // of which it counts the documents, if that is all
	scoped     bool   // only documents of a collection count
	rare       bool   // there are perhaps none
	body       func() object
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

// asker knows answers, and notes the questions that have none yet. Their answer is a guess, or nothing, meanwhile. It implements
// index.Elsewhere.
type asker struct {
	known   map[string]any // in this search, for which they stay the same
	answers *Answers
	words   map[string]bool // of the dictionary
	missing []question
	noted   map[string]bool
	blind   bool // for a question there is not even a guess
}

func newAsker(known map[string]any, answers *Answers) *asker {
	return &asker{known: known, answers: answers, words: map[string]bool{}, noted: map[string]bool{}}
}

func ask[T any](a *asker, q question) (answer T) {
	known, ok := a.known[q.key]
	if !ok {
		if known, ok = a.answers.now.of(q.key); ok {
			a.known[q.key] = known
		}
	}
	if ok {
		return known.(T)
	}
	guess, ok := a.answers.before.of(q.key)
	if ok {
		answer = guess.(T)
	}
	a.blind = a.blind || !ok
	a.note(q)
	return answer
}

func (a *asker) note(q question) {
	if !a.noted[q.key] {
		a.noted[q.key] = true
		a.missing = append(a.missing, q)
	}
}

// ahead runs do, and notes the questions that have no answer yet. blind reports whether one of them has not even a guess.
func (a *asker) ahead(do func(index.Elsewhere) error) (blind bool, err error) {
	own := newAsker(a.known, a.answers)
	err = do(own)
	for _, q := range own.missing {
		a.note(q)
	}
	return own.blind, err
}

// Count implements index.Elsewhere.
func (a *asker) Count(scope string, c *index.Condition) int64 {
	query := func() object {
		found := conditionQuery(c)
		if scope != "" {
			found = object{"bool": object{"filter": []object{found, scopeQuery(scope)}}}
		}
		return found
	}
	term := termOf(c)
	key := "term " + scope + " " + term
	if term == "" {
		key = "count " + string(encode(query()))
	}
	guess, ok := a.answers.before.of(key)
	return ask[int64](a, question{
		key: key, term: term, scoped: scope != "", rare: (!ok || guess == int64(0)) && !a.words[wordOf(term)],
		body: func() object { return object{"size": 0, "track_total_hits": true, "query": query()} },
		read: func(f *found) any { return f.Hits.Total.Value },
	})
}

// termOf returns the term that a condition is about, or nothing.
func termOf(c *index.Condition) string {
	if len(c.Any) != 1 || c.Marked != nil || len(c.Phrases)+len(c.All) > 0 {
		return ""
	}
	term, ok := c.Any[0].Term()
	if kind, _, _ := index.KindOf(term); !ok || kind != index.StemTerm && kind != index.WordTerm {
		return ""
	}
	return term
}

// wordOf returns the word of a term, if it is a word as it stands.
func wordOf(term string) string {
	if term == "" {
		return ""
	}
	if kind, _, rest := index.KindOf(term); kind == index.WordTerm {
		return rest
	}
	return ""
}

// The most words that are asked of the dictionary at once.
const (
	mostAlike = 64
	mostNear  = 1_000
)

// Alike implements index.Elsewhere.
func (a *asker) Alike(of []uint32, least int) []string {
	text := grams(of)
	return a.inDictionary(question{
		key: fmt.Sprint("alike ", least, " ", text), dictionary: true,
		body: func() object {
			return wordsBody(mostAlike, object{"match": object{fieldGrams: object{"query": text, "minimum_should_match": least}}})
		},
		read: wordsOf,
	})
}

// Near implements index.Elsewhere.
func (a *asker) Near(word string, edits, shared int) []string {
	return a.inDictionary(question{
		key: fmt.Sprint("near ", edits, " ", shared, " ", word), dictionary: true,
		body: func() object {
			return wordsBody(mostNear, object{"fuzzy": object{fieldWord: object{
				"value": word, "fuzziness": edits, "prefix_length": shared, "transpositions": true, "rewrite": "constant_score",
			}}})
		},
		read: wordsOf,
	})
}

func (a *asker) inDictionary(q question) []string {
	list := ask[[]string](a, q)
	for _, word := range list {
		a.words[word] = true
	}
	return list
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

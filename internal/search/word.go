package search

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"keepsake/internal/fairshare"
	"keepsake/internal/text"
)

// fieldPostings are the postings of a term in a field, with the field's weight and average length.
type fieldPostings struct {
	*postings
	weight  float64
	average float64
}

// searchedFields are the fields in which words are searched.
var searchedFields = [...]struct {
	name   string
	weight float64
}{{titleField, titleWeight}, {textField, 1}}

// word matches documents with a word in any field.
type word struct {
	fields []fieldPostings
	// also contains documents with another form of the word: a longer word that it begins, or a character within a run. Each
	// counts as one occurrence in a text of average length.
	also    listed
	idf     float64
	telling bool
	doc     uint64
}

// openWord opens a bare word, or a phrase of one word. With prefix, it also matches longer words. complete is false if it
// matches too many different words to read them all.
func openWord(o *readers, r *ranking, t text.Token, prefix bool) (w *word, complete bool, err error) {
	w = &word{telling: !text.Stopword(t.Word)}
	count := int64(0)
	for _, f := range searchedFields {
		p, err := o.words(f.name, t.Term)
		if err != nil {
			return nil, false, err
		}
		w.fields = append(w.fields, fieldPostings{p, f.weight, r.average(f.name)})
		count = max(count, p.count)
	}
	complete = true
	if single := text.Unspaced(t.Word) && t.Term == t.Word; prefix || single {
		var docs int64
		if w.also, docs, complete, err = otherForms(o, t.Word, prefix); err != nil {
			return nil, false, err
		}
		count = max(count, docs)
	}
	w.idf = r.idf(count)
	return w, complete, nil
}

func (w *word) seek(target uint64) (uint64, error) {
	w.doc = w.also.seek(target)
	for _, f := range w.fields {
		doc, err := f.seek(target)
		if err != nil {
			return noMore, err
		}
		w.doc = min(w.doc, doc)
	}
	return w.doc, nil
}

func (w *word) matches() (bool, error) { return true, nil }

func (w *word) score() float64 {
	sum := 0.0
	for _, f := range w.fields {
		if f.doc == w.doc {
			times, length := f.frequency()
			sum += weighted(f.weight, times, length, f.average)
		}
	}
	if sum == 0 {
		sum = 1
	}
	return w.idf * saturated(sum)
}

// The maximum number of different words that a prefix matches, and of their postings.
const (
	maxForms      = 1_024
	maxFormPlaces = 2_000_000
)

// otherForms collects the documents with the unstemmed word or, with prefix, with a word that begins with it.
func otherForms(o *readers, word string, prefix bool) (docs listed, count int64, complete bool, err error) {
	forms := []form{{term: word}}
	complete = true
	if prefix {
		if forms, complete, err = formsOf(o, word); err != nil {
			return nil, 0, false, err
		}
	}
	places := 0
	for _, f := range forms {
		if places > maxFormPlaces {
			complete = false
			break
		}
		err := o.each(wordField, f.term, func(doc uint64) {
			if places++; docs.add(doc) {
				count++
			}
		})
		if err != nil {
			return nil, 0, false, err
		}
	}
	return docs, count, complete, nil
}

type form struct {
	term  string
	count uint64
}

// formsOf lists the words of the index that begin with prefix. If there are too many, it lists the most frequent.
func formsOf(o *readers, prefix string) (forms []form, complete bool, err error) {
	dict, err := o.view.FieldDictPrefix(wordField, []byte(prefix))
	if err != nil {
		return nil, false, fmt.Errorf("read words: %w", err)
	}
	defer func() { err = errors.Join(err, dict.Close()) }()
	complete = true
	for {
		e, err := dict.Next()
		if err != nil {
			return nil, false, fmt.Errorf("walk words: %w", err)
		}
		if e == nil {
			break
		}
		if err := o.task.Step(1); err != nil {
			return nil, false, err
		}
		if forms = append(forms, form{e.Term, e.Count}); len(forms) == 2*maxForms {
			forms, complete = mostFrequent(forms), false
		}
	}
	if len(forms) > maxForms {
		forms, complete = mostFrequent(forms), false
	}
	return forms, complete, nil
}

// mostFrequent returns the most frequent forms, up to the maximum.
func mostFrequent(forms []form) []form {
	slices.SortFunc(forms, func(a, b form) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.term, b.term))
	})
	return forms[:maxForms]
}

// anyOf matches documents with any of the words. More words give a higher score.
type anyOf struct {
	task    *fairshare.Task
	words   []*word
	bonus   float64 // for each matching word that is not a stopword
	doc     uint64
	started bool
}

// newAnyOf returns a matcher of any of words. In a short query, each matching word that is not a stopword is worth more than
// all scores together.
func newAnyOf(task *fairshare.Task, words []*word) *anyOf {
	a := &anyOf{task: task, words: words}
	telling, most := 0, 0.0
	for _, w := range words {
		if w.telling {
			telling++
		}
		most += w.idf * (k1 + 1)
	}
	if telling <= strictWords {
		a.bonus = most
	}
	return a
}

func (a *anyOf) seek(target uint64) (uint64, error) {
	a.doc = noMore
	for _, w := range a.words {
		if !a.started || w.doc < target {
			if _, err := w.seek(target); err != nil {
				return noMore, err
			}
		}
		a.doc = min(a.doc, w.doc)
	}
	a.started = true
	return a.doc, a.task.Step(1 + len(a.words)/8)
}

func (a *anyOf) matches() (bool, error) { return true, nil }

func (a *anyOf) score() float64 {
	sum := 0.0
	for _, w := range a.words {
		if w.doc != a.doc {
			continue
		}
		sum += w.score()
		if w.telling {
			sum += a.bonus
		}
	}
	return sum
}

package search

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"keepsake/internal/fairshare"
	"keepsake/internal/text"
)

// fieldPostings are the postings of a term in one field with what scoring needs of the field.
type fieldPostings struct {
	*postings
	weight  float64
	average float64
}

// searchedFields are the fields words are looked for in.
var searchedFields = [...]struct {
	name   string
	weight float64
}{{titleField, titleWeight}, {textField, 1}}

// word matches documents that have a word in any field.
type word struct {
	fields []fieldPostings
	// also are documents that have it in another form: a longer word it begins, or a character within a run. They
	// count as one occurrence in a text of average length.
	also    listed
	idf     float64
	telling bool
	doc     uint64
}

// openWord opens a bare word, or a phrase of one. With prefix it matches longer words too. complete is false when it
// matches too many different ones to follow them all.
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

// How many different words a word typed so far may stand for, and in how many places.
const (
	maxForms      = 1_024
	maxFormPlaces = 2_000_000
)

// otherForms gathers the documents that have a word that is, or with prefix begins with, word as it stands.
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

// formsOf lists the words of the index that begin with prefix; of too many the most frequent.
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

// mostFrequent keeps as many forms as are followed.
func mostFrequent(forms []form) []form {
	slices.SortFunc(forms, func(a, b form) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.term, b.term))
	})
	return forms[:maxForms]
}

// anyOf matches documents that have any of the words; those with more of them score higher.
type anyOf struct {
	task    *fairshare.Task
	words   []*word
	bonus   float64 // for each telling word that matches
	doc     uint64
	started bool
}

// newAnyOf gives a matcher of any of words. In a short query a telling word is worth more than all else words can score.
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

package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
	also    *listed
	idf     float64
	telling bool
	doc     uint64
}

// openWord opens a bare word, or a phrase of one. With prefix it matches longer words too. complete is false when it
// matches too many different ones to follow them all.
func openWord(ctx context.Context, v *view, r *ranking, t text.Token, prefix bool) (w *word, complete bool, err error) {
	w = &word{telling: !text.Stopword(t.Word)}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	count := int64(0)
	for _, f := range searchedFields {
		p, err := openPostings(ctx, v, f.name, t.Term, frequency)
		if err != nil {
			return w, false, err
		}
		w.fields = append(w.fields, fieldPostings{p, f.weight, r.average(f.name)})
		count = max(count, p.count)
	}
	complete = true
	if single := text.Unspaced(t.Word) && t.Term == t.Word; prefix || single {
		var docs []uint64
		if docs, complete, err = otherForms(ctx, v, t.Word, prefix); err != nil {
			return w, false, err
		}
		w.also = &listed{docs: docs}
		count = max(count, int64(len(docs)))
	}
	w.idf = r.idf(count)
	return w, complete, nil
}

func (w *word) seek(target uint64) (uint64, error) {
	w.doc = noMore
	for _, f := range w.fields {
		doc, err := f.seek(target)
		if err != nil {
			return noMore, err
		}
		w.doc = min(w.doc, doc)
	}
	if w.also != nil {
		doc, err := w.also.seek(target)
		if err != nil {
			return noMore, err
		}
		w.doc = min(w.doc, doc)
	}
	return w.doc, nil
}

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

func (w *word) close() {
	for _, f := range w.fields {
		f.close()
	}
}

// How many different words a word typed so far may stand for, and in how many places.
const (
	maxForms      = 1_024
	maxFormPlaces = 2_000_000
)

// otherForms gathers the documents that have a word that is, or with prefix begins with, word as it stands.
func otherForms(ctx context.Context, v *view, word string, prefix bool) (docs []uint64, complete bool, err error) {
	forms := []form{{term: word}}
	complete = true
	if prefix {
		if forms, complete, err = formsOf(v, word); err != nil {
			return nil, false, err
		}
	}
	for _, f := range forms {
		if len(docs) > maxFormPlaces {
			complete = false
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if docs, err = appendDocs(ctx, v, docs, f.term); err != nil {
			return nil, false, err
		}
	}
	slices.Sort(docs)
	return slices.Compact(docs), complete, nil
}

func appendDocs(ctx context.Context, v *view, docs []uint64, term string) ([]uint64, error) {
	p, err := openPostings(ctx, v, wordField, term, presence)
	if err != nil {
		return nil, err
	}
	defer p.close()
	for target := uint64(0); ; {
		doc, err := p.seek(target)
		if err != nil || doc == noMore {
			return docs, err
		}
		docs, target = append(docs, doc), doc+1
	}
}

type form struct {
	term  string
	count uint64
}

// formsOf lists the words of the index that begin with prefix; of too many the most frequent.
func formsOf(v *view, prefix string) (forms []form, complete bool, err error) {
	dict, err := v.FieldDictPrefix(wordField, []byte(prefix))
	if err != nil {
		return nil, false, fmt.Errorf("read words: %w", err)
	}
	defer func() { err = errors.Join(err, dict.Close()) }()
	for {
		e, err := dict.Next()
		if err != nil {
			return nil, false, fmt.Errorf("walk words: %w", err)
		}
		if e == nil {
			break
		}
		forms = append(forms, form{e.Term, e.Count})
	}
	if len(forms) <= maxForms {
		return forms, true, nil
	}
	slices.SortFunc(forms, func(a, b form) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.term, b.term))
	})
	return forms[:maxForms], false, nil
}

// anyOf matches documents that have any of the words; those with more of them score higher.
type anyOf struct {
	words   []*word
	bonus   float64 // for each telling word that matches
	doc     uint64
	started bool
}

// newAnyOf takes over the words. In a short query a telling word is worth more than all else words can score.
func newAnyOf(words []*word) *anyOf {
	a := &anyOf{words: words}
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
	return a.doc, nil
}

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

func (a *anyOf) close() {
	for _, w := range a.words {
		w.close()
	}
}

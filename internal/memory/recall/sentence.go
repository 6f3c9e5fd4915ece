package recall

import "keepsake/internal/base/text"

// askedWords returns the words of the sentences that ask, if a query has such sentences and others. Otherwise it returns nil: all
// words count alike.
func askedWords(a *text.Analyzer, query string) map[string]bool {
	asking := askingSentences(query)
	if len(asking) == len(query) {
		return nil
	}
	words := map[string]bool{}
	a.Scan(asking, func(t text.Token) bool {
		words[t.Word] = true
		return true
	})
	return words
}

package opensearch

import (
	"keepsake/internal/base/text"
	"keepsake/internal/search/index"
)

// To count the statistics of a million documents takes longer than a search. If each change made that necessary, searches between writes
// would be slow. So statistics are used for some more changes, for which scores stay right to the third digit.

// documentsPerChange is how many documents a scope has for each change after which its statistics still count.
const documentsPerChange = 5_000

// counted are statistics of a scope that were counted after a change.
type counted struct {
	index.Statistics
	change int64
}

// holds reports whether the statistics can be used after a later change.
func (c counted) holds(change int64) bool { return change-c.change <= c.Docs/documentsPerChange }

// statisticsKey, before a scope, is the key of statistics.
const statisticsKey = "statistics "

// Statistics implements index.Elsewhere. The languages are always those of now: documents of another one would not be found.
func (a *asker) Statistics(scope string) index.Statistics {
	if earlier, ok := a.answers.earlier[scope]; ok && !ask[bool](a, hasOtherLanguages(scope, earlier.Languages)) {
		return earlier.Statistics
	}
	return ask[index.Statistics](a, question{
		key: statisticsKey + scope,
		body: func() object {
			return object{
				"size": 0, "track_total_hits": true, "query": scopeQuery(scope),
				"aggs": object{
					"titles":    object{"sum": object{"field": fieldTitleLen}},
					"texts":     object{"sum": object{"field": fieldTextLen}},
					"languages": object{"terms": object{"field": fieldLanguage, "size": 100}},
				},
			}
		},
		read: func(f *found) any {
			s := index.Statistics{
				Docs: f.Hits.Total.Value, Titles: int64(f.Aggregations["titles"].Value), Texts: int64(f.Aggregations["texts"].Value),
			}
			for _, b := range f.Aggregations["languages"].Buckets {
				s.Languages.Add(languageOf(b.Key))
			}
			return s
		},
	})
}

// hasOtherLanguages asks whether a scope has documents in other languages.
func hasOtherLanguages(scope string, known text.LanguageSet) question {
	var others []int
	for l := text.English; l < text.Languages; l++ {
		if !known.Has(l) {
			others = append(others, int(l))
		}
	}
	query := object{"terms": object{fieldLanguage: others}}
	if scope != "" {
		query = object{"bool": object{"filter": []object{query, scopeQuery(scope)}}}
	}
	return question{
		key: "languages " + string(encode(query)),
		body: func() object {
			return object{"size": 0, "track_total_hits": 1, "terminate_after": 1, "query": query}
		},
		read: func(f *found) any { return f.Hits.Total.Value > 0 },
	}
}

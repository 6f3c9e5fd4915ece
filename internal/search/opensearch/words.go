package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
)

// sweepPage is how many words are looked at between two looks at the changes of documents.
const sweepPage = 500

// sweep is a walk through the dictionary that removes words which no document has any more.
type sweep struct {
	after   string // the last word that was looked at
	removed int64
}

// page looks at the next words of a generation. more means that there are others. Nothing must be stored in the generation meanwhile.
func (s *sweep) page(ctx context.Context, c *Client, f *filled) (more bool, err error) {
	words := f.index + wordsEnd
	if err := c.refresh(ctx, f.index+","+words); err != nil {
		return false, err
	}
	query := object{"size": sweepPage, "query": object{"match_all": object{}}, "sort": []object{{fieldWord: "asc"}}}
	if s.after != "" {
		query["search_after"] = []string{s.after}
	}
	hits, err := c.find(ctx, words, query)
	if err != nil || len(hits) == 0 {
		return false, err
	}
	counts, err := c.countWords(ctx, f.index, hits)
	if err != nil {
		return false, err
	}
	var unused []hit
	for i, h := range hits {
		if counts[i] == 0 {
			unused = append(unused, h)
			delete(f.dictionary.words, h.ID)
		}
	}
	err = c.remove(ctx, words, unused)
	if f.dictionary.changed(len(unused), err); err != nil {
		return false, err
	}
	s.after = hits[len(hits)-1].ID
	s.removed += int64(len(unused))
	return len(hits) == sweepPage, nil
}

// countWords returns how many documents have each of some words.
func (c *Client) countWords(ctx context.Context, index string, words []hit) ([]int64, error) {
	filters := object{}
	for i, h := range words {
		filters[strconv.Itoa(i)] = object{"bool": object{"should": []object{
			{"term": object{fieldWords: h.ID}}, {"term": object{fieldInEntries: h.ID}},
		}}}
	}
	body := encode(object{"size": 0, "track_total_hits": false, "aggs": object{"words": object{"filters": object{"filters": filters}}}})
	answer, err := c.Do(ctx, http.MethodPost, "/"+index+"/_search?preference=_primary&allow_partial_search_results=false", body)
	if err != nil {
		return nil, fmt.Errorf("count words: %w", err)
	}
	var counted struct {
		Aggregations struct {
			Words struct {
				Buckets map[string]struct {
					Count int64 `json:"doc_count"`
				} `json:"buckets"`
			} `json:"words"`
		} `json:"aggregations"`
	}
	if err := json.Unmarshal(answer, &counted); err != nil || len(counted.Aggregations.Words.Buckets) != len(words) {
		return nil, &Error{State: Failed, Status: http.StatusOK, Type: "the counts of words cannot be read"}
	}
	counts := make([]int64, len(words))
	for i := range words {
		counts[i] = counted.Aggregations.Words.Buckets[strconv.Itoa(i)].Count
	}
	return counts, nil
}

package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"keepsake/internal/search/document"
)

// An operator can delete documents of an index, or let an empty shard take the place of one that is lost, and the position in the index
// does not tell. So an index that has all changes is counted now and then.
const (
	countEvery   = 10 * time.Minute
	countRebuild = 24 * time.Hour // between two rebuilds for that reason, in case it is another one than was thought
)

// counting is the comparison of an index with the number of documents.
type counting struct {
	next    time.Time
	odd     document.State // in which the numbers differed; empty: they did not
	rebuilt time.Time
}

// count compares the number of documents in the index that searches read with that in the database. If they differ twice in the same state,
// another index is filled, and replaces this one.
func (w *worker) count(ctx context.Context, now document.State) error {
	c, at := &w.counting, w.o.Now()
	if w.o.Documents == nil || w.serving == nil || w.building != nil || w.serving.has != now || at.Before(c.next) {
		return nil
	}
	c.next = at.Add(countEvery) // also after an error
	want, err := w.o.Documents(ctx, w.id)
	if err != nil {
		return fmt.Errorf("count documents: %w", err)
	}
	found, err := w.o.Client.live(ctx, w.serving.index)
	if err != nil {
		return err
	}
	after, err := w.o.Source.State(ctx, w.id)
	if err != nil {
		return fmt.Errorf("read the state of the documents: %w", err)
	}
	switch {
	case after != now: // the numbers can be of different states
	case found == want:
		c.odd = document.State{}
	case c.odd != now:
		c.odd, c.next = now, at.Add(checkEvery)
	case c.rebuilt.IsZero() || at.Sub(c.rebuilt) >= countRebuild:
		w.o.Log.Warn("filling another index in OpenSearch, because documents were removed from this one or added to it by hand",
			"workspace", w.id, "documents", want, "found", found)
		if err := w.o.Client.markOutdated(ctx, w.serving.generation); err != nil {
			return err
		}
		c.odd, c.rebuilt, w.check = document.State{}, at, time.Time{}
	}
	return nil
}

// live counts the documents in an index, without what is left of deleted ones.
func (c *Client) live(ctx context.Context, index string) (int64, error) {
	if err := c.refresh(ctx, index); err != nil {
		return 0, err
	}
	body := encode(object{"size": 0, "track_total_hits": true, "query": object{"exists": object{"field": fieldUpdated}}})
	answer, err := c.Do(ctx, http.MethodPost, "/"+index+"/_search?preference=_primary&allow_partial_search_results=false", body)
	if err != nil {
		return 0, fmt.Errorf("count documents: %w", err)
	}
	var found struct {
		Hits struct {
			Total *struct {
				Value int64 `json:"value"`
			} `json:"total"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(answer, &found); err != nil || found.Hits.Total == nil {
		return 0, &Error{State: Failed, Status: http.StatusOK, Type: "the count of documents cannot be read"}
	}
	return found.Hits.Total.Value, nil
}

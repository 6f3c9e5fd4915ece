package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// Deleted and replaced documents stay in the files of OpenSearch until those are merged, which happens by itself only where much was
// deleted. So files with deletions are written again regularly.
const (
	firstExpunge = 5 * time.Minute // after following began
	expungeEvery = time.Hour
	largeExpunge = 24 * time.Hour // if there are more documents than large
	large        = 1_000_000
	goneFor      = 24 * time.Hour // that documents which say that others are gone are kept
	gonePage     = 1_000
)

// expunging is the work of removing deleted documents from files.
type expunging struct {
	next  time.Time // zero: not known yet
	sweep *sweep    // of the dictionary; nil: none is going on
	tasks []string  // that merge files
	of    string    // the index that is worked on
}

// working reports whether there is work that has begun.
func (e *expunging) working() bool { return e.sweep != nil || len(e.tasks) > 0 }

// run does the next part of the work, if something is due. It waits for no merge.
func (e *expunging) run(ctx context.Context, c *Client, f *filled, now time.Time) error {
	if e.of != f.index {
		e.of, e.sweep, e.tasks = f.index, nil, nil
	}
	switch {
	case len(e.tasks) > 0:
		return e.finish(ctx, c)
	case e.sweep != nil:
		more, err := e.sweep.page(ctx, c, f)
		if more || err != nil {
			return err
		}
		e.sweep = nil
		return e.start(ctx, c)
	case e.next.IsZero():
		e.next = now.Add(firstExpunge)
		return nil
	case now.Before(e.next):
		return nil
	}
	count, deleted, err := c.counts(ctx, f.index)
	if err != nil {
		return err
	}
	removed, err := c.removeGone(ctx, f.index, now.Add(-goneFor))
	if err != nil {
		return err
	}
	if e.next = now.Add(expungeEvery); count > large {
		e.next = now.Add(largeExpunge)
	}
	if deleted+removed > 0 {
		e.sweep = &sweep{}
	}
	return nil
}

// start starts merges.
func (e *expunging) start(ctx context.Context, c *Client) error {
	for _, name := range []string{e.of, e.of + wordsEnd} {
		if err := c.flush(ctx, name); err != nil {
			return err
		}
		answer, err := c.Do(ctx, http.MethodPost, "/"+name+"/_forcemerge?only_expunge_deletes=true&wait_for_completion=false", nil)
		if err != nil {
			return fmt.Errorf("merge files: %w", err)
		}
		var started struct {
			Task string `json:"task"`
		}
		if err := json.Unmarshal(answer, &started); err != nil || started.Task == "" {
			return &Error{State: Failed, Status: http.StatusOK, Type: "the merge of files has no task"}
		}
		e.tasks = append(e.tasks, started.Task)
	}
	return nil
}

// finish deletes the old files if the merges have ended.
func (e *expunging) finish(ctx context.Context, c *Client) error {
	for len(e.tasks) > 0 {
		answer, err := c.Do(ctx, http.MethodGet, "/_tasks/"+e.tasks[0], nil)
		if err != nil && StateOf(err) != Missing { // it is missing after a restart
			return fmt.Errorf("look at a merge of files: %w", err)
		}
		var task struct {
			Completed bool `json:"completed"`
		}
		if err == nil && (json.Unmarshal(answer, &task) != nil || !task.Completed) {
			return nil
		}
		e.tasks = e.tasks[1:]
	}
	for _, name := range []string{e.of, e.of + wordsEnd} {
		// The last commit and what searches read still have the old files.
		if err := c.refresh(ctx, name); err != nil {
			return err
		}
		if err := c.flush(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) refresh(ctx context.Context, index string) error {
	if _, err := c.Do(ctx, http.MethodPost, "/"+index+"/_refresh", nil); err != nil {
		return fmt.Errorf("refresh an index: %w", err)
	}
	return nil
}

func (c *Client) flush(ctx context.Context, index string) error {
	if err := c.refresh(ctx, index); err != nil {
		return err
	}
	if _, err := c.Do(ctx, http.MethodPost, "/"+index+"/_flush?force=true", nil); err != nil {
		return fmt.Errorf("flush an index: %w", err)
	}
	return nil
}

// counts returns how many documents an index and its dictionary have, and how many that are deleted.
func (c *Client) counts(ctx context.Context, index string) (count, deleted int64, err error) {
	answer, err := c.Do(ctx, http.MethodGet, "/"+index+","+index+wordsEnd+"/_stats/docs", nil)
	if err != nil {
		return 0, 0, fmt.Errorf("count documents: %w", err)
	}
	var stats struct {
		All struct {
			Primaries struct {
				Docs struct {
					Count   int64 `json:"count"`
					Deleted int64 `json:"deleted"`
				} `json:"docs"`
			} `json:"primaries"`
		} `json:"_all"`
	}
	if err := json.Unmarshal(answer, &stats); err != nil {
		return 0, 0, &Error{State: Failed, Status: http.StatusOK, Type: "the counts of documents cannot be read"}
	}
	docs := stats.All.Primaries.Docs
	return docs.Count, docs.Deleted, nil
}

// hit is a document that a search of this file found.
type hit struct {
	ID    string `json:"_id"`
	SeqNo int64  `json:"_seq_no"`
	Term  int64  `json:"_primary_term"`
	Sort  []any  `json:"sort"`
}

// find searches an index for documents to remove.
func (c *Client) find(ctx context.Context, index string, query object) ([]hit, error) {
	query["_source"], query["seq_no_primary_term"], query["track_total_hits"] = false, true, false
	answer, err := c.Do(ctx, http.MethodPost, "/"+index+"/_search?preference=_primary&allow_partial_search_results=false", encode(query))
	if err != nil {
		return nil, fmt.Errorf("look for documents to remove: %w", err)
	}
	var found struct {
		Hits struct {
			Hits []hit `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return nil, &Error{State: Failed, Status: http.StatusOK, Type: "the documents to remove cannot be read"}
	}
	return found.Hits.Hits, nil
}

// remove deletes documents that have not changed since they were found.
func (c *Client) remove(ctx context.Context, index string, hits []hit) error {
	if len(hits) == 0 {
		return nil
	}
	var body []byte
	for _, h := range hits {
		id, err := json.Marshal(h.ID)
		if err != nil {
			return fmt.Errorf("write the ID of a document: %w", err)
		}
		body = append(append(body, `{"delete":{"_id":`...), id...)
		body = append(strconv.AppendInt(append(body, `,"if_seq_no":`...), h.SeqNo, 10), `,"if_primary_term":`...)
		body = append(strconv.AppendInt(body, h.Term, 10), "}}\n"...)
	}
	answer, err := c.Do(ctx, http.MethodPost, "/"+index+writeEnd+"/_bulk?require_alias=true&timeout="+bulkTimeout, body)
	if err != nil {
		return fmt.Errorf("remove documents: %w", err)
	}
	_, err = bulkResult(answer, len(hits))
	return err
}

// removeGone removes documents which only say that others were deleted before a time. Until then they keep the version of the deletion,
// which OpenSearch would forget.
func (c *Client) removeGone(ctx context.Context, index string, before time.Time) (removed int64, err error) {
	for {
		if err := c.refresh(ctx, index); err != nil {
			return removed, err
		}
		hits, err := c.find(ctx, index, object{
			"size": gonePage, "query": object{"range": object{fieldGone: object{"lt": before.UnixMilli()}}},
		})
		if err != nil || len(hits) == 0 {
			return removed, err
		}
		if err := c.remove(ctx, index, hits); err != nil {
			return removed, err
		}
		removed += int64(len(hits))
	}
}

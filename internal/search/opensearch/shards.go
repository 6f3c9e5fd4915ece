package opensearch

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
)

// A shard is a part of an index, on one machine. An index gets shards for twice its size, so that it is not soon too large for them. If
// it is, a new one with more shards is filled while the old one answers.

const (
	shardBytes       = 20 << 30 // that a shard is to have at most
	bytesPerDocument = 1 << 10  // about what a document takes, for an index that is not there yet
)

// shardsFor returns how many shards an index of a size needs, if each can have the given bytes.
func shardsFor(size, perShard int64) int {
	half := max(1, perShard/2)
	return int(max(1, (size+half-1)/half))
}

// outgrown reports whether an index is too large for its shards.
func (g *generation) outgrown(size, perShard int64) bool {
	return size/int64(max(1, g.meta.Shards)) > perShard
}

// size returns how many bytes an index takes, without documents that are deleted, and without copies of shards.
func (c *Client) size(ctx context.Context, index string) (int64, error) {
	answer, err := c.Do(ctx, http.MethodGet, "/"+index+"/_stats/docs,store", nil)
	if err != nil {
		return 0, fmt.Errorf("read the size of an index: %w", err)
	}
	var stats struct {
		All struct {
			Primaries struct {
				Docs struct {
					Count   int64 `json:"count"`
					Deleted int64 `json:"deleted"`
				} `json:"docs"`
				Store struct {
					Bytes int64 `json:"size_in_bytes"`
				} `json:"store"`
			} `json:"primaries"`
		} `json:"_all"`
	}
	if err := json.Unmarshal(answer, &stats); err != nil {
		return 0, &Error{State: Failed, Status: http.StatusOK, Type: "the size of an index cannot be read"}
	}
	p := stats.All.Primaries
	return int64(float64(p.Store.Bytes) * float64(p.Docs.Count) / float64(max(1, p.Docs.Count+p.Docs.Deleted))), nil
}

// sizes returns how many bytes the index that searches read takes, and how many one is expected to take that replaces it.
func (w *worker) sizes(ctx context.Context, list []*generation) (now, expected int64, err error) {
	if w.o.Documents != nil {
		documents, err := w.o.Documents(ctx, w.id)
		if err != nil {
			return 0, 0, fmt.Errorf("count documents: %w", err)
		}
		expected = documents * bytesPerDocument
	}
	for _, g := range list {
		if g.serving {
			if now, err = w.o.Client.size(ctx, g.index); err != nil {
				return 0, 0, err
			}
			expected = now
		}
	}
	return now, expected, nil
}

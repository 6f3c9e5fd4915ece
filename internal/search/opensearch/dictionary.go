package opensearch

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
)

// dictionary is what this process knows of the index of words of a generation. OpenSearch numbers the operations in an index. If the last
// number is the one that the operations of this process lead to, no other process has changed the index, and the words are still there.
type dictionary struct {
	words   map[string]bool // that are in the index
	uuid    string          // of the index; empty: unknown
	last    int64           // number of the last operation
	trusted bool            // the index was compared with that since this process got the claim
}

// trust forgets the words if the index is not the one in which they were stored, or was changed by another process.
func (d *dictionary) trust(ctx context.Context, c *Client, index string) error {
	if d.trusted {
		return nil
	}
	uuid, last, err := c.operations(ctx, index)
	if err != nil {
		return err
	}
	if uuid != d.uuid || last != d.last {
		clear(d.words)
	}
	d.uuid, d.last, d.trusted = uuid, last, true
	return nil
}

// changed notes operations of this process. After an error it is not known which took place.
func (d *dictionary) changed(operations int, err error) {
	if d.last += int64(operations); err != nil {
		d.uuid = ""
	}
}

// operations returns the identity of an index with one shard, and the number of its last operation.
func (c *Client) operations(ctx context.Context, index string) (uuid string, last int64, err error) {
	const filter = "filter_path=indices.*.uuid,indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no.max_seq_no"
	answer, err := c.Do(ctx, http.MethodGet, "/"+index+"/_stats/docs?level=shards&"+filter, nil)
	if err != nil {
		return "", 0, fmt.Errorf("read the number of the last operation: %w", err)
	}
	var stats struct {
		Indices map[string]struct {
			UUID   string `json:"uuid"`
			Shards map[string][]struct {
				Routing struct {
					Primary bool `json:"primary"`
				} `json:"routing"`
				SeqNo struct {
					Last int64 `json:"max_seq_no"`
				} `json:"seq_no"`
			} `json:"shards"`
		} `json:"indices"`
	}
	if err := json.Unmarshal(answer, &stats); err == nil {
		found := stats.Indices[index]
		for _, shard := range found.Shards["0"] {
			if shard.Routing.Primary && found.UUID != "" {
				return found.UUID, shard.SeqNo.Last, nil
			}
		}
	}
	return "", 0, &Error{State: Unavailable, Status: http.StatusOK, Type: "the primary shard of an index does not answer"}
}

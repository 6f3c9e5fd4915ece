package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
)

// Action stores a document under a version. A stored version that is the same or higher stays.
type Action struct {
	ID      string
	Version int64  // 0: only if no document has the ID
	Body    []byte // a JSON object without line feeds
}

// bulkTimeout is how long the cluster waits for a shard that is missing, before it says so.
const bulkTimeout = "2s"

// Bulk stores documents through an alias. It returns nil if every one is stored in this version or a higher one, and else the
// *Error of the request, or of the first item with the most serious state. Then the others are perhaps stored.
func (c *Client) Bulk(ctx context.Context, alias string, actions []Action) error {
	_, err := c.bulk(ctx, alias, actions)
	return err
}

// bulk does the same, and returns how many were not stored before.
func (c *Client) bulk(ctx context.Context, alias string, actions []Action) (stored int, err error) {
	if len(actions) == 0 {
		return 0, nil
	}
	body, err := bulkBody(actions)
	if err != nil {
		return 0, err
	}
	answer, err := c.Do(ctx, http.MethodPost, "/"+url.PathEscape(alias)+"/_bulk?require_alias=true&timeout="+bulkTimeout, body)
	if err == nil {
		stored, err = bulkResult(answer, len(actions))
	}
	if err != nil {
		return 0, fmt.Errorf("store %d documents: %w", len(actions), err)
	}
	return stored, nil
}

// bulkBody writes two lines for each action.
func bulkBody(actions []Action) ([]byte, error) {
	size := 0
	for i := range actions {
		size += len(actions[i].Body) + len(actions[i].ID) + 80
	}
	body := make([]byte, 0, size)
	for i := range actions {
		id, err := json.Marshal(actions[i].ID)
		if err != nil {
			return nil, fmt.Errorf("write the ID of a document: %w", err)
		}
		if actions[i].Version == 0 {
			body = append(append(body, `{"create":{"_id":`...), id...)
			body = append(body, "}}\n"...)
		} else {
			body = append(append(body, `{"index":{"_id":`...), id...)
			body = append(body, `,"version":`...)
			body = strconv.AppendInt(body, actions[i].Version, 10)
			body = append(body, `,"version_type":"external"}}`+"\n"...)
		}
		body = append(body, actions[i].Body...)
		body = append(body, '\n')
	}
	return body, nil
}

// bulkResult reads the result of every item, and counts those that changed something. The status of the request does not tell: it is
// 200 also if all of them failed.
func bulkResult(answer []byte, want int) (changed int, err error) {
	var bulk struct {
		Items []map[string]struct {
			Status int      `json:"status"`
			Error  reported `json:"error"`
		} `json:"items"`
	}
	if err := json.Unmarshal(answer, &bulk); err != nil || len(bulk.Items) != want {
		return 0, &Error{State: Failed, Status: http.StatusOK, Type: "the answer to a bulk is incomplete"}
	}
	var worst *Error
	for _, item := range bulk.Items {
		for _, result := range item {
			switch status := result.Status; {
			case status == http.StatusConflict: // stored, in this version or a higher one
			case status >= 200 && status < 300:
				changed++
			default:
				if failed := result.Error.failure(status); worst == nil || seriousness[failed.State] > seriousness[worst.State] {
					worst = failed
				}
			}
		}
		if len(item) != 1 {
			return 0, &Error{State: Failed, Status: http.StatusOK, Type: "the answer to a bulk is incomplete"}
		}
	}
	if worst == nil {
		return changed, nil
	}
	return 0, worst
}

// seriousness orders the states of items: what passes by itself comes last.
var seriousness = map[State]int{
	Throttled: 1, Unavailable: 2, Full: 3, ReadOnly: 4, Denied: 5, Closed: 6, Missing: 7, Failed: 8, Refused: 9,
}

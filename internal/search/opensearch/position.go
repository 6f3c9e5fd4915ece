package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"keepsake/internal/search/document"
)

// The version of the document positionID is the number of the last change that an index contains, with all before it. It is in the same
// index, so it is lost with it, and no document of a workspace has such an ID. Versions only rise, so a process that is behind another
// cannot write its own. Its mark is that of the state of the documents if the index contains all of it, or else 0.
//
// The words of an index have such a document, too, with the last state of which changes were ever read for the index. It is written
// before they are stored. If the database does not know this state, it has lost changes that the index can contain.
const positionID = "~position"

// position returns what an index contains behind an alias, and the name of the index.
func (c *Client) position(ctx context.Context, alias string) (has document.State, index string, err error) {
	answer, err := c.Do(ctx, http.MethodGet, "/"+alias+"/_doc/"+positionID+"?stored_fields="+fieldMark+"&preference=_primary", nil)
	if err != nil {
		var failed *Error
		if errors.As(err, &failed) && failed.State == Missing && failed.Type == http.StatusText(http.StatusNotFound) {
			return document.State{}, "", nil // nothing was indexed yet
		}
		return document.State{}, "", fmt.Errorf("read the position of an index: %w", err)
	}
	var found struct {
		Index   string `json:"_index"`
		Version int64  `json:"_version"`
		Fields  struct {
			Mark []string `json:"mark"`
		} `json:"fields"`
	}
	if err := json.Unmarshal(answer, &found); err == nil && found.Version > 0 && len(found.Fields.Mark) == 1 {
		if mark, err := strconv.ParseInt(found.Fields.Mark[0], 10, 64); err == nil {
			return document.State{Change: found.Version, Mark: mark}, found.Index, nil
		}
	}
	return document.State{}, "", &Error{State: Failed, Status: http.StatusOK, Type: "the position of an index cannot be read"}
}

// positions returns the last changes that indexes contain, by the aliases that searches read. Those without an index are left out.
func (c *Client) positions(ctx context.Context, aliases []string) (map[string]int64, error) {
	list := make([]object, len(aliases))
	for i, alias := range aliases {
		list[i] = object{"_index": alias, "_id": positionID, "_source": false}
	}
	answer, err := c.Do(ctx, http.MethodPost, "/_mget?preference=_primary", encode(object{"docs": list}))
	if err != nil {
		return nil, fmt.Errorf("read the positions of indexes: %w", err)
	}
	var found struct {
		Docs []struct {
			Version int64 `json:"_version"`
			Error   any   `json:"error"`
		} `json:"docs"`
	}
	if err := json.Unmarshal(answer, &found); err != nil || len(found.Docs) != len(aliases) {
		return nil, &Error{State: Failed, Status: http.StatusOK, Type: "the positions of indexes cannot be read"}
	}
	all := map[string]int64{}
	for i, doc := range found.Docs {
		if doc.Error == nil {
			all[aliases[i]] = doc.Version
		}
	}
	return all, nil
}

// setPosition records what the index behind an alias contains. It fails with Conflicting if that is not more than before.
func (c *Client) setPosition(ctx context.Context, alias string, has document.State) error {
	path := "/" + alias + "/_doc/" + positionID + "?version_type=external&require_alias=true&timeout=" + bulkTimeout +
		"&version=" + strconv.FormatInt(has.Change, 10)
	body := encode(object{fieldMark: strconv.FormatInt(has.Mark, 10)})
	if _, err := c.Do(ctx, http.MethodPut, path, body); err != nil {
		return fmt.Errorf("write the position of an index: %w", err)
	}
	return nil
}

package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
)

// positionID is the ID of the document whose version is the number of the last change that an index contains, with all before it. It is
// in the same index, so it is lost with it, and no document of a workspace has such an ID. Versions only rise, so a process that is
// behind another cannot write its own.
const positionID = "~position"

// position returns the number of the last change in the index behind an alias, and the name of the index.
func (c *Client) position(ctx context.Context, alias string) (number int64, index string, err error) {
	answer, err := c.Do(ctx, http.MethodGet, "/"+alias+"/_doc/"+positionID+"?_source=false&preference=_primary", nil)
	if err != nil {
		var failed *Error
		if errors.As(err, &failed) && failed.State == Missing && failed.Type == http.StatusText(http.StatusNotFound) {
			return 0, "", nil // nothing was indexed yet
		}
		return 0, "", fmt.Errorf("read the position of an index: %w", err)
	}
	var found struct {
		Index   string `json:"_index"`
		Version int64  `json:"_version"`
	}
	if err := json.Unmarshal(answer, &found); err != nil || found.Version == 0 {
		return 0, "", &Error{State: Failed, Status: http.StatusOK, Type: "the position of an index cannot be read"}
	}
	return found.Version, found.Index, nil
}

// setPosition records that the index behind an alias contains every change up to a number. It fails with Conflicting if the index
// contains more.
func (c *Client) setPosition(ctx context.Context, alias string, number int64) error {
	path := "/" + alias + "/_doc/" + positionID + "?version_type=external&require_alias=true&timeout=" + bulkTimeout +
		"&version=" + strconv.FormatInt(number, 10)
	if _, err := c.Do(ctx, http.MethodPut, path, []byte("{}")); err != nil {
		return fmt.Errorf("write the position of an index: %w", err)
	}
	return nil
}

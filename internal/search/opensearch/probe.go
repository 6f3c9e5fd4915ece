package opensearch

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// Probe reports whether a cluster can hold the indexes of workspaces: it creates one, stores a document in it, searches with a script,
// and deletes it.
func (c *Client) Probe(ctx context.Context, prefix string) error {
	if _, err := c.version(ctx); err != nil {
		return err
	}
	name := prefix + "probe-" + strings.ToLower(rand.Text()[:12])
	if _, err := c.Do(ctx, http.MethodPut, "/"+name, DocumentsIndex(1, 0)); err != nil {
		return fmt.Errorf("create an index: %w", err)
	}
	err := c.tryIndex(ctx, name)
	if _, deleted := c.Do(context.WithoutCancel(ctx), http.MethodDelete, "/"+name, nil); err == nil && deleted != nil {
		err = fmt.Errorf("delete an index: %w", deleted)
	}
	return err
}

func (c *Client) tryIndex(ctx context.Context, name string) error {
	body := encode(object{fieldID: "a", fieldStems: "word" + frequencyMark + "1", fieldUpdated: 1})
	if _, err := c.Do(ctx, http.MethodPut, "/"+name+"/_doc/a?refresh=true", body); err != nil {
		return fmt.Errorf("store a document: %w", err)
	}
	search := encode(object{"query": object{"script_score": object{
		"query": object{"match_all": object{}}, "script": object{"source": "return 1.0;"},
	}}})
	if _, err := c.Do(ctx, http.MethodPost, "/"+name+"/_search?allow_partial_search_results=false", search); err != nil {
		return fmt.Errorf("search with a script: %w", err)
	}
	return nil
}

// leastVersion is the oldest one that has what the mappings need.
const leastVersion = 2

// version returns the version of the cluster, and Unsupported for another product and for versions that are too old.
func (c *Client) version(ctx context.Context) (string, error) {
	answer, err := c.Do(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	var about struct {
		Version struct {
			Distribution string `json:"distribution"`
			Number       string `json:"number"`
		} `json:"version"`
	}
	_ = json.Unmarshal(answer, &about) // what is no JSON is another product
	first, _, _ := strings.Cut(about.Version.Number, ".")
	if number, err := strconv.Atoi(first); err != nil || number < leastVersion || about.Version.Distribution != "opensearch" {
		return "", &Error{State: Unsupported, Status: http.StatusOK, Type: "it is not OpenSearch 2 or later"}
	}
	return about.Version.Number, nil
}

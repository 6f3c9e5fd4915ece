package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Two installations whose indexes begin with one prefix would delete each other's. So the first one that has an index there creates
// another one, which is empty and says whose the prefix is. It is created once: OpenSearch refuses the second attempt. Every index of a
// workspace says it, too, and one that says another is never deleted.

// ownerEnd is what the name of the index that says whose a prefix is ends with. No workspace has such an ID.
const ownerEnd = "owner"

// ownFor is how long a prefix that was seen to be this installation's is taken to be so.
const ownFor = 20 * time.Second

// Owner says whose the indexes with a prefix are. It is safe for concurrent use.
type Owner struct {
	client *Client
	index  string
	id     string

	mu   sync.Mutex
	seen time.Time // when it was last known to be this installation
}

// NewOwner returns an Owner. id identifies this installation.
func NewOwner(c *Client, prefix, id string) *Owner {
	return &Owner{client: c, index: prefix + ownerEnd, id: id}
}

// Check returns an *Error with the state Foreign if the prefix is another installation's.
func (o *Owner) Check(ctx context.Context) error {
	id, err := o.read(ctx)
	if err != nil || id == "" {
		return err
	}
	return o.compare(id)
}

// Take makes the prefix this installation's if it is no installation's, and returns Foreign if it is another's.
func (o *Owner) Take(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.seen) < ownFor {
		return nil
	}
	id, err := o.read(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		if err := o.create(ctx); err != nil {
			return err
		}
		if id, err = o.read(ctx); err != nil { // another one can have been faster
			return err
		}
	}
	if err := o.compare(id); err != nil {
		return err
	}
	o.seen = time.Now()
	return nil
}

func (o *Owner) compare(id string) error {
	if id != o.id {
		return &Error{State: Foreign, Type: o.index}
	}
	return nil
}

// ForeignPrefix is the error of an installation with a prefix that is another's.
func ForeignPrefix(prefix string) error { return &Error{State: Foreign, Type: prefix + ownerEnd} }

// read returns the installation that has the prefix; empty: none.
func (o *Owner) read(ctx context.Context) (id string, err error) {
	marks, err := o.client.marks(ctx, o.index)
	if err != nil && StateOf(err) != Missing {
		return "", fmt.Errorf("read whose the prefix is: %w", err)
	}
	return marks[o.index], nil
}

// create creates the index that says whose the prefix is. It is no failure if it exists.
func (o *Owner) create(ctx context.Context) error {
	body := encode(object{
		"settings": object{"index": object{"number_of_shards": 1, "auto_expand_replicas": "0-1"}},
		"mappings": object{"dynamic": "strict", "_meta": object{"owner": o.id}},
	})
	_, err := o.client.Do(ctx, http.MethodPut, "/"+o.index, body)
	var failed *Error
	if err != nil && !(errors.As(err, &failed) && failed.Type == "resource_already_exists_exception") {
		return fmt.Errorf("write whose the prefix is: %w", err)
	}
	return nil
}

// marks returns whose the indexes are whose names match a pattern, by name. Those that say nothing are not among them.
func (c *Client) marks(ctx context.Context, pattern string) (map[string]string, error) {
	var indexes map[string]struct {
		Mappings struct {
			Meta meta `json:"_meta"`
		} `json:"mappings"`
	}
	path := "/" + pattern + "/_mapping?expand_wildcards=all&filter_path=*.mappings._meta.owner"
	answer, err := c.Do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(answer, &indexes); err != nil {
		return nil, &Error{State: Failed, Status: http.StatusOK, Type: "the list of indexes cannot be read"}
	}
	owners := make(map[string]string, len(indexes))
	for name, x := range indexes {
		owners[name] = x.Mappings.Meta.Owner
	}
	return owners, nil
}

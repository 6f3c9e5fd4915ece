package opensearch

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// Facts describe the indexes of an instance, and the settings that decide whether they are safe and private.
type Facts struct {
	Indexes   int
	Red       []string // indexes of which a part is missing
	Documents int64
	Deleted   int64 // whose words are still in files
	Bytes     int64
	Owner     string   // the installation that has the prefix; empty: none
	Foreign   []string // indexes of other installations

	Asynchronous []string // indexes that can lose what was stored
	SlowLogs     []string // indexes whose slow searches or documents are logged, with their words
	// QueriesKept reports whether the cluster keeps or logs queries. It is unknown if Unknown says why.
	QueriesKept bool
	Unknown     error
}

// Examine reads the state of the indexes with a prefix without changing it.
func (c *Client) Examine(ctx context.Context, prefix string) (*Facts, error) {
	if _, err := c.version(ctx); err != nil {
		return nil, err
	}
	f := &Facts{}
	if err := c.countIndexes(ctx, prefix, f); err != nil {
		return nil, fmt.Errorf("list indexes: %w", err)
	}
	if err := c.readSettings(ctx, prefix, f); err != nil {
		return nil, fmt.Errorf("read the settings of indexes: %w", err)
	}
	owners, err := c.marks(ctx, prefix+"*")
	if err != nil {
		return nil, fmt.Errorf("read whose the indexes are: %w", err)
	}
	f.Owner = owners[prefix+ownerEnd]
	for name, owner := range owners {
		if owner != f.Owner {
			f.Foreign = append(f.Foreign, name)
		}
	}
	slices.Sort(f.Foreign)
	f.QueriesKept, f.Unknown = c.keepsQueries(ctx)
	return f, nil
}

func (c *Client) countIndexes(ctx context.Context, prefix string, f *Facts) error {
	var list []struct {
		Index   string `json:"index"`
		Health  string `json:"health"`
		Count   string `json:"docs.count"`
		Deleted string `json:"docs.deleted"`
		Size    string `json:"store.size"`
	}
	err := c.get(ctx, "/_cat/indices/"+url.PathEscape(prefix)+"*?format=json&bytes=b&h=index,health,docs.count,docs.deleted,store.size", &list)
	for _, x := range list {
		if x.Index != prefix+ownerEnd {
			f.Indexes++
		}
		if x.Health == "red" {
			f.Red = append(f.Red, x.Index)
		}
		f.Documents += numberIn(x.Count)
		f.Deleted += numberIn(x.Deleted)
		f.Bytes += numberIn(x.Size)
	}
	slices.Sort(f.Red)
	return err
}

// numberIn returns a number that is missing while a part of an index is missing.
func numberIn(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// off is a threshold above which nothing is logged.
const off = "-1"

func (c *Client) readSettings(ctx context.Context, prefix string, f *Facts) error {
	var indexes map[string]struct {
		Settings map[string]any `json:"settings"`
		Defaults map[string]any `json:"defaults"`
	}
	if err := c.get(ctx, "/"+url.PathEscape(prefix)+"*/_settings?flat_settings=true&include_defaults=true", &indexes); err != nil {
		return err
	}
	for name, index := range indexes {
		all := merged(index.Defaults, index.Settings)
		if all["index.translog.durability"] != "REQUEST" && all["index.translog.durability"] != "request" {
			f.Asynchronous = append(f.Asynchronous, name)
		}
		for setting, value := range all {
			log, _, found := strings.Cut(setting, ".slowlog.threshold.")
			if found && value != off && all[log+".slowlog.enabled"] != "false" {
				f.SlowLogs = append(f.SlowLogs, name)
				break
			}
		}
	}
	slices.Sort(f.Asynchronous)
	slices.Sort(f.SlowLogs)
	return nil
}

// keepsQueries reports whether Query Insights or the slow log of requests is on.
func (c *Client) keepsQueries(ctx context.Context) (bool, error) {
	var cluster struct {
		Persistent map[string]any `json:"persistent"`
		Transient  map[string]any `json:"transient"`
		Defaults   map[string]any `json:"defaults"`
	}
	if err := c.get(ctx, "/_cluster/settings?flat_settings=true&include_defaults=true", &cluster); err != nil {
		return false, err
	}
	for setting, value := range merged(cluster.Defaults, cluster.Persistent, cluster.Transient) {
		insights := strings.HasPrefix(setting, "search.insights.top_queries.") && strings.HasSuffix(setting, ".enabled")
		slow := strings.HasPrefix(setting, "cluster.search.request.slowlog.threshold.")
		if insights && value == "true" || slow && value != off {
			return true, nil
		}
	}
	return false, nil
}

// merged returns settings of which later ones replace earlier ones.
func merged(list ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, settings := range list {
		maps.Copy(all, settings)
	}
	return all
}

func (c *Client) get(ctx context.Context, path string, to any) error {
	answer, err := c.Do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, to); err != nil {
		return &Error{State: Failed, Status: http.StatusOK, Type: "the answer cannot be read"}
	}
	return nil
}

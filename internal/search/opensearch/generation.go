package opensearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// A workspace has two indexes: its documents and their words. Both together are a generation. Searches read them through two aliases,
// so a new generation is filled while the old one answers. Documents are written through other aliases, which belong to one
// generation: what is meant for a generation that is gone is refused, and OpenSearch creates no index by itself.

// names are those of the indexes and aliases of a workspace.
type names struct{ base string }

func namesOf(prefix, workspaceID string) names { return names{prefix + strings.ToLower(workspaceID)} }

// documents and words are the aliases that searches read.
func (n names) documents() string { return n.base }
func (n names) words() string     { return n.base + ".words" }

func (n names) index(number int) string { return n.base + "-" + strconv.Itoa(number) }

// What the names of a generation end with.
const (
	wordsEnd = ".words"
	writeEnd = ".write"
)

// generation is what is known of one.
type generation struct {
	number int
	index  string // of documents

	meta, wordsMeta   meta
	intact            bool // both mappings are those with which the indexes were created
	documents, words  bool // the indexes exist
	finished, serving bool // the aliases for writing and for searches exist
}

// meta is what an index says about itself. It contains no text of people.
type meta struct {
	Layout  int    `json:"layout"`
	Label   string `json:"label"`             // how the documents are indexed
	Owner   string `json:"owner,omitempty"`   // the installation
	Shards  int    `json:"shards"`            // of the documents
	Mapping string `json:"mapping,omitempty"` // a hash of the mappings after the index was created
}

func (m *meta) object() object {
	return object{"layout": m.Layout, "label": m.Label, "owner": m.Owner, "shards": m.Shards, "mapping": m.Mapping}
}

// current reports whether the generation is what would be created now, with at least some number of shards.
func (g *generation) current(label string, shards int) bool {
	return g.meta.Shards >= shards && g.documents && g.words && g.finished && g.intact && g.meta.Layout == Layout && g.meta.Label == label
}

// described is an index as OpenSearch describes it.
type described struct {
	Aliases  map[string]struct{} `json:"aliases"`
	Mappings map[string]any      `json:"mappings"`
}

// generations lists those of a workspace of an installation, by number. If one is another's, it returns an error.
func (c *Client) generations(ctx context.Context, n names, owner string) ([]*generation, error) {
	answer, err := c.Do(ctx, http.MethodGet, "/"+n.base+"-*?expand_wildcards=all&allow_no_indices=true&features=aliases,mappings", nil)
	if err != nil {
		var failed *Error
		if !errors.As(err, &failed) || failed.State != Refused {
			return nil, fmt.Errorf("list indexes: %w", err)
		}
		// Versions without features describe everything.
		if answer, err = c.Do(ctx, http.MethodGet, "/"+n.base+"-*?expand_wildcards=all&allow_no_indices=true", nil); err != nil {
			return nil, fmt.Errorf("list indexes: %w", err)
		}
	}
	var indexes map[string]described
	if err := json.Unmarshal(answer, &indexes); err != nil {
		return nil, &Error{State: Failed, Status: http.StatusOK, Type: "the list of indexes cannot be read"}
	}
	byNumber := map[int]*generation{}
	for name, d := range indexes {
		rest, ok := strings.CutPrefix(name, n.base+"-")
		digits, words := strings.CutSuffix(rest, wordsEnd)
		number, err := strconv.Atoi(digits)
		if !ok || err != nil || number < 1 {
			continue // another program's
		}
		g := byNumber[number]
		if g == nil {
			g = &generation{number: number, index: n.index(number), intact: true, finished: true, serving: true}
			byNumber[number] = g
		}
		m := metaOf(d.Mappings)
		if m.Owner != "" && m.Owner != owner {
			return nil, &Error{State: Foreign, Type: name}
		}
		read := n.documents()
		if words {
			g.words, g.wordsMeta, read = true, m, n.words()
		} else {
			g.documents, g.meta = true, m
		}
		_, written := d.Aliases[name+writeEnd]
		_, isRead := d.Aliases[read]
		g.finished = g.finished && written && m.Mapping != ""
		g.serving = g.serving && isRead
		g.intact = g.intact && (m.Mapping == "" || m.Mapping == hashOf(d.Mappings))
	}
	list := slices.SortedFunc(maps.Values(byNumber), func(a, b *generation) int { return a.number - b.number })
	for _, g := range list {
		g.serving = g.serving && g.documents && g.words
	}
	return list, nil
}

func metaOf(mappings map[string]any) (m meta) {
	text, err := json.Marshal(mappings["_meta"])
	if err == nil {
		_ = json.Unmarshal(text, &m) // another program's is different
	}
	return m
}

// hashOf identifies mappings, except for what an index says about itself.
func hashOf(mappings map[string]any) string {
	rest := maps.Clone(mappings)
	delete(rest, "_meta")
	sum := sha256.Sum256(encode(rest))
	return hex.EncodeToString(sum[:8])
}

// arranged is what to do with the generations of a workspace.
type arranged struct {
	serving  *generation   // nil: none
	building *generation   // that replaces it; nil: none
	create   int           // the number of the one to create for that; 0: none
	drop     []*generation // those of no use
}

// arrange decides what to do with generations, in the order of their numbers, if documents are now indexed as label says. outgrown
// reports whether the one that searches read is too large for its shards.
func arrange(list []*generation, label string, outgrown func(*generation) bool) (a arranged) {
	last, shards := 0, 1
	for _, g := range list {
		more := g.meta.Shards + 1
		begun := slices.ContainsFunc(list, func(other *generation) bool { return other != g && other.current(label, more) })
		if g.serving && (begun || outgrown(g)) {
			shards = more
		}
	}
	for _, g := range list {
		last = g.number
		switch {
		case g.serving:
			if a.serving != nil {
				a.drop = append(a.drop, a.serving)
			}
			a.serving = g
		case g.current(label, shards):
			if a.building != nil {
				a.drop = append(a.drop, a.building)
			}
			a.building = g
		default:
			a.drop = append(a.drop, g)
		}
	}
	switch {
	case a.serving != nil && a.serving.current(label, shards):
		if a.building != nil {
			a.drop = append(a.drop, a.building)
		}
		a.building = nil
	case a.building == nil:
		a.create = last + 1
	}
	return a
}

// create creates the indexes of a generation, and returns it. If another process does the same, one of both gets an error.
func (c *Client) create(ctx context.Context, n names, number int, m meta) (*generation, error) {
	g := &generation{number: number, index: n.index(number), documents: true, words: true, intact: true, finished: true}
	g.meta, g.wordsMeta = m, m
	for _, index := range []struct {
		name string
		body []byte
		meta *meta
	}{
		{g.index + wordsEnd, WordsIndex(0), &g.wordsMeta},
		{g.index, DocumentsIndex(m.Shards, 0), &g.meta},
	} {
		body, err := creation(index.body, index.name, index.meta)
		if err != nil {
			return nil, err
		}
		if _, err := c.Do(ctx, http.MethodPut, "/"+index.name, body); err != nil {
			return nil, fmt.Errorf("create an index: %w", err)
		}
		if err := c.sign(ctx, index.name, index.meta); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// creation completes the settings and mappings of an index. A copy of it is on another node, as soon as there is one.
func creation(body []byte, name string, m *meta) ([]byte, error) {
	var parts map[string]map[string]any
	if err := json.Unmarshal(body, &parts); err != nil {
		return nil, fmt.Errorf("complete the description of an index: %w", err)
	}
	parts["aliases"] = object{name + writeEnd: object{}}
	parts["mappings"]["_meta"] = m.object()
	settings, _ := parts["settings"]["index"].(map[string]any)
	delete(settings, "number_of_replicas")
	settings["auto_expand_replicas"] = "0-1"
	settings["translog.durability"] = "request"
	return encode(parts), nil
}

// sign writes the hash of an index's mappings into them, so that later changes are noticed.
func (c *Client) sign(ctx context.Context, name string, m *meta) error {
	answer, err := c.Do(ctx, http.MethodGet, "/"+name+"/_mapping", nil)
	if err != nil {
		return fmt.Errorf("read mappings: %w", err)
	}
	var indexes map[string]described
	if err := json.Unmarshal(answer, &indexes); err != nil || indexes[name].Mappings == nil {
		return &Error{State: Failed, Status: http.StatusOK, Type: "mappings cannot be read"}
	}
	m.Mapping = hashOf(indexes[name].Mappings)
	return c.describe(ctx, name, m)
}

func (c *Client) describe(ctx context.Context, name string, m *meta) error {
	body := encode(object{"_meta": m.object()})
	if _, err := c.Do(ctx, http.MethodPut, "/"+name+"/_mapping", body); err != nil {
		return fmt.Errorf("describe an index: %w", err)
	}
	return nil
}

// outdated is the label of a generation with documents that were indexed in different ways. It is never the right one.
const outdated = "outdated"

// markOutdated says that documents of a generation are from now on indexed in another way than the others.
func (c *Client) markOutdated(ctx context.Context, g *generation) error {
	if g.meta.Label == outdated {
		return nil
	}
	m := g.meta
	m.Label = outdated
	if err := c.describe(ctx, g.index, &m); err != nil {
		return err
	}
	g.meta = m
	return nil
}

// drop deletes indexes of a generation.
func (c *Client) drop(ctx context.Context, g *generation) error {
	for _, name := range []string{g.index, g.index + wordsEnd} {
		if _, err := c.Do(ctx, http.MethodDelete, "/"+name, nil); err != nil && StateOf(err) != Missing {
			return fmt.Errorf("delete an index: %w", err)
		}
	}
	return nil
}

// serve lets searches read a generation instead of another, which can be nil.
func (c *Client) serve(ctx context.Context, n names, g, instead *generation) error {
	type action map[string]object
	var actions []action
	if instead != nil {
		actions = append(actions, action{"remove": {"index": instead.index, "alias": n.documents()}},
			action{"remove": {"index": instead.index + wordsEnd, "alias": n.words()}})
	}
	actions = append(actions, action{"add": {"index": g.index, "alias": n.documents()}},
		action{"add": {"index": g.index + wordsEnd, "alias": n.words()}})
	if _, err := c.Do(ctx, http.MethodPost, "/_aliases", encode(object{"actions": actions})); err != nil {
		return fmt.Errorf("let searches read an index: %w", err)
	}
	g.serving = true
	return nil
}

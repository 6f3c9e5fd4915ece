package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"keepsake/internal/govern/usage"
	"keepsake/internal/web/endpoint"
)

// table is the routes of an API version: its own operations, those it inherits, and the paths without a version.
type table struct {
	number string // the value of X-API-Version
	root   node

	operations map[string]*route // by the operation's ID
	missing    *route            // the page at a path that does not exist; nil: there is none

	prefix  string // of the paths of this version: /api/v1/
	version *node  // the subtree below the prefix, which nearly all requests use
}

// node is a path segment. A name wins over a wildcard, whatever the method: /memories/recall is not /memories/{id}, and
// /memories/subjects/{subjectId} is next to /memories/{id}/history. http.ServeMux refuses the latter, and for a path with a
// wildcard takes longer than the rest of the pipeline (go run ./bench part).
type node struct {
	routes   []*route // of the path that ends here, by method
	names    map[string]*node
	wildcard *node
}

// route is a method and a path with an operation or a page.
type route struct {
	template string // /api/v1/documents/{id}; empty for no route
	name     string // GET /api/v1/documents/{id}; empty for no route
	method   string
	params   []string            // names of the wildcards
	op       *endpoint.Operation // nil for a page
	kind     kind                // of op
	page     func(x *charged) (page, error)
	usage    usage.Route
}

// page is a response without an operation: a description, a guide or a WebPage.
type page struct {
	status int // 0: 200
	media  []string
	body   []byte
	etag   string // empty for none
	zipped []byte // gzipped body; nil if it is not served compressed
}

// MigrationGuidePath is the path of the guide between two versions. A WebPage can show it in place of the page without styles.
const MigrationGuidePath = "/docs/api/migration/{guide}"

var noRoute route

// table returns the table of a version, and builds it on first use.
func (a *API) table(version int) (*table, error) {
	if known := *a.tables.Load(); version < len(known) && known[version] != nil {
		return known[version], nil
	}
	a.building.Lock()
	defer a.building.Unlock()
	known := *a.tables.Load()
	if version < len(known) && known[version] != nil {
		return known[version], nil
	}
	t, err := a.build(version)
	if err != nil {
		return nil, fmt.Errorf("routes of version %d: %w", version, err)
	}
	next := make([]*table, max(len(known), version+1))
	copy(next, known)
	next[version] = t
	a.tables.Store(&next)
	return t, nil
}

func (a *API) build(version int) (*table, error) {
	t := &table{number: strconv.Itoa(version), operations: map[string]*route{}}
	t.prefix = "/api/v" + t.number + "/"
	t.version = t.root.at(&route{}, t.prefix[:len(t.prefix)-1])
	for _, op := range a.o.Operations.Unversioned() {
		a.add(t, op.Method, op.Path, &route{op: op})
	}
	for _, op := range a.o.Operations.At(version) {
		a.add(t, op.Method, op.Route(version), &route{op: op})
	}
	if a.o.Surface != usage.Primary {
		return t, nil
	}
	if a.o.Document != nil {
		// Created on first use: it takes longer than the rest of a start.
		document := sync.OnceValues(func() (page, error) {
			text, err := a.o.Document(version)
			if err != nil {
				return page{}, fmt.Errorf("describe version %d: %w", version, err)
			}
			return documentPage(text), nil
		})
		serve := func(*charged) (page, error) { return document() }
		a.add(t, http.MethodGet, "/openapi.json", &route{page: serve})
		a.add(t, http.MethodGet, t.prefix+"openapi.json", &route{page: serve})
	}
	if !slices.ContainsFunc(a.o.Pages, func(p WebPage) bool { return p.Path == MigrationGuidePath }) {
		a.add(t, http.MethodGet, MigrationGuidePath, &route{page: (*charged).guide})
	}
	start := (*charged).home
	for _, p := range a.o.Pages {
		if p.Path == homePath {
			start = webRoute(p).page
			continue
		}
		a.add(t, p.Method, p.Path, webRoute(p))
	}
	a.add(t, http.MethodGet, homePath, &route{page: homeOrSummary(start)})
	if a.o.Missing != nil {
		t.missing = webRoute(WebPage{Serve: a.o.Missing})
	}
	return t, nil
}

// add adds a route. It panics if the method and path exist, because operations are declared in code.
func (a *API) add(t *table, method, template string, rt *route) {
	rt.template, rt.method, rt.name = template, method, method+" "+template
	rt.usage = a.o.Usage.Route(method, template)
	n := t.root.at(rt, template)
	if n.route(method) != nil {
		panic("api: " + rt.name + " is served twice")
	}
	n.routes = append(n.routes, rt)
	if rt.op == nil {
		return
	}
	rt.kind = kindOf(rt.op)
	t.operations[rt.op.ID] = rt
	if rt.op.TrailingSlash {
		n.child(rt, "").routes = n.routes
	}
}

// at returns the node of a route's template.
func (n *node) at(rt *route, template string) *node {
	for segment := range strings.SplitSeq(template[1:], "/") {
		n = n.child(rt, segment)
	}
	return n
}

// child returns the node of a segment of a template, and creates it if necessary.
func (n *node) child(rt *route, segment string) *node {
	if param, ok := strings.CutPrefix(segment, "{"); ok {
		rt.params = append(rt.params, strings.TrimSuffix(param, "}"))
		if n.wildcard == nil {
			n.wildcard = &node{}
		}
		return n.wildcard
	}
	if n.names[segment] == nil {
		if n.names == nil {
			n.names = map[string]*node{}
		}
		n.names[segment] = &node{}
	}
	return n.names[segment]
}

// route returns the route of a method, or nil.
func (n *node) route(method string) *route {
	for _, rt := range n.routes {
		if rt.method == method {
			return rt
		}
	}
	return nil
}

// find returns the route of a request and the values of its wildcards, or nil.
func (t *table) find(r *http.Request) (*route, []string) {
	n, values := t.node(r)
	if n == nil {
		return nil, nil
	}
	if r.Method == http.MethodHead {
		return n.route(http.MethodGet), values
	}
	return n.route(r.Method), values
}

// node returns the node of a request's path, or nil. A path is taken literally: an empty segment, `.`, `..` or a slash at
// its end makes it another path.
func (t *table) node(r *http.Request) (*node, []string) {
	p := r.URL.EscapedPath()
	if r.Method == http.MethodConnect || p == "" || p[0] != '/' {
		return nil, nil
	}
	if below, ok := strings.CutPrefix(p, t.prefix); ok {
		return t.version.find(below, nil)
	}
	return t.root.find(p[1:], nil)
}

// find returns the node of the rest of a path, with the values of the wildcards.
func (n *node) find(rest string, values []string) (*node, []string) {
	segment, rest, more := strings.Cut(rest, "/")
	if segment == "." || segment == ".." || segment == "" && (more || n.names[""] == nil) {
		return nil, nil
	}
	name, err := url.PathUnescape(segment)
	if err != nil {
		return nil, nil
	}
	if next := n.names[name]; next != nil {
		if found, all := next.reach(rest, more, values); found != nil {
			return found, all
		}
	}
	if n.wildcard == nil {
		return nil, nil
	}
	return n.wildcard.reach(rest, more, append(values, name))
}

// reach is find below a segment that matched.
func (n *node) reach(rest string, more bool, values []string) (*node, []string) {
	switch {
	case more:
		return n.find(rest, values)
	case n.routes == nil:
		return nil, nil
	default:
		return n, values
	}
}

// setPathValues sets the values of the wildcards for r.PathValue.
func (rt *route) setPathValues(r *http.Request, values []string) {
	for i, name := range rt.params {
		r.SetPathValue(name, values[i])
	}
}

// allMethods are all methods that some path has, as in the Allow header.
const allMethods = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"

// allow returns the methods of a path for the Allow header; empty for an unknown path.
func (t *table) allow(r *http.Request) string {
	n, _ := t.node(r)
	if n == nil {
		return ""
	}
	list := []string{http.MethodOptions}
	for _, rt := range n.routes {
		list = append(list, rt.method)
		if rt.method == http.MethodGet {
			list = append(list, http.MethodHead)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

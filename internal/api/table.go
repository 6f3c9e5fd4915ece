package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"keepsake/internal/endpoint"
	"keepsake/internal/usage"
)

// table is what one API version serves: its own operations, those it inherits, and the paths without a version.
type table struct {
	number string // the value of X-API-Version
	root   node

	prefix  string // of the paths of this version: /api/v1/
	version *node  // what is below it, because nearly all requests are
}

// node is the part of a path up to a segment. A name wins over a wildcard, whatever the method: /memories/recall is not
// /memories/{id}, and /memories/subjects/{subjectId} stands beside /memories/{id}/history. http.ServeMux refuses the latter,
// and takes several times as long, which is more than all else that governs a request with a wildcard in its path
// (go run ./bench part).
type node struct {
	routes   []*route // of the path that ends here, by method
	names    map[string]*node
	wildcard *node
}

// route is a method and a path that are served: by an operation, or as a page.
type route struct {
	template string // /api/v1/documents/{id}; empty for no route
	name     string // GET /api/v1/documents/{id}; empty for no route
	method   string
	params   []string            // names of the wildcards
	op       *endpoint.Operation // nil for a page
	page     func(x *requestState) (page, error)
	usage    usage.Route
}

// page is an answer that no operation gives: a description, a guide.
type page struct {
	media  []string
	body   []byte
	etag   string // empty for none
	zipped []byte // body for who takes gzip; nil where nobody gets it compressed
}

var noRoute route

// table gives the table of a version, and builds it where it is asked for the first time.
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
	t := &table{number: strconv.Itoa(version)}
	t.prefix = "/api/v" + t.number + "/"
	t.version = t.root.at(&route{}, t.prefix[:len(t.prefix)-1])
	for _, op := range a.o.Operations.Unversioned() {
		a.add(t, op.Method, op.Path, &route{op: op})
	}
	if a.o.Surface != usage.Primary {
		return t, nil
	}
	for _, op := range a.o.Operations.At(version) {
		a.add(t, op.Method, op.Route(version), &route{op: op})
	}
	if a.o.Document != nil {
		// Made when it is first asked for: it takes longer than everything else a start does.
		document := sync.OnceValues(func() (page, error) {
			text, err := a.o.Document(version)
			if err != nil {
				return page{}, fmt.Errorf("describe version %d: %w", version, err)
			}
			return documentPage(text)
		})
		serve := func(*requestState) (page, error) { return document() }
		a.add(t, http.MethodGet, "/openapi.json", &route{page: serve})
		a.add(t, http.MethodGet, t.prefix+"openapi.json", &route{page: serve})
	}
	a.add(t, http.MethodGet, "/docs/api/migration/{guide}", &route{page: (*requestState).guide})
	return t, nil
}

// add serves a route. Two for one method and path panic: operations are declared in code.
func (a *API) add(t *table, method, template string, rt *route) {
	rt.template, rt.method, rt.name = template, method, method+" "+template
	rt.usage = a.o.Usage.Route(method, template)
	n := t.root.at(rt, template)
	if n.route(method) != nil {
		panic("api: " + rt.name + " is served twice")
	}
	n.routes = append(n.routes, rt)
}

// at gives what the template of a route leads to.
func (n *node) at(rt *route, template string) *node {
	for segment := range strings.SplitSeq(template[1:], "/") {
		n = n.child(rt, segment)
	}
	return n
}

// child gives what a segment of a route's template leads to, and makes it where there is none yet.
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

// route gives the route of a method; nil for none.
func (n *node) route(method string) *route {
	for _, rt := range n.routes {
		if rt.method == method {
			return rt
		}
	}
	return nil
}

// find gives the route of a request and the values of its wildcards; nil for none.
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

// node gives what a request's path leads to; nil for none. A path counts as it is written: one with an empty segment, `.` or
// `..`, or a slash at its end is another path, and there is nothing.
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

// find gives what the rest of a path leads to from here, with the values of the wildcards on the way.
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

// reach is find once a segment led here: with more to come, or at the end of the path.
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

// setPathValues makes the values of the wildcards known as r.PathValue.
func (rt *route) setPathValues(r *http.Request, values []string) {
	for i, name := range rt.params {
		r.SetPathValue(name, values[i])
	}
}

// allMethods is every method an operation can have, as the Allow header lists them.
const allMethods = "DELETE, GET, PATCH, POST, PUT"

// allow lists the methods a path has, as the Allow header does; empty for a path that is none.
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

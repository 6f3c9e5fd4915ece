package api

import (
	"fmt"
	"net/http"
	"path"
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
	// areas hold the routes; the last one is everything that is in no other. Those before are below a name that a wildcard
	// of a wider area would match, too: /memories/subjects/{subjectId} beside /memories/{id}/history.
	areas []area
	// fixed finds the routes without wildcards by method, space, path. They are the frequent ones, and need no tree.
	fixed map[string]*route
	// literal holds the methods of the paths without wildcards. Such a path is no other one's, whatever the method: /memories/recall
	// is not /memories/{id}.
	literal map[string][]string
}

// area is the routes whose path begins with prefix.
type area struct {
	prefix string
	mux    *http.ServeMux
}

// route is a method and a path that are served: by an operation, or as a page.
type route struct {
	template string              // /api/v1/documents/{id}; empty for no route
	name     string              // GET /api/v1/documents/{id}; empty for no route
	op       *endpoint.Operation // nil for a page
	page     func(x *exchange) (page, error)
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

// ServeHTTP is called by the mux of a table with a match as the writer: it notes the route, and leaves the answering to
// the exchange.
func (rt *route) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.(*match).route = rt
}

// match is what the mux writes into.
type match struct {
	http.ResponseWriter
	route *route
}

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
	t := &table{number: strconv.Itoa(version), fixed: map[string]*route{}, literal: map[string][]string{}}
	t.part(a.templates(version))
	for _, op := range a.o.Operations.Unversioned() {
		a.add(t, op.Method, op.Path, &route{op: op})
	}
	if a.o.Surface != usage.Primary {
		return t, nil
	}
	prefix := "/api/v" + t.number
	for _, op := range a.o.Operations.At(version) {
		a.add(t, op.Method, prefix+op.Path, &route{op: op})
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
		serve := func(*exchange) (page, error) { return document() }
		a.add(t, http.MethodGet, "/openapi.json", &route{page: serve})
		a.add(t, http.MethodGet, prefix+"/openapi.json", &route{page: serve})
	}
	a.add(t, http.MethodGet, "/docs/api/migration/{guide}", &route{page: (*exchange).guide})
	return t, nil
}

// templates lists the paths of a version's operations.
func (a *API) templates(version int) []string {
	var list []string
	for _, op := range slices.Concat(a.o.Operations.Unversioned(), a.o.Operations.At(version)) {
		list = append(list, op.Route(version))
	}
	return list
}

// part makes the areas that these paths need. The mux knows no order between a name and a wildcard further left; here the
// name wins.
func (t *table) part(templates []string) {
	named := map[string]bool{}
	for _, template := range templates {
		if named[literal(template)] || !strings.Contains(template, "{") {
			continue
		}
		named[literal(template)] = slices.ContainsFunc(templates, func(other string) bool {
			return len(literal(other)) < len(literal(template)) && strings.Contains(other, "{") && strings.HasPrefix(template, literal(other))
		})
	}
	for prefix, apart := range named {
		if apart {
			t.areas = append(t.areas, area{prefix, http.NewServeMux()})
		}
	}
	slices.SortFunc(t.areas, func(a, b area) int { return strings.Compare(b.prefix, a.prefix) }) // the longer before its own beginning
	t.areas = append(t.areas, area{"/", http.NewServeMux()})
	for _, a := range t.areas {
		a.mux.Handle("/", &noRoute)
	}
}

// literal is a path up to its first wildcard.
func literal(template string) string {
	prefix, _, _ := strings.Cut(template, "{")
	return prefix
}

// add serves a route. A pattern that clashes with another panics: operations are declared in code.
func (a *API) add(t *table, method, template string, rt *route) {
	rt.template, rt.name = template, method+" "+template
	rt.usage = a.o.Usage.Route(method, template)
	if !strings.Contains(template, "{") {
		t.fixed[rt.name] = rt
		t.literal[template] = append(t.literal[template], method)
	}
	for _, a := range t.areas {
		if strings.HasPrefix(template, a.prefix) {
			a.mux.Handle(rt.name, rt)
			return
		}
	}
}

// methods is every method an operation can have.
var methods = [...]string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut}

// find gives the route of a request; nil for none. Paths that the mux would redirect are none.
func (t *table) find(r *http.Request) *route {
	if r.URL.RawPath == "" && len(r.Method)+len(r.URL.Path) < 64 {
		var buf [64]byte
		key := append(append(append(buf[:0], r.Method...), ' '), r.URL.Path...)
		if rt := t.fixed[string(key)]; rt != nil {
			return rt
		}
	}
	if !clean(r) {
		return nil
	}
	if t.literal[literalPath(r)] != nil {
		if r.Method == http.MethodHead {
			return t.fixed[http.MethodGet+" "+r.URL.Path]
		}
		return t.fixed[r.Method+" "+r.URL.Path]
	}
	for _, a := range t.areas {
		if !strings.HasPrefix(r.URL.Path, a.prefix) {
			continue
		}
		var m match
		if a.mux.ServeHTTP(&m, r); m.route != &noRoute {
			return m.route
		}
		if a.methods(r) != nil {
			return nil // the path is this area's, without this method
		}
	}
	return nil
}

// literalPath is the path of a request as paths without wildcards are written. One with an encoded slash is none of them.
func literalPath(r *http.Request) string {
	if strings.Contains(r.URL.RawPath, "%2F") || strings.Contains(r.URL.RawPath, "%2f") {
		return ""
	}
	return r.URL.Path
}

// allow lists the methods a path has, as the Allow header does; empty for a path that is none.
func (t *table) allow(r *http.Request) string {
	if !clean(r) {
		return ""
	}
	list := slices.Clone(t.literal[literalPath(r)])
	for _, a := range t.areas {
		if list == nil && strings.HasPrefix(r.URL.Path, a.prefix) {
			list = a.methods(r)
		}
	}
	if list == nil {
		return ""
	}
	if slices.Contains(list, http.MethodGet) {
		list = append(list, http.MethodHead)
	}
	list = append(list, http.MethodOptions)
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// methods lists the methods that the path of a request has in an area.
func (a area) methods(r *http.Request) (list []string) {
	probe := http.Request{URL: r.URL, Host: r.Host}
	for _, method := range methods {
		probe.Method = method
		if h, _ := a.mux.Handler(&probe); h != http.Handler(&noRoute) {
			list = append(list, method)
		}
	}
	return list
}

// clean reports whether the path is as it would be written down: absolute, without empty, `.` or `..` segments and
// without a slash at its end. Another spelling is another path, and there is nothing.
func clean(r *http.Request) bool {
	p := r.URL.EscapedPath()
	if r.Method == http.MethodConnect || p == "" || p[0] != '/' {
		return false
	}
	return p == "/" || (path.Clean(p) == p && p[len(p)-1] != '/')
}

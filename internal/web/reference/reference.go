// Package reference is the documentation at /docs: the operations of the API with forms to try them, the guides, the error
// codes and the changelog. All of it is in the program, so it is there on a closed network, and describes this release.
//
// The pages are templ components (*.templ); `make console` generates their Go code. They use the style sheet of the console.
package reference

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/api"
)

// Options is what the reference is made of.
type Options struct {
	Texts    fs.FS                             // CHANGELOG.md and docs/*.md
	Release  string                            // of the program; can be empty
	Document func(version int) ([]byte, error) // the OpenAPI document of a version
	Versions func() *lifecycle.Snapshot
	BasePath api.BasePath
	Style    string // the path of the console's style sheet
	Icon     string // the path of an icon
	Agents   string // the URL of the AI services, if they have a listener of their own; else empty
}

// Reference serves the pages.
type Reference struct {
	o      Options
	guides func() []guide // rendered by the first call
	assets map[string]api.WebResponse
	sum    string // of the assets

	mu    sync.Mutex
	found map[int]*description // by version
	kept  map[string]api.WebResponse
	state string // of the versions, which kept pages show
}

// New returns the reference.
func New(o Options) (*Reference, error) {
	list, err := readGuides(o.Texts)
	if err != nil {
		return nil, err
	}
	r := &Reference{o: o, found: map[int]*description{}, guides: sync.OnceValue(func() []guide { return renderGuides(list) })}
	return r, r.loadAssets()
}

// Pages returns all pages. Everything that they show is public.
func (r *Reference) Pages() []api.WebPage {
	page := func(path string, serve func(*visit) templ.Component) api.WebPage {
		return api.WebPage{Method: http.MethodGet, Path: path, Serve: func(v *api.Visit) api.WebResponse { return r.show(v, serve) }}
	}
	raw := func(path string, serve func(*api.Visit) api.WebResponse) api.WebPage {
		return api.WebPage{Method: http.MethodGet, Path: path, Serve: serve}
	}
	return []api.WebPage{
		page("/docs", (*visit).home),
		page("/docs/guides/{name}", (*visit).guide),
		page("/docs/api", (*visit).current),
		page("/docs/api/{version}", (*visit).version),
		page("/docs/api/{version}/{group}", (*visit).group),
		page(api.MigrationGuidePath, (*visit).migration),
		page("/docs/errors", (*visit).errors),
		page("/docs/changelog", (*visit).changelog),
		raw("/docs/search", r.searched),
		raw("/docs/text/{name}", r.text),
		raw("/llms.txt", r.index),
		raw("/docs/asset/{sum}/{name}", r.asset),
	}
}

// NotFound is the page for browsers at a path that does not exist.
func (r *Reference) NotFound(v *api.Visit) api.WebResponse {
	return r.show(v, (*visit).missing)
}

// policy is that of the console: a page uses only what this instance serves, and no inline script or style.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// visit is a request for a page, and what its frame shows.
type visit struct {
	r        *Reference
	from     *api.Visit
	at       time.Time
	versions *lifecycle.Snapshot

	Title   string
	Section string // the path of the navigation that is open
	Query   string
	status  int
}

// show renders a page. All visitors see the same, so pages are kept until a version of the API changes.
func (r *Reference) show(from *api.Visit, serve func(*visit) templ.Component) api.WebResponse {
	v := &visit{r: r, from: from, at: from.At(), versions: r.o.Versions(), status: http.StatusOK}
	path, state := from.URL.Path, v.state()
	r.mu.Lock()
	if r.state != state {
		r.state, r.kept = state, map[string]api.WebResponse{}
	}
	kept, ok := r.kept[path]
	r.mu.Unlock()
	if ok {
		return kept
	}
	shown := serve(v)
	if v.status == http.StatusNotFound && !from.PrefersHTML() {
		return api.WebResponse{Status: http.StatusNotFound}
	}
	resp := v.respond(shown)
	if resp.Status == http.StatusOK { // so no more than all pages that exist
		r.mu.Lock()
		if r.state == state {
			r.kept[path] = resp
		}
		r.mu.Unlock()
	}
	return resp
}

// state returns what pages show of the versions.
func (v *visit) state() string {
	var b strings.Builder
	for _, of := range v.versions.All() {
		fmt.Fprintf(&b, "%d %d %s %s;", of.Number, of.Revision, of.At(v.at), of.NextCheck(v.at))
	}
	return b.String()
}

// respond renders a page for the browser.
func (v *visit) respond(page templ.Component) api.WebResponse {
	var body bytes.Buffer
	if err := frame(v, page).Render(context.Background(), &body); err != nil {
		return plain(http.StatusInternalServerError, "text/plain; charset=utf-8", "The page could not be rendered.")
	}
	resp := plain(v.status, "text/html; charset=utf-8", string(v.r.o.BasePath.HTML(body.Bytes())))
	resp.Header.Set("Content-Security-Policy", policy)
	return resp
}

// plain returns a response, compressed for clients that accept it, with a tag by which they keep it.
func plain(status int, media, text string) api.WebResponse {
	resp := api.WebResponse{Status: status, Body: []byte(text), Zipped: api.Zip([]byte(text)), Header: http.Header{
		"Content-Type":                 {media},
		"Content-Security-Policy":      {"default-src 'none'; frame-ancestors 'none'"},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
		"Referrer-Policy":              {"same-origin"},
		"Permissions-Policy":           {"camera=(), geolocation=(), microphone=()"},
		"Cache-Control":                {"no-cache"},
	}}
	if status == http.StatusOK {
		sum := sha256.Sum256(resp.Body)
		resp.ETag = `"` + hex.EncodeToString(sum[:16]) + `"`
	}
	return resp
}

// missing is the page for an address without one.
func (v *visit) missing() templ.Component {
	v.Title, v.status = "Not found", http.StatusNotFound
	return missingPage()
}

func (v *visit) home() templ.Component {
	v.Title, v.Section = "Documentation", "/docs"
	return homePage(v)
}

func (v *visit) errors() templ.Component {
	v.Title, v.Section = "Error codes", "/docs/errors"
	return errorsPage(v)
}

func (v *visit) changelog() templ.Component {
	v.Title, v.Section = "Changelog", "/docs/changelog"
	return guidePage(v, v.r.guide("changelog"))
}

func (v *visit) guide() templ.Component {
	g := v.r.guide(v.from.PathValue("name"))
	if g == nil || g.Name == "changelog" {
		return v.missing()
	}
	v.Title, v.Section = g.Title, g.Path
	return guidePage(v, g)
}

// migration is the guide between two versions, which the API renders for programs without the reference, too.
func (v *visit) migration() templ.Component {
	title, body, ok := v.from.MigrationGuide()
	if !ok {
		return v.missing()
	}
	v.Title, v.Section = title, v.from.URL.Path
	return migrationPage(body)
}

// description returns the description of a version, or nil if there is no such version or it is retired.
func (v *visit) description(version int) *description {
	known := v.versions.Version(version)
	if known == nil || known.At(v.at) == lifecycle.Retired {
		return nil
	}
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	if d := v.r.found[version]; d != nil {
		return d
	}
	text, err := v.r.o.Document(version)
	if err != nil {
		return nil
	}
	d, err := describe(version, text)
	if err != nil {
		return nil
	}
	v.r.found[version] = d
	return d
}

func (v *visit) current() templ.Component { return v.showVersion(v.versions.Current().Number) }

func (v *visit) version() templ.Component {
	return v.showVersion(versionOf(v.from.PathValue("version")))
}

func (v *visit) showVersion(number int) templ.Component {
	d := v.description(number)
	if d == nil {
		return v.missing()
	}
	v.Title, v.Section = fmt.Sprintf("API, version %d", number), d.path()
	return versionPage(v, d)
}

func (v *visit) group() templ.Component {
	d := v.description(versionOf(v.from.PathValue("version")))
	if d == nil {
		return v.missing()
	}
	for i := range d.Groups {
		if g := &d.Groups[i]; g.Slug == v.from.PathValue("group") {
			v.Title, v.Section = g.Name, d.path()+"/"+g.Slug
			return groupPage(v, d, g)
		}
	}
	return v.missing()
}

// versionOf parses `v1`; 0 if it is no version.
func versionOf(name string) int {
	number, err := strconv.Atoi(strings.TrimPrefix(name, "v"))
	if err != nil || name != "v"+strconv.Itoa(number) {
		return 0
	}
	return number
}

func (d *description) path() string { return "/docs/api/v" + strconv.Itoa(d.Version) }

package reference

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"

	"keepsake/internal/web/api"
)

// guide is a text of docs/, or the changelog.
type guide struct {
	Name     string // of its file, without .md
	Path     string
	Title    string
	Summary  string // its first sentence
	Text     string // as Markdown
	HTML     string
	Headings []heading // of the second level, for the contents
	parts    []part
}

// guideOrder is the order of the guides: to begin, to use, to run. Guides that are not in it come last.
var guideOrder = []string{
	"concepts", "tutorial", "api", "import", "console", "search", "memory", "agents", "browser", "clients", "client", "webhooks", "analytics",
	"roles", "tenants", "forward-auth", "versioning",
	"recipes", "kubernetes", "settings", "backups", "instances", "scaling", "security", "privacy", "metrics", "http", "glossary", "changelog",
}

// readGuides reads the texts.
func readGuides(texts fs.FS) ([]guide, error) {
	list := make([]guide, 0, len(guideOrder))
	for _, name := range guideOrder {
		file, address := "docs/"+name+".md", "/docs/guides/"+name
		if name == "changelog" {
			file, address = "CHANGELOG.md", "/docs/changelog"
		}
		text, err := fs.ReadFile(texts, file)
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		list = append(list, guide{Name: name, Path: address, Text: string(text)})
	}
	return list, nil
}

// renderGuides sets what follows from the texts. It takes a tenth of a start, and most processes show no guide.
func renderGuides(list []guide) []guide {
	for i := range list {
		g := &list[i]
		html, headings := renderMarkdown(g.Text, linkTo)
		g.HTML, g.Title, g.Summary = html, first(headings, 1), summary(html)
		for _, h := range headings {
			if h.Level == 2 {
				g.Headings = append(g.Headings, h)
			}
		}
		g.parts = partsOf(g)
	}
	return list
}

// linkTo returns the address of a link in a guide: a heading, another guide, or another site.
func linkTo(dest string) string {
	file, anchor, _ := strings.Cut(dest, "#")
	if anchor != "" {
		anchor = "#" + anchor
	}
	name, markdown := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(file, "../"), "docs/"), ".md")
	switch {
	case file == "" || strings.HasPrefix(dest, "https://") || strings.HasPrefix(dest, "http://"):
		return dest
	case name == "CHANGELOG" && markdown:
		return "/docs/changelog" + anchor
	case markdown:
		for _, known := range guideOrder {
			if name == known {
				return "/docs/guides/" + name + anchor
			}
		}
	}
	return ""
}

var firstParagraph = regexp.MustCompile(`(?s)<p>(.*?)</p>`)

// summary returns the first sentence of a page.
func summary(html string) string {
	m := firstParagraph.FindStringSubmatch(html)
	if m == nil {
		return ""
	}
	text := strings.ReplaceAll(withoutTags(m[1]), "\n", " ")
	if i := strings.IndexAny(text, ".:"); i >= 0 {
		for i < len(text)-1 && text[i+1] != ' ' {
			next := strings.IndexAny(text[i+1:], ".:")
			if next < 0 {
				return text
			}
			i += 1 + next
		}
		text = text[:i] + "."
	}
	return text
}

// guide returns a guide by name, or nil.
func (r *Reference) guide(name string) *guide {
	list := r.guides()
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// text serves a guide as Markdown, for programs that read.
func (r *Reference) text(v *api.Visit) api.WebResponse {
	name, _ := strings.CutSuffix(path.Base(v.URL.Path), ".md")
	if g := r.guide(name); g != nil && strings.HasSuffix(v.URL.Path, ".md") {
		return plain(http.StatusOK, "text/markdown; charset=utf-8", g.Text)
	}
	return api.WebResponse{Status: http.StatusNotFound}
}

// index serves /llms.txt, the list of texts for language models (llmstxt.org).
func (r *Reference) index(v *api.Visit) api.WebResponse {
	var b strings.Builder
	b.WriteString("# Keepsake\n\n> Search and long-term memory behind one governed API: API keys with scopes, limits and quotas, " +
		"versions, usage, and memories that are encrypted for each person.\n\n" +
		"Requests need an API key in the header X-API-Key. Bodies are JSON; a request with an unknown field is refused. " +
		"Errors have a stable code in `error`, and `details` that name the field.\n\n## API\n\n")
	for _, known := range r.o.Versions().All() {
		fmt.Fprintf(&b, "- [OpenAPI, version %[2]d](%[1]s): every operation, its fields, scopes and errors\n", v.Link(fmt.Sprintf("/api/v%d/openapi.json", known.Number)), known.Number)
	}
	fmt.Fprintf(&b, "- [Error codes](%s): what each code means, and what to do\n", v.Link("/docs/errors"))
	const tools = "tools for agents; an API key as bearer token"
	if r.o.Agents == "" {
		fmt.Fprintf(&b, "- [Model Context Protocol](%s): %s\n", v.Link("/ai/mcp"), tools)
	} else if agents, err := url.Parse(r.o.Agents); err == nil && agents.Hostname() == "localhost" { // the reader can be on another machine
		fmt.Fprintf(&b, "- Model Context Protocol, at /ai/mcp on port %s of this host: %s\n", agents.Port(), tools)
	} else {
		fmt.Fprintf(&b, "- [Model Context Protocol](%s/ai/mcp): %s\n", r.o.Agents, tools)
	}
	b.WriteString("\n## Guides\n\n")
	for _, g := range r.guides() {
		fmt.Fprintf(&b, "- [%s](%s): %s\n", g.Title, v.Link("/docs/text/"+g.Name+".md"), g.Summary)
	}
	return plain(http.StatusOK, "text/plain; charset=utf-8", b.String())
}

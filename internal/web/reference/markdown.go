package reference

import (
	"bytes"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	markup "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown is CommonMark with tables. It has no parsers of HTML, so HTML in a guide is shown as text.
var markdown = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)),
	goldmark.WithExtensions(extension.Table),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(elements{}, 1))),
)

// heading is a heading of a text.
type heading struct {
	Level    int
	ID, Text string
}

// renderMarkdown returns a text as HTML, with its headings. link returns the address of a link; empty: there is no such page.
func renderMarkdown(source string, link func(dest string) string) (string, []heading) {
	p := page{source: []byte(source), link: link, ids: map[string]int{}}
	root := markdown.Parser().Parse(markup.NewReader(p.source))
	var nodes []ast.Node // the tree must not change during the walk
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			nodes = append(nodes, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range nodes {
		p.change(n)
	}
	return p.render(root), p.headings
}

// prose shows a description of the OpenAPI document, which is CommonMark.
func prose(text string) templ.Component {
	rendered, _ := renderMarkdown(text, func(string) string { return "" })
	return templ.Raw(rendered)
}

// phrase is prose for a text of one paragraph, without the element of the paragraph.
func phrase(text string) templ.Component {
	rendered, _ := renderMarkdown(text, func(string) string { return "" })
	rendered = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(rendered), "<p>"), "</p>")
	return templ.Raw(rendered)
}

// page is a text that is rendered.
type page struct {
	source   []byte
	link     func(dest string) string
	headings []heading
	ids      map[string]int
}

// render returns the HTML of a node. The renderer only fails if its writer does.
func (p *page) render(n ast.Node) string {
	var out bytes.Buffer
	_ = markdown.Renderer().Render(&out, p.source, n)
	return out.String()
}

// change gives a heading its ID, and links their addresses. A link leads to another heading, page or site, and to nothing else.
func (p *page) change(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		h := heading{Level: n.Level, Text: strings.TrimSpace(withoutTags(p.render(n)))}
		h.ID = p.headingID(h.Text)
		n.SetAttributeString("id", []byte(h.ID))
		p.headings = append(p.headings, h)
	case *ast.Link:
		if href := p.link(string(n.Destination)); href != "" {
			n.Destination = []byte(href)
		} else { // it names the file
			replace(n, "<code>docs/"+html.EscapeString(string(n.Destination))+"</code>")
		}
	case *ast.AutoLink:
		if dest := string(n.URL(p.source)); !strings.HasPrefix(dest, "https://") && !strings.HasPrefix(dest, "http://") {
			replace(n, html.EscapeString("<"+string(n.Label(p.source))+">"))
		}
	case *ast.CodeSpan: // one that names a guide is a link to it
		code := p.render(n)
		name, ok := strings.CutPrefix(withoutTags(code), "docs/")
		if _, linked := n.Parent().(*ast.Link); linked || !ok || !strings.HasSuffix(name, ".md") {
			return
		}
		if href := p.link(name); href != "" {
			replace(n, `<a href="`+html.EscapeString(href)+`">`+code+"</a>")
		}
	}
}

// replace puts HTML in the place of a node.
func replace(n ast.Node, with string) {
	s := ast.NewString([]byte(with))
	s.SetCode(true) // it is written as it is
	n.Parent().ReplaceChild(n.Parent(), n, s)
}

// headingID returns the anchor of a heading: its letters and digits in lower case, with hyphens for spaces, as on GitHub.
func (p *page) headingID(text string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
	slug = strings.Trim(slug, "-")
	if slug == "" {
		slug = "section"
	}
	n := p.ids[slug]
	p.ids[slug]++
	if n > 0 {
		slug += "-" + strconv.Itoa(n)
	}
	return slug
}

// first returns the first heading of a level.
func first(list []heading, level int) string {
	if i := slices.IndexFunc(list, func(h heading) bool { return h.Level == level }); i >= 0 {
		return list[i].Text
	}
	return ""
}

package reference

import (
	"html"

	"github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// elements renders what a page has in its own way: what is wider than the page can be scrolled with the keyboard, numbers are
// aligned by the style sheet, and an image is its text, because a page loads nothing.
type elements struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (e elements) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindCodeBlock, e.code)
	r.Register(ast.KindFencedCodeBlock, e.code)
	r.Register(ast.KindImage, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkContinue, nil })
	r.Register(table.KindTable, e.table)
	r.Register(table.KindTableCell, e.cell)
}

func (elements) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<pre tabindex="0"><code`)
	if fenced, ok := n.(*ast.FencedCodeBlock); ok {
		if language := fenced.Language(source); language != nil {
			_, _ = w.WriteString(` class="language-` + html.EscapeString(string(language)) + `"`)
		}
	}
	_, _ = w.WriteString(">")
	for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
		_, _ = w.Write(util.EscapeHTML(line.Value(source)))
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkContinue, nil
}

func (elements) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString("<div class=\"scroll\" tabindex=\"0\">\n<table>\n")
	} else {
		_, _ = w.WriteString("</table>\n</div>\n")
	}
	return ast.WalkContinue, nil
}

func (elements) cell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if n.Parent().Kind() == table.KindTableHeader && n.HasChildren() { // an empty cell is no heading
		tag = "th"
	}
	switch align := n.(*table.TableCell).Alignment; {
	case !entering:
		_, _ = w.WriteString("</" + tag + ">\n")
	case align == table.AlignRight || align == table.AlignCenter:
		_, _ = w.WriteString("<" + tag + ` class="number">`)
	default:
		_, _ = w.WriteString("<" + tag + ">")
	}
	return ast.WalkContinue, nil
}

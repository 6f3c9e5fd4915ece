package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability/v2"
	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// The limits of a page whose article is looked for. A larger one, or one that takes longer, becomes all of its text, which is read in
// one pass.
const (
	maxPage     = 4 << 20 // bytes
	maxElements = 50_000
	maxTime     = 20 * time.Second
)

// readHTML reads a page: its article as Markdown if there is one, else all of its text.
func readHTML(ctx context.Context, path string) (File, error) {
	in, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	page, err := readAll(in, maxPage)
	if err == nil {
		if f, ok := articleWithin(ctx, page); ok {
			return f, nil
		}
	} else if !errors.Is(err, errTooLong) {
		return File{}, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return File{}, err
	}
	return pageText(in)
}

// articleWithin is article within maxTime. ok is false if it finds none.
func articleWithin(ctx context.Context, page []byte) (File, bool) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	found := make(chan *File, 1)
	go func() {
		defer func() {
			if recover() != nil { // of a library, about a page that it did not expect
				found <- nil
			}
		}()
		f, err := article(page)
		if err != nil {
			found <- nil
			return
		}
		found <- &f
	}()
	select {
	case f := <-found:
		if f == nil {
			return File{}, false
		}
		return *f, true
	case <-ctx.Done():
		return File{}, false
	}
}

// article finds the article of a page and converts it to Markdown.
func article(page []byte) (File, error) {
	in, err := charset.NewReader(bytes.NewReader(page), "text/html")
	if err != nil {
		return File{}, fmt.Errorf("read the character set: %w", err)
	}
	doc, err := html.Parse(in)
	if err != nil {
		return File{}, fmt.Errorf("parse HTML: %w", err)
	}
	f := File{URL: canonical(doc)}
	all := len(strings.Fields(textIn(doc)))
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxElements
	a, err := parser.ParseDocument(doc, nil)
	if err != nil {
		return File{}, fmt.Errorf("find the article: %w", err)
	}
	if a.Node == nil {
		return File{}, errors.New("there is no article")
	}
	markdown, err := htmltomarkdown.ConvertNode(a.Node)
	if err != nil {
		return File{}, fmt.Errorf("convert to Markdown: %w", err)
	}
	f.Title, f.Text = a.Title(), string(markdown)
	if len(strings.Fields(f.Text)) < all/4 { // a page of lists or tables
		return File{}, errors.New("the article is a small part of the page")
	}
	return f, nil
}

// canonical returns the URL that a page names as its own.
func canonical(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.DataAtom != atom.Link {
			continue
		}
		rel, href := "", ""
		for _, a := range n.Attr {
			switch a.Key {
			case "rel":
				rel = a.Val
			case "href":
				href = a.Val
			}
		}
		if strings.EqualFold(rel, "canonical") && (strings.HasPrefix(href, "https://") || strings.HasPrefix(href, "http://")) && len(href) <= 2_000 {
			return href
		}
	}
	return ""
}

// textIn returns the text of the body of a page.
func textIn(doc *html.Node) string {
	var text strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode && n.Parent != nil && !hidden[n.Parent.DataAtom] {
			text.WriteString(n.Data)
			text.WriteByte(' ')
		}
	}
	return text.String()
}

// hidden are elements whose text no reader sees.
var hidden = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Title: true, atom.Textarea: true, atom.Iframe: true, atom.Svg: true,
}

// inline are elements that do not end a line.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Cite: true, atom.Code: true, atom.Em: true, atom.Font: true, atom.I: true,
	atom.Img: true, atom.Input: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true,
	atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.U: true, atom.Var: true, atom.Wbr: true,
}

// pageText reads all of the text of a page in one pass.
func pageText(r io.Reader) (File, error) {
	in, err := charset.NewReader(r, "text/html")
	if err != nil {
		return File{}, fmt.Errorf("read the character set: %w", err)
	}
	z := html.NewTokenizer(in)
	z.SetMaxBuf(MaxText)
	var f File
	var text strings.Builder
	within := atom.Atom(0) // a hidden element
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			switch err := z.Err(); {
			case err == io.EOF:
				f.Text = text.String()
				return f, nil
			case errors.Is(err, html.ErrBufferExceeded):
				return File{}, errTooLong
			default:
				return File{}, err
			}
		case html.TextToken:
			words := strings.Join(strings.Fields(string(z.Text())), " ")
			switch {
			case words == "":
			case within == atom.Title && f.Title == "":
				f.Title = words
			case within == 0:
				if text.Len()+len(words) > MaxText {
					return File{}, errTooLong
				}
				text.WriteString(words)
				text.WriteByte(' ')
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			switch {
			case hidden[tag] && kind == html.StartTagToken && within == 0:
				within = tag
			case tag == within && kind == html.EndTagToken:
				within = 0
			case within == 0 && !inline[tag] && text.Len() > 0 && !strings.HasSuffix(text.String()[max(0, text.Len()-2):], "\n"):
				text.WriteByte('\n')
			}
		}
	}
}

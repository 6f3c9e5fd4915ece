package reference

import (
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"keepsake"
)

// everyText calls fn with the guides and the changelog.
func everyText(t *testing.T, fn func(path, text string)) {
	t.Helper()
	n := 0
	err := fs.WalkDir(keepsake.Texts, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(keepsake.Texts, path)
		n++
		fn(path, string(text))
		return err
	})
	if err != nil || n < 10 {
		t.Fatalf("read %d texts: %v", n, err)
	}
}

func TestMarkdownBecomesHTML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# A `b` *c*\n\n## A b c\n\n## Größe & Maß, 2.1\n\n## !\n": "<h1 id=\"a-b-c\">A <code>b</code> <em>c</em></h1>\n<h2 id=\"a-b-c-1\">A b c</h2>\n" +
			"<h2 id=\"größe--maß-21\">Größe &amp; Maß, 2.1</h2>\n<h2 id=\"section\">!</h2>\n",
		"```sh\nls <a>\n```\n": "<pre tabindex=\"0\"><code class=\"language-sh\">ls &lt;a&gt;\n</code></pre>\n",
		"```a\"b\nunclosed\n":  "<pre tabindex=\"0\"><code class=\"language-a&#34;b\">unclosed\n</code></pre>\n",
		"    a\n\n    b\n":     "<pre tabindex=\"0\"><code>a\n\nb\n</code></pre>\n",
		"| | b |\n|---|--:|\n| `x\\|y` | 1 |": "<div class=\"scroll\" tabindex=\"0\">\n<table>\n<thead>\n<tr>\n<td></td>\n<th class=\"number\">b</th>\n</tr>\n</thead>\n" +
			"<tbody>\n<tr>\n<td><code>x|y</code></td>\n<td class=\"number\">1</td>\n</tr>\n</tbody>\n</table>\n</div>\n",
		"- a\n  more\n- b\n":                                        "<ul>\n<li>a\nmore</li>\n<li>b</li>\n</ul>\n",
		"2. a\n\n   b\n":                                            "<ol start=\"2\">\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n</ol>\n",
		"[*a*](search.md#b) [c](none.md) [d](#e)\n":                 "<p><a href=\"/docs/guides/search#b\"><em>a</em></a> <code>docs/none.md</code> <a href=\"#e\">d</a></p>\n",
		"`docs/search.md`, `docs/x.md`, `search.md`":                "<p><a href=\"/docs/guides/search\"><code>docs/search.md</code></a>, <code>docs/x.md</code>, <code>search.md</code></p>\n",
		"[`docs/search.md`](memory.md)\n":                           "<p><a href=\"/docs/guides/memory\"><code>docs/search.md</code></a></p>\n",
		"<https://example.org/?a=1&b=2>\n":                          "<p><a href=\"https://example.org/?a=1&amp;b=2\">https://example.org/?a=1&amp;b=2</a></p>\n",
		"<b>a</b> <!-- c --> <script>alert(1)</script>":             "<p>&lt;b&gt;a&lt;/b&gt; &lt;!-- c --&gt; &lt;script&gt;alert(1)&lt;/script&gt;</p>\n",
		"<script>\nalert(1)\n</script>\n":                           "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>\n",
		"[a](javascript:alert(1)) <javascript:b> <c@example.org>\n": "<p><code>docs/javascript:alert(1)</code> &lt;javascript:b&gt; &lt;c@example.org&gt;</p>\n",
		"![a *b*](https://example.org/c.png \"d\")\n":               "<p>a <em>b</em></p>\n",
	} {
		got, _ := renderMarkdown(text, linkTo)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// unsafe returns an element or attribute of a page that no guide may have: one that runs, loads or leads to something unknown.
func unsafe(t testing.TB, page string) string {
	t.Helper()
	known := " html head body h1 h2 h3 h4 h5 h6 p a code pre em strong ul ol li table thead tbody tr th td div blockquote hr br "
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode || n.Type == html.ElementNode && !strings.Contains(known, " "+n.Data+" ") {
			return n.Data
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "id", "class", "tabindex", "start":
			case "title":
				if n.Data != "a" {
					return n.Data + " " + a.Key
				}
			case "href":
				if u, err := url.Parse(a.Val); err != nil || u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http" {
					return a.Val
				}
			default:
				return n.Data + " " + a.Key
			}
		}
	}
	return ""
}

func TestGuidesAreSafeAndHaveTheirHeadings(t *testing.T) {
	t.Parallel()
	everyText(t, func(path, text string) {
		got, headings := renderMarkdown(text, linkTo)
		if found := unsafe(t, got); found != "" {
			t.Errorf("%s has %s", path, found)
		}
		if len(headings) == 0 || headings[0].Level != 1 || headings[0].Text == "" {
			t.Errorf("%s begins with %+v", path, headings)
		}
		for _, h := range headings {
			if strings.Count(got, ` id="`+h.ID+`"`) != 1 {
				t.Errorf("%s: %q is not the ID of one heading", path, h.ID)
			}
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n\n- b\n  - c\n\n|a|\n|-|\n|`b|\n```\n**x*[y](z)")
	f.Add("<a href=x onclick=y>\n\n[a]: javascript:b\n\n[a] ![b][a] <data:c> &lt;script&gt; {#d onclick=e}\n===")
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := renderMarkdown(text, linkTo)
		if found := unsafe(t, got); found != "" {
			t.Errorf("%q has %s: %s", text, found, got)
		}
	})
}

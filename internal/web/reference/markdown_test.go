package reference

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"keepsake"
)

// everyText calls fn with the guides and the changelog.
func everyText(t *testing.T, fn func(name, text string)) {
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

// ours are the attributes and elements that only our HTML has.
var ours = regexp.MustCompile(`(<h[1-6]) id="[^"]*"|<div class="scroll" tabindex="0">\n|</div>\n|(<pre) tabindex="0"`)

// theirs is how goldmark aligns cells.
var theirs = regexp.MustCompile(` style="text-align:(\w+)"`)

// common returns the HTML of a text by both renderers without what differs on purpose.
func common(t *testing.T, text string) (got, want string) {
	t.Helper()
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table)).Convert([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	got, _ = renderMarkdown(text, func(dest string) string {
		if strings.HasSuffix(dest, ".md") && strings.Contains(text, "docs/"+dest+"`") {
			return "" // a code span that is a link only here
		}
		return dest
	})
	got = strings.ReplaceAll(ours.ReplaceAllString(got, "$1$2"), ` class="number"`, ` align="right"`)
	want = strings.ReplaceAll(theirs.ReplaceAllString(b.String(), ` align="$1"`), ` align="left"`, "")
	return got, strings.ReplaceAll(want, "<th></th>", "<td></td>")
}

func TestGuidesRenderAsMarkdown(t *testing.T) {
	t.Parallel()
	everyText(t, func(name, text string) {
		got, want := common(t, text)
		if got == want {
			return
		}
		g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Errorf("%s: got\n  %s\nwant\n  %s", name, g[i], w[i])
				return
			}
		}
		t.Errorf("%s: got %d lines, want %d", name, len(g), len(w))
	})
}

func TestMarkupRendersAsMarkdown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a `b` c\n", "an open `tick\n", "``a ` b`` *em* **strong** **open\n", "[a](b.md) and [not a link] (b)\n", "<https://example.org/?a=1&b=2>\n",
		"<script>alert(1)</script>\n", "1 < 2 && \"three\"\n", "\\*no emphasis\\*\n", "- a\n- b\n  more\n\n  second\n- c\n", "1. a\n2. b\n",
		"2. a\n3. b\n", "text\n- item\n", "- a\n\n  ```sh\n  ls\n  ```\n- b\n", "| a | b |\n|---|---:|\n| `x\\|y` | 1 |\n| short | |\n",
		"```\nunclosed\n", "# A\n\n## `code` and *em*\n", "a * b * c\n", "**a `**` b**\n", "lazy\n    continuation\n", "- a\nlazy\n",
	} {
		got, want := common(t, text)
		// goldmark leaves HTML out; here it is text, so a mistake shows.
		if strings.Contains(text, "<script>") {
			want = "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
		}
		if got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", text, got, want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n\n- b\n  - c\n\n|a|\n|-|\n|`b|\n```\n**x*[y](z)")
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := renderMarkdown(text, func(string) string { return "" })
		if strings.Contains(got, "<script") || strings.Contains(got, "<img") {
			t.Errorf("%q renders as %q", text, got)
		}
	})
}

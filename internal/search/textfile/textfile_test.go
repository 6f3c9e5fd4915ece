package textfile_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/search/textfile"
	"keepsake/internal/testing/testtier"
)

func read(t *testing.T, name, content string) (textfile.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return textfile.Read(t.Context(), path)
}

func TestTitlesOfFiles(t *testing.T) {
	t.Parallel()
	paragraph := strings.Repeat("This is a sentence of an article, with commas, and more. ", 20)
	for name, c := range map[string]struct{ file, in, title, text string }{
		"front matter":       {"a.md", "---\ntitle: \"From: front\"\ntags: a, b\nyear: 2020\n---\n\n# Heading\nText", "From: front", "# Heading\nText"},
		"a heading":          {"a.md", "Before\n\n```\n# code\n```\n## The *heading* ##\n\nText", "The *heading*", ""},
		"an underlined one":  {"a.md", "Heading\n=======\nText", "Heading", ""},
		"a rule":             {"a.md", "---\nno front matter", "a", ""},
		"broken front":       {"a.md", "---\n{\n---\n# H\n", "H", "# H"},
		"a text":             {"a.txt", "\xef\xbb\xbfFirst line\r\n\r\nText", "First line", "First line\n\nText"},
		"a long line":        {"long.txt", strings.Repeat("word ", 50), "long", ""},
		"Windows-1252":       {"a.txt", "Caf\xe9\n", "Café", ""},
		"UTF-16":             {"a.txt", "\xff\xfeH\x00i\x00", "Hi", "Hi"},
		"an article":         {"a.html", "<html><head><title>News - Site</title></head><body><nav>Menu</nav><article><h1>News</h1><p>" + paragraph + "</p></article></body></html>", "News - Site", ""},
		"a page":             {"a.html", "<title>T</title><p>One<p>Two &amp; three<script>no</script>", "T", ""},
		"a page of no title": {"name.html", "<p>One", "name", "One"},
	} {
		f, err := read(t, c.file, c.in)
		if err != nil || f.Title != c.title || c.text != "" && f.Text != c.text || strings.Contains(f.Text, "no</script") {
			t.Errorf("%s: got %q %.80q (%v), want %q %q", name, f.Title, f.Text, err, c.title, c.text)
		}
	}
	f, err := read(t, "a.md", "---\ntitle: T\ntags: [x, y]\nyear: 2020\ndate: 2020-01-02\nnested: {a: 1}\nlist: [1, b]\n---\nText")
	if got := fmt.Sprint(f.Tags, f.Metadata); err != nil || got != "[x y] map[date:2020-01-02 list:[1 b] year:2020]" {
		t.Errorf("front matter: %s, %v", got, err)
	}
}

func TestLargePagesAreReadInOnePass(t *testing.T) {
	t.Parallel()
	const words = 120_000 // more than the page of an article can have
	f, err := read(t, "a.html", "<title>Large</title>"+strings.Repeat("<div class='a b c d e f'><p>word</p></div>\n", words))
	if err != nil || f.Title != "Large" || strings.Count(f.Text, "word") != words {
		t.Errorf("got %q with %d bytes, %v", f.Title, len(f.Text), err)
	}
	if f, err := read(t, "a.html", strings.Repeat("<div>", 5_000)+"deep"); err != nil || f.Text != "deep" {
		t.Errorf("deep nesting: %.40q, %v", f.Text, err)
	}
}

// What is larger than any text is refused in bounded memory: a page of 100 MB, and a DOCX that is compressed from much more.
func TestFilesThatAreTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "it reads files of 100 MB")
	if _, err := read(t, "a.html", "<p>"+strings.Repeat("word ", 20<<20)); err == nil || !strings.Contains(err.Error(), "longer than 32 MiB") {
		t.Errorf("a text of 100 MB: %v", err)
	}
	if f, err := read(t, "a.html", strings.Repeat("<i></i><b class='x'></b>", 4<<20)+"end"); err != nil || f.Text != "end" {
		t.Errorf("100 MB of tags: %.40q, %v", f.Text, err)
	}
	bomb := wordBegins + strings.Repeat(strings.Repeat(" ", 1<<20), 66)
	if _, err := textfile.Read(t.Context(), docx(t, map[string]string{"word/document.xml": bomb})); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("a bomb: %v", err)
	}
}

// docx writes a DOCX with a document.
func docx(t *testing.T, parts map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.docx")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(out)
	for name, text := range parts {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

const wordBegins = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`

func TestDOCX(t *testing.T) {
	t.Parallel()
	f, err := textfile.Read(t.Context(), docx(t, map[string]string{
		"word/document.xml": wordBegins + `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>The </w:t></w:r><w:r><w:t>heading</w:t></w:r></w:p>` +
			`<w:p/><w:p><w:r><w:t>One</w:t><w:tab/><w:t>two &amp; three</w:t><w:br/><w:t>four</w:t><w:instrText>no</w:instrText></w:r></w:p></w:body></w:document>`,
	}))
	if err != nil || f.Title != "The heading" || f.Text != "## The heading\n\nOne two & three\nfour" {
		t.Errorf("got %q %q, %v", f.Title, f.Text, err)
	}
	f, err = textfile.Read(t.Context(), docx(t, map[string]string{
		"word/document.xml": wordBegins + `</w:body></w:document>`,
		"docProps/core.xml": `<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>Of the file</dc:title></cp:coreProperties>`,
	}))
	if err != nil || f.Title != "Of the file" {
		t.Errorf("got %q, %v", f.Title, err)
	}
	for name, parts := range map[string]map[string]string{
		"no document": {"other.xml": "x"},
		"no XML":      {"word/document.xml": "<w:document"},
	} {
		if f, err := textfile.Read(t.Context(), docx(t, parts)); err == nil {
			t.Errorf("%s: got %d bytes", name, len(f.Text))
		}
	}
	if _, err := read(t, "a.docx", "no archive"); err == nil {
		t.Error("no archive was read")
	}
}

// The parts of a text fit, and together have all of its words in their order.
func TestPartsHaveAllWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab.é漢 \n")), 0, 200, -1).Draw(t, "text")
		limit := rapid.IntRange(8, 60).Draw(t, "limit")
		parts := textfile.Parts(text, limit)
		var all strings.Builder
		for _, part := range parts {
			if len(part) > limit || !strings.Contains(text, part) {
				t.Fatalf("part %q of %d bytes", part, len(part))
			}
			all.WriteString(part)
		}
		without := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if without(all.String()) != without(text) {
			t.Fatalf("got %q", parts)
		}
	})
}

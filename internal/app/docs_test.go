package app_test

import (
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The folders whose code the two tables of folders name: CONTRIBUTING.md by room, docs/architecture.md one in a row.
var roots = []string{"bench", "client", "clients", "cmd", "conformance", "deploy", "internal", "openapi", "tools"}

func TestEveryFolderIsOnTheMap(t *testing.T) {
	t.Parallel()
	folders := goFolders(t)
	rows := tableRows(t, "docs/architecture.md")
	for folder, synopsis := range folders {
		if _, ok := rows[folder]; !ok {
			t.Errorf("docs/architecture.md does not name %s: add to the table of its room the row\n\t| `%s` | %s |", folder, folder, synopsis)
		}
	}
	listed := listedFolders(t)
	for folder, synopsis := range folders {
		if !slices.Contains(listed, folder) {
			room, name := ".", folder
			if parts := strings.SplitN(folder, "/", 3); parts[0] == "internal" && len(parts) == 3 {
				room, name = "internal/"+parts[1], parts[2]
			}
			t.Errorf("CONTRIBUTING.md does not name %s (%s): add `%s` to the row of `%s` in the table of folders", folder, synopsis, name, room)
		}
	}
	for folder := range rows {
		if slices.Contains(roots, strings.Split(folder, "/")[0]) {
			listed = append(listed, folder)
		}
	}
	for _, folder := range listed {
		if _, err := os.Stat("../../" + folder); err != nil {
			t.Errorf("docs/architecture.md or CONTRIBUTING.md names %s, which is not there: remove it from the tables", folder)
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// goFolders returns the folders with Go files and what their packages say about themselves.
func goFolders(t *testing.T) map[string]string {
	t.Helper()
	folders := map[string]string{}
	for _, root := range roots {
		eachFile(t, "../../"+root, func(file string) {
			if filepath.Ext(file) != ".go" {
				return
			}
			folder, err := filepath.Rel("../..", filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			folder = filepath.ToSlash(folder)
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			if text := new(doc.Package).Synopsis(parsed.Doc.Text()); text != "" || folders[folder] == "" {
				folders[folder] = text
			}
		})
	}
	if len(folders) < 50 {
		t.Fatalf("found %d folders", len(folders))
	}
	return folders
}

// tableRows returns the rows of the tables of a page whose first cell is a name.
func tableRows(t *testing.T, page string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(.*)\\|$").FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = m[2]
	}
	return rows
}

// listedFolders returns the folders of CONTRIBUTING.md: the rooms, which begin a row, and what is in each.
func listedFolders(t *testing.T) []string {
	t.Helper()
	var list []string
	for room, row := range tableRows(t, "CONTRIBUTING.md") {
		if room != "." && !strings.HasPrefix(room, "internal/") {
			continue
		}
		list = append(list, room)
		for _, m := range quoted.FindAllStringSubmatch(row, -1) {
			list = append(list, path.Join(room, m[1]))
		}
	}
	return list
}

var (
	link      = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	namedPage = regexp.MustCompile(`\b(?:docs/(?:spec/|decisions/)?|bench/|deploy/)[\w-]+\.md\b`)
	comment   = regexp.MustCompile(`(?m)^\s*//.*$`)
	code      = regexp.MustCompile("(?s)```.*?```|`[^`]*`")
)

// A link between pages leads to a file and a heading, and a page that code or another page names is there.
func TestPagesThatTextsNameAreThere(t *testing.T) {
	t.Parallel()
	links := 0
	check := func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said := string(text)
		if strings.HasSuffix(file, "_test.go") { // its strings can be examples
			said = strings.Join(comment.FindAllString(said, -1), "")
		}
		for _, name := range namedPage.FindAllString(said, -1) {
			if _, err := os.Stat("../../" + name); err != nil {
				t.Errorf("%s names %s, which is not there", file, name)
			}
		}
		if filepath.Ext(file) != ".md" {
			return
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			name, anchor, hasAnchor := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "/") {
				continue
			}
			links++
			to := file
			if name != "" {
				to = path.Join(filepath.ToSlash(filepath.Dir(file)), name)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if hasAnchor && !slices.Contains(anchors(t, to), anchor) {
				t.Errorf("%s links to %s, but %s has no such heading", file, m[1], to)
			}
		}
	}
	for _, root := range []string{"../..", "../../docs/spec"} { // eachFile leaves the specification out
		eachFile(t, root, func(file string) {
			if ext := filepath.Ext(file); ext == ".md" || ext == ".go" {
				check(file)
			}
		})
	}
	if links < 100 {
		t.Errorf("found %d links", links)
	}
}

func TestEveryDecisionIsListed(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("../../docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/decisions/[0-9]*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("found %d decisions: %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		heading, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		number, title, _ := strings.Cut(heading, ". ")
		row := "| " + number + " | [" + title + "](" + filepath.Base(page) + ") |"
		if !strings.Contains(string(list), row+"\n") {
			t.Errorf("docs/decisions/README.md does not list %s as it is called: the row is\n\t%s", filepath.Base(page), row)
		}
	}
}

// anchors returns the anchors of a page's headings: letters and digits in lower case, with hyphens for spaces.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		level := strings.TrimLeft(line, "#")
		if level == line || !strings.HasPrefix(level, " ") {
			continue
		}
		list = append(list, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(level)))
	}
	return list
}

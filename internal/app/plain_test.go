package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// habit is a way to write that readers stumble over.
type habit struct {
	text   string // a regular expression, in any case
	reason string
}

// habits are the worst ones. They are rejected in comments, in the strings of the program and in the documentation.
var habits = []habit{
	{`nobody|whoever|somebody|anybody`, `name the subject: "no caller", "a client that …", "another process"`},
	{`anew`, `write "again", or what is created`},
	{`at the moment`, `write "now", or leave it out`},
	{`besides`, `write "also"`},
	{`(is|are|was|were) told`, `say who reports what: "the server returns …", "the log says …"`},
	{`it is tried again`, `say who tries again`},
	{`takes? away|took away|taken away`, `use the specification's verb: revoke, remove, delete, erase`},
}

// longestTestName is how long the name of a test may be. It says what a caller observes, in about 50 characters.
const longestTestName = 60

func TestTextsAreWrittenPlainly(t *testing.T) {
	t.Parallel()
	var all []string
	for _, h := range habits {
		all = append(all, h.text)
	}
	any := regexp.MustCompile(`(?i)\b(` + strings.Join(all, "|") + `)\b`)
	check := func(at, text string) {
		found := any.FindString(text)
		if found == "" {
			return
		}
		for _, h := range habits {
			if regexp.MustCompile(`(?i)^(` + h.text + `)$`).MatchString(found) {
				t.Errorf("%s: %q: %s", at, found, h.reason)
			}
		}
	}
	eachFile(t, "../..", func(path string) {
		switch filepath.Ext(path) {
		case ".go":
			checkGo(t, path, check)
		case ".md":
			checkMarkdown(t, path, check)
		}
	})
}

// checkGo checks the comments and test names of a file, and its strings unless it is a test.
func checkGo(t *testing.T, path string, check func(at, text string)) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	isTest := strings.HasSuffix(path, "_test.go")
	for _, group := range file.Comments {
		for _, c := range group.List {
			check(files.Position(c.Pos()).String(), c.Text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING && !isTest && strings.Contains(n.Value, " ") { // one word is a name
				check(files.Position(n.Pos()).String(), n.Value)
			}
		case *ast.FuncDecl:
			if isTest && strings.HasPrefix(n.Name.Name, "Test") && len(n.Name.Name) > longestTestName {
				t.Errorf("%s: %s has %d characters, want at most %d", files.Position(n.Pos()), n.Name.Name, len(n.Name.Name), longestTestName)
			}
		}
		return true
	})
}

// checkMarkdown checks a page without its code blocks.
func checkMarkdown(t *testing.T, path string, check func(at, text string)) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	code := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		} else if !code {
			check(path, line)
		}
	}
}

// eachFile calls fn for every file below root that is written by hand.
func eachFile(t *testing.T, root string, fn func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "spec" || name == "node_modules") {
			return fs.SkipDir
		}
		if !entry.IsDir() && path != "plain_test.go" {
			fn(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The files of this folder serve every engine. What engines do differently is a method of Dialect, and its text is in the
// folders of the engines.
var portable = []struct {
	name   string
	reason string
	match  *regexp.Regexp // a name or a text in the code, not a comment
	except string         // a file
}{
	{
		name: "names an engine", match: regexp.MustCompile(`(?i)sqlite|postgres|pgx`),
		reason: "add a method to Dialect and implement it in the folder of each engine",
	},
	{
		name: "asks whether processes share the database", match: regexp.MustCompile(`^Shared$`), except: "news.go",
		reason: "only the events for other processes depend on it; let statements differ by Dialect",
	},
	{
		name: "contains SQL of one engine", match: regexp.MustCompile(`(?i)\bunnest\(|\bANY\(|::|\bLATERAL\b|\bINSERT OR\b|\bPRAGMA\b|\bFOR (NO KEY )?UPDATE\b`),
		reason: "write the statement in the subset that all engines share, or move it behind Dialect",
	},
}

func TestPortableStoreNamesNoEngine(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("list the folder: %d files, %v", len(files), err)
	}
	set := token.NewFileSet()
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text := ""
			switch n := n.(type) {
			case *ast.Ident:
				text = n.Name
			case *ast.BasicLit:
				text = n.Value
			case *ast.InterfaceType: // the declaration of Engine
				return false
			}
			for _, rule := range portable {
				if text != "" && path != rule.except && rule.match.MatchString(text) {
					t.Errorf("%s %s: %s; %s", set.Position(n.Pos()), rule.name, text, rule.reason)
				}
			}
			return true
		})
	}
}

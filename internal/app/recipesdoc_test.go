package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentedMessagesExist looks for each message of the last table of docs/recipes.md in the strings of the program.
func TestDocumentedMessagesExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| Message | What to do |")
	if !ok {
		t.Fatal("docs/recipes.md has no table of messages")
	}
	var program strings.Builder
	eachFile(t, "../..", func(path string) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				text, err := strconv.Unquote(s.Value)
				if err != nil {
					t.Fatal(err)
				}
				program.WriteString(text + "\n")
			}
			return true
		})
	})
	messages := 0
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			messages++
			for part := range strings.SplitSeq(quoted[1], "…") { // which stands for a value
				part = regexp.MustCompile(`^setting \w+:`).ReplaceAllString(strings.TrimSpace(part), "") // the name is a value too
				if !strings.Contains(program.String(), strings.TrimSpace(part)) {
					t.Errorf("docs/recipes.md explains %q, but no string of the program contains %q", quoted[1], part)
				}
			}
		}
	}
	if messages < 15 {
		t.Errorf("found %d messages", messages)
	}
}

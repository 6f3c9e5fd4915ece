package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryEndpointFileIsServed names the step that a new endpoint file lacks: the line in operations.
func TestEveryEndpointFileIsServed(t *testing.T) {
	t.Parallel()
	surfaces, err := os.ReadFile("surfaces.go")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../web/api/v1/*.go")
	if err != nil || len(paths) < 20 {
		t.Fatalf("found %d files: %v", len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Add") && !strings.Contains(string(surfaces), "v1."+f.Name.Name+"(r") {
				t.Errorf("the operations of %s are not served: call v1.%s in operations (internal/app/surfaces.go)", path, f.Name.Name)
			}
		}
	}
}

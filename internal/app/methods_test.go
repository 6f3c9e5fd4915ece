package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// mostMethods is how many methods a type can have, with those that embedding promotes. A type with more holds too much: split it,
// and name what it needs as fields.
const mostMethods = 60

// wholes are types with more methods, which are the parts that they embed under one name.
var wholes = map[string]string{
	"internal/memory.Service":     "its parts have one concern each",
	"internal/govern/audit.Log":   "its options embed the store and the keys that it is made of",
	"internal/store.Store":        "one store of all nouns",
	"internal/app/instance.Store": "the store with the engine that it is opened on",
}

// declaredType is a type of this module, in source.
type declaredType struct {
	methods  []string
	embedded []string // keys of types, as in declaredTypes
}

func TestNoTypeHasTooManyMethods(t *testing.T) {
	t.Parallel()
	types := declaredTypes(t, "../..")
	if len(types) < 100 {
		t.Fatalf("found %d types, want those of the module", len(types))
	}
	for name := range types {
		if !strings.HasPrefix(name, "internal/") || wholes[name] != "" {
			continue
		}
		methods := map[string]bool{}
		addMethods(types, name, methods, map[string]bool{})
		if len(methods) > mostMethods {
			t.Errorf("%s has %d methods with those of embedded types, more than %d", name, len(methods), mostMethods)
		}
	}
}

func TestPromotedMethodsAreCounted(t *testing.T) {
	t.Parallel()
	types := map[string]*declaredType{
		"p.outer": {methods: []string{"A", "Both"}, embedded: []string{"p.inner", "other"}},
		"p.inner": {methods: []string{"B", "Both"}, embedded: []string{"q.last", "p.outer"}},
		"q.last":  {methods: []string{"C"}},
	}
	methods := map[string]bool{}
	addMethods(types, "p.outer", methods, map[string]bool{})
	if len(methods) != 4 {
		t.Errorf("got %v, want A, B, Both and C", methods)
	}
}

// addMethods adds the names of a type's methods. Types of other modules have none here.
func addMethods(types map[string]*declaredType, name string, to, seen map[string]bool) {
	declared := types[name]
	if declared == nil || seen[name] {
		return
	}
	seen[name] = true
	for _, m := range declared.methods {
		to[m] = true
	}
	for _, e := range declared.embedded {
		addMethods(types, e, to, seen)
	}
}

// declaredTypes returns the types of the module below root, tests excluded, by folder and name: internal/web/api.API.
func declaredTypes(t *testing.T, root string) map[string]*declaredType {
	t.Helper()
	types := map[string]*declaredType{}
	of := func(key string) *declaredType {
		if types[key] == nil {
			types[key] = &declaredType{}
		}
		return types[key]
	}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		addTypes(parsed, filepath.ToSlash(folder), of)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func addTypes(file *ast.File, folder string, of func(key string) *declaredType) {
	imports := map[string]string{}
	for _, i := range file.Imports {
		imported, _ := strconv.Unquote(i.Path.Value) // the parser has checked it
		name := path.Base(imported)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = strings.TrimPrefix(imported, "keepsake/")
	}
	key := func(e ast.Expr) string { return typeKey(e, folder, imports) }
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				declared := of(key(d.Recv.List[0].Type))
				declared.methods = append(declared.methods, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					declared := of(folder + "." + s.Name.Name)
					switch body := s.Type.(type) {
					case *ast.StructType:
						declared.embed(body.Fields, key)
					case *ast.InterfaceType:
						declared.embed(body.Methods, key)
					}
				}
			}
		}
	}
}

// embed adds the embedded types of a struct or an interface, and the methods of an interface.
func (d *declaredType) embed(fields *ast.FieldList, key func(ast.Expr) string) {
	for _, f := range fields.List {
		if _, ok := f.Type.(*ast.FuncType); ok && len(f.Names) > 0 {
			d.methods = append(d.methods, f.Names[0].Name)
		}
		if len(f.Names) == 0 {
			d.embedded = append(d.embedded, key(f.Type))
		}
	}
}

// typeKey returns the key of a type expression: a pointer's is that of its element.
func typeKey(e ast.Expr, folder string, imports map[string]string) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeKey(e.X, folder, imports)
	case *ast.IndexExpr:
		return typeKey(e.X, folder, imports)
	case *ast.IndexListExpr:
		return typeKey(e.X, folder, imports)
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return imports[pkg.Name] + "." + e.Sel.Name
		}
	case *ast.Ident:
		return folder + "." + e.Name
	}
	return ""
}

package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxMethods is how many methods a type can have, those of its embedded types included. A type with more of them does several
// things: give each its own type, and name the fields that hold them.
const maxMethods = 60

// manyMethods are types that have more, and why.
var manyMethods = map[string]string{
	"client.Client": "it has a method for each operation of the API",
}

func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	all := typesOf(t, "../..")
	if len(all) < 500 {
		t.Fatalf("found only %d types", len(all))
	}
	for name := range manyMethods {
		if all[name] == nil {
			t.Errorf("there is no type %s; remove it from manyMethods", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		n := len(all.methods(name, nil))
		switch reason := manyMethods[name]; {
		case reason != "" && n <= maxMethods:
			t.Errorf("%s has only %d methods; remove it from manyMethods", name, n)
		case reason == "" && n > maxMethods:
			t.Errorf("%s has %d methods, promoted ones included, and can have %d: make it a struct with a named field for each thing that it does",
				name, n, maxMethods)
		}
	}
}

func TestMethodsOfEmbeddedTypesCount(t *testing.T) {
	t.Parallel()
	all := moduleTypes{}
	for path, text := range map[string]string{
		"a": "package a; import q \"keepsake/b\"; type S struct { *q.T[int]; L; f int }; func (S) M() {}; type L = q.I; type D S; type E struct{ *S }",
		"b": "package b; type T[X any] struct { I }; func (*T[X]) N() {}; func (*T[X]) n() {}; type I interface { O(); P() }; type J interface { I; N() }",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		all.add(path, file)
	}
	for name, want := range map[string][]string{
		"a.S": {"M", "N", "O", "P", "n"}, "a.E": {"M", "N", "O", "P", "n"}, "a.D": {"N", "O", "P", "n"}, "b.T": {"N", "O", "P", "n"}, "b.J": {"N", "O", "P"},
	} {
		if got := slices.Sorted(maps.Keys(all.methods(name, nil))); !slices.Equal(got, want) {
			t.Errorf("%s has the methods %v, want %v", name, got, want)
		}
	}
}

// moduleTypes are the types of this module, by folder and name.
type moduleTypes map[string]*moduleType

type moduleType struct {
	methods  []string
	embedded []string // names of types of this module
	is       string   // of `type X Y` and `type X = Y`: the name of Y
	alias    bool
}

// methods returns the names of a type's methods, as if no name hid another. Those of types of other modules are left out.
func (d moduleTypes) methods(name string, outer []string) map[string]bool {
	all := map[string]bool{}
	t := d[name]
	if t == nil || slices.Contains(outer, name) {
		return all
	}
	outer = append(slices.Clip(outer), name)
	for _, m := range t.methods {
		all[m] = true
	}
	for _, e := range t.embedded {
		maps.Copy(all, d.methods(e, outer))
	}
	if of := d[t.is]; of != nil {
		if t.alias {
			maps.Copy(all, d.methods(t.is, outer))
		}
		for _, e := range of.embedded { // a new type has these, but not the methods of the other one
			maps.Copy(all, d.methods(e, outer))
		}
	}
	return all
}

func (d moduleTypes) of(name string) *moduleType {
	if d[name] == nil {
		d[name] = &moduleType{}
	}
	return d[name]
}

// add adds the types and methods of a file of the package in a folder.
func (d moduleTypes) add(folder string, file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		own, ok := strings.CutPrefix(path, "keepsake/")
		if !ok {
			continue
		}
		name := own[strings.LastIndex(own, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = own
	}
	name := func(e ast.Expr) string { return typeName(e, folder, imports) }
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil {
				of := d.of(name(decl.Recv.List[0].Type))
				of.methods = append(of.methods, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				spec, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				t := d.of(folder + "." + spec.Name.Name)
				var fields *ast.FieldList
				switch of := spec.Type.(type) {
				case *ast.StructType:
					fields = of.Fields
				case *ast.InterfaceType:
					fields = of.Methods
				default:
					t.is, t.alias = name(of), spec.Assign.IsValid()
					continue
				}
				for _, f := range fields.List {
					_, isFunc := f.Type.(*ast.FuncType)
					_, isInterface := spec.Type.(*ast.InterfaceType)
					switch {
					case len(f.Names) == 0:
						t.embedded = append(t.embedded, name(f.Type))
					case isFunc && isInterface:
						t.methods = append(t.methods, f.Names[0].Name)
					}
				}
			}
		}
	}
}

// typeName returns the folder and the name of a type, and "" for one of another module or without a name.
func typeName(e ast.Expr, folder string, imports map[string]string) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X, folder, imports)
	case *ast.IndexExpr:
		return typeName(e.X, folder, imports)
	case *ast.IndexListExpr:
		return typeName(e.X, folder, imports)
	case *ast.Ident:
		return folder + "." + e.Name
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok && imports[pkg.Name] != "" {
			return imports[pkg.Name] + "." + e.Sel.Name
		}
	}
	return ""
}

// typesOf reads the types that the packages below root declare, except in tests, in conformance/, which is one, and in generated
// files.
func typesOf(t *testing.T, root string) moduleTypes {
	t.Helper()
	all := moduleTypes{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "tools" || path == filepath.Join(root, "conformance")) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err == nil {
			all.add(filepath.ToSlash(dir), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

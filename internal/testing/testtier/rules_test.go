package testtier_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// clockFiles may measure time or sleep, each for a reason. None of them asserts what it measures.
var clockFiles = map[string]string{
	"bench/recall/speed_test.go":                           "has benchmarks",
	"internal/web/api/v1/v1test/apikey_test.go":            "makes keys a millisecond apart, the unit of their order",
	"internal/app/memorybatch_test.go":                     "has benchmarks",
	"internal/testing/faulttest/backup_test.go":            "chooses when to kill",
	"internal/testing/faulttest/ledger_test.go":            "chooses when to kill",
	"internal/testing/faulttest/indexdrop_test.go":         "chooses when to kill",
	"internal/testing/faulttest/line_test.go":              "sets the pace of a load",
	"internal/testing/faulttest/login_test.go":             "sets the pace of a load",
	"internal/testing/faulttest/memoryledger_test.go":      "chooses when to kill",
	"internal/testing/faulttest/rotation_test.go":          "chooses when to kill",
	"internal/testing/faulttest/sharedfault_fleet_test.go": "measures for bench/RESULTS.md",
	"internal/testing/faulttest/sharedfault_load_test.go":  "sets the pace of a load",
	"internal/testing/faulttest/sharedfault_test.go":       "chooses how long a fault lasts",
	"internal/testing/faulttest/socket_test.go":            "sends slowly",
	"internal/testing/faulttest/start_test.go":             "chooses when to kill",
	"internal/testing/faulttest/token_test.go":             "gives a connection that must not come time to come",
	"internal/testing/faulttest/trace_test.go":             "gives background work that must not write time to run",
	"internal/memory/recall/property_test.go":              "has benchmarks",
	"internal/store/postgres/fault_test.go":                "sets the pace of a load",
}

// TestTestsDoNotMeasureTime refuses time.Since, time.Sleep and time.After in tests: a test asserts an order, a count or a
// state, and waits with package await. Benchmarks measure, and in a bubble of testing/synctest the clock is fake.
func TestTestsDoNotMeasureTime(t *testing.T) {
	t.Parallel()
	eachTestFile(t, func(path string, files *token.FileSet, file *ast.File) {
		if _, ok := clockFiles[path]; ok || imports(file, "testing/synctest") || strings.HasSuffix(path, "bench_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				switch name := called(call); name {
				case "time.Since", "time.Sleep", "time.After", "time.Tick":
					t.Errorf("%s:%d calls %s", path, files.Position(call.Pos()).Line, name)
				}
			}
			return true
		})
	})
	for path := range clockFiles {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("the table names a file that is not there: %v", err)
		}
	}
}

// TestTestsRunInParallel wants t.Parallel in every test or in a function of its package that the test calls, or a comment
// above the test that says why it is "not parallel".
func TestTestsRunInParallel(t *testing.T) {
	t.Parallel()
	type function struct {
		*ast.FuncDecl
		where string
	}
	functions := map[string]map[string]function{} // by folder and name
	eachTestFile(t, func(path string, files *token.FileSet, file *ast.File) {
		dir := filepath.Dir(path)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil {
				if functions[dir] == nil {
					functions[dir] = map[string]function{}
				}
				functions[dir][f.Name.Name] = function{f, fmt.Sprintf("%s:%d", path, files.Position(f.Pos()).Line)}
			}
		}
	})
	for dir, all := range functions {
		for name, f := range all {
			if !strings.HasPrefix(name, "Test") || name == "TestMain" {
				continue
			}
			parallel := strings.Contains(strings.ToLower(strings.Join(strings.Fields(f.Doc.Text()), " ")), "not parallel")
			for _, callee := range calls(f.Body) {
				parallel = parallel || callee == "t.Parallel" || all[callee].FuncDecl != nil && slices.Contains(calls(all[callee].Body), "t.Parallel")
			}
			if !parallel {
				t.Errorf("%s: %s in %s neither calls t.Parallel nor says why it is not parallel", f.where, name, dir)
			}
		}
	}
}

// everywhere are the names of package syscall that exist on every system on which Keepsake compiles.
var everywhere = regexp.MustCompile(`^(Errno|E[A-Z0-9]+|Signal|SIG(HUP|INT|QUIT|ABRT|KILL|PIPE|TERM))$`)

// TestFilesForEverySystemCompileThere finds files that are compiled on Windows, too, and use what only package syscall of
// other systems has. "make portable" compiles everything, which takes minutes.
func TestFilesForEverySystemCompileThere(t *testing.T) {
	t.Parallel()
	windows := build.Default
	windows.GOOS, windows.CgoEnabled = "windows", false
	eachFile(t, ".go", func(path string, files *token.FileSet, file *ast.File) {
		if !imports(file, "syscall") {
			return
		}
		if match, err := windows.MatchFile(filepath.Join(root, filepath.Dir(path)), filepath.Base(path)); err != nil {
			t.Error(err)
		} else if !match {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := name.X.(*ast.Ident); ok && x.Name == "syscall" && !everywhere.MatchString(name.Sel.Name) {
					t.Errorf("%s:%d uses syscall.%s; move it to a file for the systems that have it", path, files.Position(name.Pos()).Line, name.Sel.Name)
				}
			}
			return true
		})
	})
}

// calls are the names of what a function calls, such as "start" or "time.Since".
func calls(body *ast.BlockStmt) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			names = append(names, called(call))
		}
		return true
	})
	return names
}

const root = "../../.."

func eachTestFile(t *testing.T, visit func(path string, files *token.FileSet, file *ast.File)) {
	t.Helper()
	eachFile(t, "_test.go", visit)
}

// eachFile calls visit with every file whose name ends so, by its path below the root of the repository.
func eachFile(t *testing.T, suffix string, visit func(path string, files *token.FileSet, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, suffix) {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(relative), files, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// called is what a call names, empty for a method of anything but a variable or a package.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

func imports(file *ast.File, path string) bool {
	for _, spec := range file.Imports {
		if spec.Path.Value == `"`+path+`"` {
			return true
		}
	}
	return false
}

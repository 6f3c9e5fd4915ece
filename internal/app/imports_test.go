package app_test

import (
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

// edges are the packages of our own that a domain package may import. A new edge is a decision: write it here, and why
// it is needed in the change that adds it.
var edges = map[string][]string{
	"internal/base/problem":    {},
	"internal/base/id":         {},
	"internal/base/revision":   {},
	"internal/base/unit":       {},
	"internal/base/secretfile": {},
	"internal/base/text":       {},
	"internal/base/fairshare":  {},
	"internal/base/coalesce":   {},
	"internal/base/metrics":    {},
	"internal/base/logqueue":   {},
	"internal/base/serverurl":  {},
	"internal/base/trace":      {},
	"internal/base/number":     {},
	"internal/base/wire":       {"internal/base/number", "internal/base/problem"},
	"internal/base/table":      {"internal/base/problem", "internal/base/wire"},
	"internal/base/page":       {"internal/base/problem", "internal/base/wire"},

	"internal/store/cluster": {},
	"internal/govern/auth":   {"internal/base/coalesce", "internal/base/id", "internal/base/problem"},
	"internal/govern/limit":  {},
	"internal/govern/usage":  {},
	"internal/govern/event": {
		"internal/govern/audit", "internal/govern/auth", "internal/base/id", "internal/base/problem", "internal/base/revision", "internal/base/unit",
	},
	"internal/memory/seal":  {"internal/govern/audit", "internal/base/folder", "internal/base/problem", "internal/base/secretfile", "internal/base/unit"},
	"internal/govern/audit": {"internal/govern/auth", "internal/base/folder", "internal/base/id", "internal/base/problem", "internal/base/unit"},
	"internal/govern/lifecycle": {
		"internal/govern/audit", "internal/govern/auth", "internal/govern/event", "internal/base/id", "internal/base/problem", "internal/base/revision", "internal/base/unit",
	},
	"internal/govern/idempotency": {"internal/base/problem", "internal/base/unit"},
	"internal/govern/analytics": {
		"internal/govern/account", "internal/govern/auth", "internal/base/id", "internal/govern/lifecycle", "internal/govern/limit", "internal/base/problem", "internal/govern/usage",
	},
	"internal/govern/account": {
		"internal/govern/audit", "internal/govern/auth", "internal/base/id", "internal/govern/limit", "internal/base/problem", "internal/base/revision",
		"internal/base/unit", "internal/govern/usage",
	},
	"internal/govern/apikey": {
		"internal/govern/account", "internal/govern/audit", "internal/govern/auth", "internal/govern/event", "internal/base/id", "internal/govern/limit", "internal/base/problem",
		"internal/base/revision", "internal/base/unit", "internal/govern/usage",
	},
	"internal/base/field":      {"internal/base/problem"},
	"internal/search/document": {"internal/base/coalesce", "internal/govern/event", "internal/base/field", "internal/base/number", "internal/base/problem", "internal/base/revision", "internal/base/text", "internal/base/unit"},
	"internal/search/collection": {
		"internal/base/field", "internal/base/problem", "internal/base/revision", "internal/base/text", "internal/base/unit", "internal/govern/audit", "internal/govern/auth",
		"internal/search/document",
	},
	"internal/search/source": {
		"internal/search/mapping", "internal/base/problem", "internal/base/table", "internal/base/wire",
	},
	"internal/search/textfile": {"internal/search/document", "internal/base/wire"},
	"internal/search/mapping": {
		"internal/search/document", "internal/base/field", "internal/base/number", "internal/base/problem", "internal/base/wire",
	},
	"internal/memory": {
		"internal/govern/audit", "internal/govern/auth", "internal/base/coalesce", "internal/govern/event", "internal/base/fairshare", "internal/base/field", "internal/base/id",
		"internal/memory/embedding", "internal/memory/recall", "internal/base/vectors", "internal/base/problem", "internal/base/revision", "internal/memory/seal", "internal/base/text",
		"internal/base/unit",
	},
	"internal/memory/embedding": {},
	"internal/memory/recall":    {"internal/base/fairshare", "internal/base/vectors", "internal/base/text"},
	"internal/base/vectors":     {"internal/base/text"},
	"internal/govern/backup":    {"internal/govern/account", "internal/govern/apikey", "internal/govern/auth", "internal/base/folder", "internal/base/problem"},
	"internal/search/index":     {"internal/base/text"},
	"internal/search": {
		"internal/base/coalesce", "internal/search/collection", "internal/search/document", "internal/base/fairshare", "internal/search/index", "internal/base/number", "internal/base/page", "internal/base/problem", "internal/base/text",
		"internal/base/vectors", // the English words that the program knows: one of them is not replaced by another
	},
	"internal/web/endpoint": {"internal/govern/auth", "internal/base/problem", "internal/base/revision", "internal/base/wire"},
}

// rule forbids an import.
type rule struct {
	what   string   // an import path, or all below it with a slash at the end
	in     []string // folders; one with a slash at the end is all below it
	except []string
	reason string
}

func (r rule) matches(path string) bool {
	return path == r.what || strings.HasSuffix(r.what, "/") && strings.HasPrefix(path, r.what)
}

// forbidden are imports that would undo the structure.
var forbidden = []rule{
	{
		what: "net/http", in: domain(),
		reason: "the rules of the domain hold on every surface, so they know nothing of HTTP",
	},
	{
		what: "database/sql", in: domain(),
		reason: "a second engine must touch no domain package",
	},
	{
		what: "keepsake/internal/store/", in: []string{"internal/web/api/", "internal/web/endpoint/"},
		reason: "operations call the domain; rows are the domain's business",
	},
	{
		what: "keepsake/internal/store", in: []string{"internal/web/api/", "internal/web/endpoint/"},
		reason: "operations call the domain; rows are the domain's business",
	},
	{
		what: "keepsake/internal/", in: []string{"client/", "conformance/"},
		reason: "both stand outside: what they cannot do over the wire, nobody can",
	},
	{
		what: "keepsake/internal/app", in: []string{"internal/"}, except: []string{"internal/app/"},
		reason: "only app knows concrete types, so nothing else depends on it",
	},
	{
		what: "keepsake/internal/app/instance", in: []string{"internal/"}, except: []string{"internal/app/"},
		reason: "it opens databases and folders; the rest gets interfaces",
	},
	{
		what: "keepsake/internal/web/api", in: []string{"internal/store/", "internal/app/config/", "internal/web/endpoint/"},
		reason: "imports point inwards",
	},
	{
		what: "github.com/danielgtaylor/huma/", in: []string{"./"}, except: []string{"internal/web/endpoint/"},
		reason: "the library that writes our OpenAPI document can then be replaced in one folder",
	},
	{
		what: "github.com/prometheus/", in: []string{"./"}, except: []string{"internal/base/metrics/"},
		reason: "metrics are declared in our own type, so the library can be replaced in one folder",
	},
	{
		what: "modernc.org/sqlite", in: []string{"./"}, except: []string{"internal/store/sqlite/"},
		reason: "only the engine knows its driver",
	},
	{
		what: "github.com/redis/rueidis", in: []string{"./"}, except: []string{"internal/store/cluster/redis"},
		reason: "only the counter store knows its driver",
	},
	{
		what: "github.com/jackc/pgx/", in: []string{"./"},
		except: []string{"internal/store/postgres/", "internal/store/cluster/postgres/", "internal/testing/enginetest"},
		reason: "only the engine knows its driver",
	},
	{
		what: "keepsake/internal/testing/enginetest", in: []string{"./"}, except: []string{"internal/app/apptest", "internal/store/sqlite/sqlitetest", "internal/testing/programtest", "internal/testing/suite", "bench/"},
		reason: "it starts servers for tests",
	},
	{
		what: "keepsake/internal/search/index", in: []string{"./"}, except: []string{"internal/search", "internal/search/opensearch", "bench/"},
		reason: "the index is a detail of search",
	},
	{
		what: "github.com/knadh/koanf/", in: []string{"./"}, except: []string{"internal/app/config/"},
		reason: "settings reach the rest as one struct",
	},
	{
		what: "github.com/a-h/templ", in: []string{"./"}, except: []string{"internal/web/console", "internal/web/reference"},
		reason: "only the console and the documentation render pages with it",
	},
	{
		what: "github.com/spf13/cobra", in: []string{"./"}, except: []string{"cmd/"},
		reason: "the command line is one way in among others",
	},
}

// domain is everything in the table but the declaration of operations, whose business is HTTP.
func domain() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(edges)), func(pkg string) bool { return pkg == "internal/web/endpoint" })
}

func TestImportsPointInwards(t *testing.T) {
	t.Parallel()
	imports := importsOf(t, "../..")
	for pkg, allowed := range edges {
		for _, path := range imports[pkg] {
			own, ok := strings.CutPrefix(path, "keepsake/")
			if ok && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s, an edge that is not in the table", pkg, own)
			}
		}
	}
	for _, rule := range forbidden {
		for pkg, paths := range imports {
			if !under(pkg, rule.in) || under(pkg, rule.except) {
				continue
			}
			for _, path := range paths {
				if rule.matches(path) {
					t.Errorf("%s imports %s: %s", pkg, path, rule.reason)
				}
			}
		}
	}
}

func TestTheImportTableHasNoUnusedEdge(t *testing.T) {
	t.Parallel()
	imports := importsOf(t, "../..")
	for pkg, allowed := range edges {
		for _, own := range allowed {
			if !slices.Contains(imports[pkg], "keepsake/"+own) {
				t.Errorf("%s does not import %s; remove the edge from the table", pkg, own)
			}
		}
	}
	for _, rule := range forbidden {
		for _, folder := range rule.except {
			used := false
			for pkg, paths := range imports {
				used = used || under(pkg, []string{folder}) && slices.ContainsFunc(paths, rule.matches)
			}
			if !used {
				t.Errorf("nothing in %s imports %s; remove the exception from the rule", folder, rule.what)
			}
		}
	}
}

func TestTheImportTableNamesPackagesThatExist(t *testing.T) {
	t.Parallel()
	imports := importsOf(t, "../..")
	for pkg := range edges {
		if _, ok := imports[pkg]; !ok {
			t.Errorf("the table names %s, which has no Go files", pkg)
		}
	}
}

// rooms are the folders of internal/, and the rooms that each may import. Every package is in one of them.
var rooms = map[string][]string{
	"base":    {},
	"govern":  {"base"},
	"memory":  {"base", "govern"},
	"search":  {"base", "govern"},
	"store":   {"base", "govern", "memory", "search"},
	"web":     {"base", "govern", "memory", "search"},
	"app":     {"base", "govern", "memory", "search", "store", "web"},
	"testing": {"app", "base"},
}

// helper reports whether a package helps tests: it may import the room testing, and its name ends in test.
func helper(pkg string) bool { return strings.HasSuffix(pkg, "test") }

// room returns the folder below internal/ that contains a package, and "" for a package elsewhere.
func room(pkg string) string {
	below, ok := strings.CutPrefix(pkg, "internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(below, "/")
	return name
}

func TestRoomsImportOnlyRoomsBelow(t *testing.T) {
	t.Parallel()
	used := map[[2]string]bool{}
	for pkg, paths := range importsOf(t, "../..") {
		from := room(pkg)
		if from == "" {
			continue
		}
		allowed, ok := rooms[from]
		if !ok {
			t.Errorf("internal/%s is no room; put %s into one of those that rooms names (internal/app/imports_test.go)", from, pkg)
			continue
		}
		for _, path := range paths {
			to := room(strings.TrimPrefix(path, "keepsake/"))
			if to == "" || to == from || to == "testing" && helper(pkg) {
				continue
			}
			used[[2]string{from, to}] = true
			if !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: the room %s may not import the room %s", pkg, path, from, to)
			}
		}
	}
	for from, allowed := range rooms {
		for _, to := range allowed {
			if !used[[2]string{from, to}] {
				t.Errorf("no package of %s imports %s; remove it from rooms", from, to)
			}
		}
	}
}

// under reports whether a package is one of folders or, where one ends in a slash, below it.
func under(pkg string, folders []string) bool {
	for _, f := range folders {
		if f == "./" || pkg == f || (strings.HasSuffix(f, "/") && strings.HasPrefix(pkg+"/", f)) {
			return true
		}
	}
	return false
}

// importsOf reads what the packages below root import outside their tests, by folder.
func importsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "tools") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(dir)
		if imports[pkg] == nil {
			imports[pkg] = []string{}
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(imports[pkg], imported) {
				imports[pkg] = append(imports[pkg], imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	if len(imports) < 10 {
		t.Fatalf("found only %d packages below %s", len(imports), root)
	}
	return imports
}

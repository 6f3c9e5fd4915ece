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
	"internal/problem":    {},
	"internal/id":         {},
	"internal/revision":   {},
	"internal/unit":       {},
	"internal/secretfile": {},
	"internal/text":       {},
	"internal/fairshare":  {},
	"internal/lru":        {},
	"internal/coalesce":   {},
	"internal/metrics":    {},
	"internal/logqueue":   {},
	"internal/serverurl":  {},
	"internal/trace":      {},
	"internal/number":     {},
	"internal/wire":       {"internal/number", "internal/problem"},
	"internal/page":       {"internal/problem", "internal/wire"},

	"internal/cluster": {},
	"internal/auth":    {"internal/coalesce", "internal/id", "internal/problem"},
	"internal/limit":   {},
	"internal/usage":   {},
	"internal/event": {
		"internal/audit", "internal/auth", "internal/id", "internal/problem", "internal/revision", "internal/unit",
	},
	"internal/seal":  {"internal/audit", "internal/folder", "internal/lru", "internal/problem", "internal/secretfile", "internal/unit"},
	"internal/audit": {"internal/auth", "internal/folder", "internal/id", "internal/problem", "internal/unit"},
	"internal/lifecycle": {
		"internal/audit", "internal/auth", "internal/event", "internal/id", "internal/problem", "internal/revision", "internal/unit",
	},
	"internal/idempotency": {"internal/problem", "internal/unit"},
	"internal/analytics": {
		"internal/account", "internal/auth", "internal/id", "internal/lifecycle", "internal/limit", "internal/problem", "internal/usage",
	},
	"internal/account": {
		"internal/audit", "internal/auth", "internal/id", "internal/limit", "internal/lru", "internal/problem", "internal/revision",
		"internal/unit", "internal/usage",
	},
	"internal/apikey": {
		"internal/account", "internal/audit", "internal/auth", "internal/event", "internal/id", "internal/limit", "internal/lru", "internal/problem",
		"internal/revision", "internal/unit", "internal/usage",
	},
	"internal/field":    {"internal/problem"},
	"internal/document": {"internal/coalesce", "internal/event", "internal/field", "internal/number", "internal/problem", "internal/revision", "internal/unit"},
	"internal/memory": {
		"internal/audit", "internal/auth", "internal/coalesce", "internal/event", "internal/fairshare", "internal/field", "internal/id", "internal/lru",
		"internal/memory/embedding", "internal/memory/recall", "internal/problem", "internal/revision", "internal/seal", "internal/text",
		"internal/unit",
	},
	"internal/memory/embedding": {},
	"internal/memory/recall":    {"internal/fairshare", "internal/memory/recall/vectors", "internal/text"},
	"internal/backup":           {"internal/account", "internal/apikey", "internal/auth", "internal/folder", "internal/problem"},
	"internal/index":            {"internal/text"},
	"internal/search": {
		"internal/coalesce", "internal/document", "internal/fairshare", "internal/index", "internal/number", "internal/page", "internal/problem", "internal/text",
	},
	"internal/endpoint": {"internal/auth", "internal/number", "internal/problem", "internal/revision", "internal/wire"},
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
		what: "keepsake/internal/store/", in: []string{"internal/api/", "internal/endpoint/"},
		reason: "operations call the domain; rows are the domain's business",
	},
	{
		what: "keepsake/internal/store", in: []string{"internal/api/", "internal/endpoint/"},
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
		what: "keepsake/internal/instance", in: []string{"internal/"}, except: []string{"internal/app/"},
		reason: "it opens databases and folders; the rest gets interfaces",
	},
	{
		what: "keepsake/internal/api", in: []string{"internal/store/", "internal/config/", "internal/endpoint/"},
		reason: "imports point inwards",
	},
	{
		what: "github.com/danielgtaylor/huma/", in: []string{"./"}, except: []string{"internal/endpoint/"},
		reason: "the library that writes our OpenAPI document can then be replaced in one folder",
	},
	{
		what: "modernc.org/sqlite", in: []string{"./"}, except: []string{"internal/store/sqlite/"},
		reason: "only the engine knows its driver",
	},
	{
		what: "github.com/redis/rueidis", in: []string{"./"}, except: []string{"internal/cluster/redis"},
		reason: "only the counter store knows its driver",
	},
	{
		what: "github.com/jackc/pgx/", in: []string{"./"},
		except: []string{"internal/store/postgres/", "internal/cluster/postgres/", "internal/enginetest"},
		reason: "only the engine knows its driver",
	},
	{
		what: "keepsake/internal/enginetest", in: []string{"./"}, except: []string{"internal/app/apptest", "internal/store/sqlite/sqlitetest", "internal/programtest", "internal/suite", "bench/"},
		reason: "it starts servers for tests",
	},
	{
		what: "keepsake/internal/index", in: []string{"./"}, except: []string{"internal/search"},
		reason: "the index is a detail of search",
	},
	{
		what: "github.com/knadh/koanf/", in: []string{"./"}, except: []string{"internal/config/"},
		reason: "settings reach the rest as one struct",
	},
	{
		what: "github.com/a-h/templ", in: []string{"./"}, except: []string{"internal/console", "internal/reference"},
		reason: "only the console and the documentation render pages with it",
	},
	{
		what: "github.com/spf13/cobra", in: []string{"./"}, except: []string{"cmd/"},
		reason: "the command line is one way in among others",
	},
}

// domain is everything in the table but the declaration of operations, whose business is HTTP.
func domain() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(edges)), func(pkg string) bool { return pkg == "internal/endpoint" })
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
	for pkg := range imports {
		if strings.HasPrefix(pkg, "internal/") && !strings.Contains(strings.TrimPrefix(pkg, "internal/"), "/") {
			if _, ok := edges[pkg]; !ok && !slices.Contains(rim, pkg) {
				t.Errorf("%s is neither in the table of the domain nor at the rim", pkg)
			}
		}
	}
}

// rim are the packages around the domain, which may know it.
var rim = []string{
	"internal/api", "internal/app", "internal/config", "internal/console", "internal/folder", "internal/instance", "internal/loadrun", "internal/outbound", "internal/reference", "internal/store",
	"internal/await", "internal/browsertest", "internal/enginetest", "internal/faulttest", "internal/programtest", "internal/suite", "internal/testtier", "internal/upgradetest",
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

package clients_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/testing/testtier"
)

var python = library{
	language:  "Python",
	file:      func(string) string { return "METHODS in clients/python/tools/names.py, and run make clients" },
	calls:     pythonCalls,
	generated: "clients/python/src/keepsake",
	generate:  "make clients",
	stamped:   "python/src/keepsake/models.py",
	fields:    pythonFields,
	suite: func(t *testing.T) *exec.Cmd {
		t.Helper()
		return inPython(t, "-m", "pytest", "--quiet")
	},
}

// pythonModules returns the generated modules with the methods of the clients.
func pythonModules(t *testing.T) map[string]string {
	t.Helper()
	modules := map[string]string{}
	for _, name := range []string{"_async_resources.py", "_resources.py"} {
		text, err := os.ReadFile(filepath.Join("python/src/keepsake", name))
		if err != nil {
			t.Fatal(err)
		}
		modules[name] = string(text)
	}
	return modules
}

// A method names its operation: Request("createDocument", …) or import_lines("importDocuments", …).
var pythonCall = regexp.MustCompile(`(?:Request|import_lines)\(\s*"(\w+)"`)

// pythonCalls returns the operations that both the synchronous and the asynchronous client call.
func pythonCalls(t *testing.T) map[string]bool {
	t.Helper()
	var of []map[string]bool
	for _, text := range pythonModules(t) {
		calls := map[string]bool{}
		for _, match := range pythonCall.FindAllStringSubmatch(text, -1) {
			calls[match[1]] = true
		}
		of = append(of, calls)
	}
	if !maps.Equal(of[0], of[1]) {
		t.Error("the asynchronous and the synchronous client of Python call other operations: run make clients")
	}
	return of[0]
}

var (
	pythonClass  = regexp.MustCompile(`^class \w+\(\w+\):  # (\w+)$`)
	pythonField  = regexp.MustCompile(`^    (\w+): `)
	pythonBody   = regexp.MustCompile(`^ +body=\{  # (\w+)$`)
	pythonQuery  = regexp.MustCompile(`^ +query=\{(.*)$`)
	pythonMember = regexp.MustCompile(`"(\w+)": `)
)

// pythonFields returns the fields of the models, the members of the bodies that methods send, and the parameters of queries.
func pythonFields(t *testing.T) map[string]bool {
	t.Helper()
	d, fields := readDocument(t), map[string]bool{}
	names := map[string]string{} // of fields in JSON, by Schema.field in Python
	for schema, described := range d.Components.Schemas {
		for property := range described.Properties {
			names[schema+"."+pythonName(property)] = property
		}
	}
	text, err := os.ReadFile("python/src/keepsake/models.py")
	if err != nil {
		t.Fatal(err)
	}
	var schema string
	for line := range strings.Lines(string(text)) {
		if match := pythonClass.FindStringSubmatch(strings.TrimSuffix(line, "\n")); match != nil {
			schema = match[1]
		} else if match := pythonField.FindStringSubmatch(line); match != nil {
			name, ok := names[schema+"."+strings.TrimSuffix(match[1], "_")] // from_ is from
			if !ok {
				name = match[1]
			}
			fields[schema+"."+name] = true
		}
	}
	for _, text := range pythonModules(t) {
		readPythonMethods(text, fields)
	}
	for _, methods := range d.Paths {
		for _, op := range methods {
			for _, p := range op.Parameters {
				if p.In == "query" && uncalled[op.ID] != "" {
					fields[op.ID+"."+p.Name] = true
				}
			}
		}
	}
	return fields
}

// readPythonMethods adds what the methods of a module send. A member has a line of its own, below body or query.
func readPythonMethods(module string, fields map[string]bool) {
	var operation, owner string
	lines := slices.Collect(strings.Lines(module))
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasSuffix(line, "Request(") && i+1 < len(lines) {
			operation = strings.Trim(strings.TrimSpace(lines[i+1]), `",`)
		}
		switch body, query := pythonBody.FindStringSubmatch(line), pythonQuery.FindStringSubmatch(line); {
		case body != nil:
			owner = body[1]
			continue
		case query != nil:
			owner = operation
		case strings.HasPrefix(strings.TrimSpace(line), "}"):
			owner = ""
		}
		if owner == "" {
			continue
		}
		for _, member := range pythonMember.FindAllStringSubmatch(line, -1) {
			fields[owner+"."+member[1]] = true
		}
		if strings.HasSuffix(line, "},") || strings.HasSuffix(line, "}") {
			owner = ""
		}
	}
}

var pythonWord = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// pythonName returns the name of a field in Python: subjectId is subject_id.
func pythonName(property string) string {
	return strings.ToLower(pythonWord.ReplaceAllString(property, "${1}_${2}"))
}

// inPython returns a command of Python in the folder of the client. It skips t if its tools are not installed.
func inPython(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs("python/.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("python/.venv/installed"); err != nil {
		testtier.Missing(t, "the tools of the Python client (clients/python/tools/venv.sh)")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = "python"
	return cmd
}

func TestGeneratedFilesOfThePythonClientAreUpToDate(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Python")
	if out, err := inPython(t, "tools/generate.py", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

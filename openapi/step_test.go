package openapi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/endpoint"
)

// quoted finds the names in oasdiff's texts.
var quoted = regexp.MustCompile(`'([^']+)'`)

// differences lists what breaks clients of a version that move to its successor. The arguments are the files of both. oasdiff's
// warnings count, too: an optional member that is gone breaks the client that used it.
func differences(t *testing.T, from int, before, after string) (list []lifecycle.Difference) {
	t.Helper()
	out, err := runOasdiff(t, before, after, "--format", "json",
		"--strip-prefix-base", fmt.Sprintf("/api/v%d", from), "--strip-prefix-revision", fmt.Sprintf("/api/v%d", from+1))
	if err != nil {
		t.Fatalf("run oasdiff: %v\n%s", err, out)
	}
	var found []struct{ ID, Text, Operation, Path string }
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("read what oasdiff printed: %v\n%s", err, out)
	}
	for _, f := range found {
		d := lifecycle.Difference{Route: f.Operation + " " + f.Path}
		if !strings.HasPrefix(f.ID, "api-") { // about a part of an operation
			for _, name := range quoted.FindAllStringSubmatch(f.Text, -1) {
				d.Fields = append(d.Fields, name[1])
			}
			d.Fields = append(d.Fields, f.ID) // never empty, and shown if no step names it
		}
		list = append(list, d)
	}
	return list
}

func TestEveryBreakingDifferenceBetweenVersionsHasAStep(t *testing.T) {
	t.Parallel()
	eachVersion(func(from int, file string) {
		if from == app.Newest() {
			return
		}
		steps := lifecycle.Between(app.Steps, from, from+1)
		for _, d := range lifecycle.Unnamed(steps, differences(t, from, "openapi/"+file, fmt.Sprintf("openapi/v%d.json", from+1))) {
			t.Errorf("from version %d to %d: no step names %s %v; add it to Steps (internal/app/surfaces.go)", from, from+1, d.Route, d.Fields)
		}
	})
}

// A version that lives in tests has the three kinds of differences.
func TestADifferenceWithoutAStepIsNoticed(t *testing.T) {
	t.Parallel()
	r := app.Declared()
	apptest.DeclareNext(r, nil)
	dir := t.TempDir()
	var files []string
	for version := 1; version <= 2; version++ {
		text, err := endpoint.Document(r, version, "/")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, fmt.Sprintf("v%d.json", version)))
		if err := os.WriteFile(files[version-1], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r.Newest() != 2 {
		t.Fatalf("the newest declared version is %d", r.Newest())
	}
	all := differences(t, 1, files[0], files[1])
	if left := lifecycle.Unnamed(apptest.NextSteps, all); len(left) != 0 {
		t.Errorf("no step names %+v", left)
	}
	for i, step := range apptest.NextSteps {
		var routes []string
		for _, d := range lifecycle.Unnamed(slices.Delete(slices.Clone(apptest.NextSteps), i, i+1), all) {
			routes = append(routes, d.Route)
		}
		if diff := cmp.Diff(step.Routes, slices.Compact(routes)); diff != "" {
			t.Errorf("without the step %s (-want +got):\n%s", step.ID, diff)
		}
	}
}

func TestAStepNamesTheDifferencesThatItDescribes(t *testing.T) {
	t.Parallel()
	renamed := lifecycle.Step{Routes: []string{"GET /a", "GET /b"}, Fields: []string{"text"}}
	dropped := lifecycle.Step{Routes: []string{"GET /a"}}
	for _, c := range []struct {
		step lifecycle.Step
		d    lifecycle.Difference
		want bool
	}{
		{renamed, lifecycle.Difference{Route: "GET /b", Fields: []string{"items/items/text", "200"}}, true},
		{renamed, lifecycle.Difference{Route: "GET /b", Fields: []string{"title"}}, false},
		{renamed, lifecycle.Difference{Route: "PUT /b", Fields: []string{"text"}}, false},
		{renamed, lifecycle.Difference{Route: "GET /a"}, false}, // the whole operation is gone
		{dropped, lifecycle.Difference{Route: "GET /a"}, true},
		{dropped, lifecycle.Difference{Route: "GET /a", Fields: []string{"text"}}, false},
	} {
		if got := c.step.Names(c.d); got != c.want {
			t.Errorf("%+v names %+v: got %v", c.step, c.d, got)
		}
	}
}

// The guide links to steps by their IDs, and each must help a reader.
func TestStepsAreComplete(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, steps := range [][]lifecycle.Step{app.Steps, apptest.NextSteps} {
		seen := map[string]bool{}
		for _, s := range steps {
			id := fmt.Sprint(s.Version, s.ID)
			if !name.MatchString(s.ID) || seen[id] || s.Version < 2 || !strings.HasSuffix(s.Summary, ".") || len(s.Routes) == 0 || s.Before == "" {
				t.Errorf("the step %+v lacks a name of its own, a version, a sentence, a route or an example", s)
			}
			seen[id] = true
		}
	}
}

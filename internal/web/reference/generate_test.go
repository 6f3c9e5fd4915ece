package reference

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"keepsake"
	"keepsake/internal/testing/testtier"
)

func TestGeneratedPagesAreCurrent(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "builds the generator")
	dir := t.TempDir()
	sources, err := filepath.Glob("*.templ")
	if err != nil || len(sources) == 0 {
		t.Fatalf("got the pages %v, %v", sources, err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "../../../tools/templ.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("tools/templ.sh: %v: %s", err, out)
	}
	for _, name := range sources {
		name = name[:len(name)-len(".templ")] + "_templ.go"
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its page generates; run make console (%v)", name, err)
		}
	}
}

func TestChangelogLinksToGuides(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(keepsake.Texts, "CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(text), -1)
	if len(links) < 5 {
		t.Errorf("found %d links", len(links))
	}
	for _, m := range links {
		if linkTo(m[1]) == "" {
			t.Errorf("%s is no page of the program", m[1])
		}
	}
}

// A guide of the program is in the navigation, once.
func TestEveryGuideHasAPlace(t *testing.T) {
	t.Parallel()
	for _, name := range guideOrder {
		n := 0
		for _, list := range [][]string{guidesToUse, guidesToRun, {"changelog"}} {
			for _, other := range list {
				if name == other {
					n++
				}
			}
		}
		if n != 1 {
			t.Errorf("%s is in %d parts of the navigation", name, n)
		}
	}
	everyText(t, func(name, text string) {
		known := name == "CHANGELOG.md"
		for _, of := range guideOrder {
			known = known || name == "docs/"+of+".md"
		}
		if !known {
			t.Errorf("%s is in the program, but has no page", name)
		}
	})
}

package faulttest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheTableNamesTestsThatExist holds docs/testing.md against the sources: a test or a check that is named there is
// there, and every test of this package is named.
func TestTheTableNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests, checks strings.Builder
	err = filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, "_test.go") {
			tests.Write(text)
		} else if filepath.Base(filepath.Dir(path)) == "conformance" {
			checks.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, m := range regexp.MustCompile("`([A-Z][A-Za-z0-9]{7,})`").FindAllStringSubmatch(string(page), -1) {
		name := m[1]
		if !strings.Contains(tests.String(), "func "+name+"(") && !strings.Contains(checks.String(), `"`+name+`"`) {
			t.Errorf("docs/testing.md names %s, which is neither a test nor a check", name)
		}
		named++
	}
	if named < 100 {
		t.Errorf("docs/testing.md names %d tests", named)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test[A-Z]\w+)\(t `).FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(page), "`"+m[1]+"`") {
				t.Errorf("docs/testing.md does not name %s of %s", m[1], file)
			}
		}
	}
}

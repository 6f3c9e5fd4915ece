package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"keepsake/internal/testtier"
)

// reflectMethods are the packages that look up methods by name at run time (reflect.Value.Method and MethodByName, or
// reflect.Type's), and why each is in the program. One of them is enough to make the linker keep every exported method
// of the program, so none may come in unnoticed.
var reflectMethods = map[string]string{
	"github.com/modern-go/reflect2":      "json-iterator, which the index library uses",
	"github.com/go-json-experiment/json": "addressableValue embeds reflect.Value; kept only because of the others",
	"text/template":                      "cobra's SetUsageTemplate, which is not called; kept only because of the others",
	"reflect":                            "its own methods; kept only because of the others",
}

func TestNoOtherPackageLooksUpMethodsByName(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "links the program")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "keepsake"), ".")
	var dump bytes.Buffer
	build.Stderr = &dump
	if err := build.Run(); err != nil {
		t.Fatalf("go build: %v\n%.2000s", err, dump.String())
	}
	function := regexp.MustCompile(` -> ((?:[\w.~-]+/)*[\w-]+)\.\S+ <ReflectMethod>`)
	found := map[string]bool{}
	for lines := bufio.NewScanner(&dump); lines.Scan(); {
		if m := function.FindSubmatch(lines.Bytes()); m != nil {
			found[string(m[1])] = true
		}
	}
	for pkg := range found {
		if reflectMethods[pkg] == "" {
			t.Errorf("%s looks up methods by name, which makes the linker keep every exported method", pkg)
		}
	}
	for pkg := range reflectMethods {
		if !found[pkg] {
			t.Errorf("%s no longer looks up methods by name; remove it from the list", pkg)
		}
	}
}

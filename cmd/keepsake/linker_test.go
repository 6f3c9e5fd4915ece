package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"keepsake/internal/testing/testtier"
)

// A package that looks up methods by name at run time (reflect.Value.Method and MethodByName, or reflect.Type's) makes the
// linker keep every exported method of the program.
func TestNoPackageLooksUpMethodsByName(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "links the program")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "keepsake"), ".")
	var dump bytes.Buffer
	build.Stderr = &dump
	if err := build.Run(); err != nil {
		t.Fatalf("go build: %v\n%.2000s", err, dump.String())
	}
	function := regexp.MustCompile(` -> ((?:[\w.~-]+/)*[\w-]+)\.\S+ <ReflectMethod>`)
	for lines := bufio.NewScanner(&dump); lines.Scan(); {
		if m := function.FindSubmatch(lines.Bytes()); m != nil {
			t.Errorf("%s looks up methods by name", m[1])
		}
	}
}

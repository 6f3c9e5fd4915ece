package clients_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"keepsake/internal/testing/testtier"
)

// blocks returns the blocks in a language of the guide, of README.md, and of the README.md of a package.
func blocks(t *testing.T, language, folder string, ofGuide int) []string {
	t.Helper()
	pattern := regexp.MustCompile("(?s)```" + language + "\n(.*?)```")
	var found []string
	for path, want := range map[string]int{"../docs/clients.md": ofGuide, "../README.md": 1, folder + "/README.md": 1} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		matches := pattern.FindAllSubmatch(text, -1)
		if len(matches) != want {
			t.Fatalf("%s has %d blocks of %s, want %d", path, len(matches), language, want)
		}
		for _, match := range matches {
			found = append(found, string(match[1]))
		}
	}
	return found
}

// typescriptNames are what the blocks of the guide use without saying where it is from.
const typescriptNames = `import { ApiError, Keepsake, RateLimitError, verifyWebhook, type NewDocument } from "@keepsake/client";
declare const keepsake: Keepsake;
declare const rows: AsyncIterable<NewDocument>;
`

// TestBlocksOfTheTypeScriptGuideCompile compiles each block in a strict project with the packed package.
func TestBlocksOfTheTypeScriptGuideCompile(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "packs the package and starts the compiler")
	project := newTypeScriptProject(t)
	for i, block := range blocks(t, "ts", "typescript", 4) {
		if !strings.Contains(block, "import {") {
			block = typescriptNames + block
		}
		writeFile(t, filepath.Join(project.dir, fmt.Sprintf("block%d.ts", i)), block)
	}
	project.compile()
}

// pythonNames are what the blocks of the guide use without saying where it is from, and a web framework.
const pythonNames = `import csv
import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from keepsake import APIError, Client, RateLimitError

F = TypeVar("F")


class App:
    def post(self, path: str) -> Callable[[F], F]: ...  # type: ignore[empty-body]


class Request:
    headers: Mapping[str, str] = {}

    async def body(self) -> bytes: ...  # type: ignore[empty-body]


class Response:
    def __init__(self, status_code: int) -> None: ...


async def main(client: Client, app: App) -> None:
`

// TestBlocksOfThePythonGuideHaveTheRightTypes asks mypy, as strict as it can be, and pyright. That the package has its types in an
// empty environment, a test of the release shows.
func TestBlocksOfThePythonGuideHaveTheRightTypes(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts mypy and pyright")
	dir := t.TempDir()
	for i, block := range blocks(t, "python", "python", 5) {
		if !strings.Contains(block, "import os") { // it is no whole program
			names := pythonNames
			if strings.Contains(block, "as client:") { // it makes a client of its own
				names = strings.Replace(names, "client: Client, ", "", 1)
			}
			block = names + "    " + strings.ReplaceAll(block, "\n", "\n    ") + "\n"
		}
		writeFile(t, filepath.Join(dir, fmt.Sprintf("block%d.py", i)), block)
	}
	writeFile(t, filepath.Join(dir, "pyrightconfig.json"), fmt.Sprintf(`{"extraPaths": [%q]}`, absolute(t, "python/src")))
	for _, args := range [][]string{{"-m", "mypy", "--strict", dir}, {"-m", "pyright", "--pythonpath", absolute(t, "python/.venv/bin/python"), "--project", dir}} {
		cmd := inPython(t, args...)
		cmd.Env = append(os.Environ(), "MYPYPATH=src")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", args[1], err, out)
		}
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

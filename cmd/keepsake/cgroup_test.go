package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheSmallestLimitOnTheWayToTheRootCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		self  string
		files map[string]string
		want  int64 // 0: none
	}{
		"version 2":              {"0::/a/b\n", map[string]string{"a/memory.max": "300\n", "a/b/memory.max": "500\n"}, 300},
		"version 2 without any":  {"0::/a\n", map[string]string{"a/memory.max": "max\n"}, 0},
		"version 2 in its root":  {"0::/\n", map[string]string{"memory.max": "700\n"}, 700},
		"version 1":              {"5:cpu:/x\n4:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "400\n"}, 400},
		"version 1 without any":  {"4:memory:/\n", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"no control group":       {"", nil, 0},
		"a line that is none":    {"nonsense\n", nil, 0},
		"files that are missing": {"0::/gone\n", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			self := filepath.Join(root, "self")
			write(t, self, c.self)
			for path, text := range c.files {
				write(t, filepath.Join(root, path), text)
			}
			got, ok := groupMemory(self, root)
			if ok != (c.want > 0) || (ok && got != c.want) {
				t.Errorf("got %d, %v; want %d", got, ok, c.want)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

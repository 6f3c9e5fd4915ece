package main

import (
	"bytes"
	"compress/gzip"
	"testing"
	"time"
)

// TestOrderOfAPackageOfNpmIsFixed packs files in two orders and at two times, and reads the same files.
func TestOrderOfAPackageOfNpmIsFixed(t *testing.T) {
	t.Parallel()
	a, b := file{name: "package/a.js", mode: 0o755, data: []byte("a")}, file{name: "package/b.js", mode: 0o600, data: []byte("b")}
	for i, order := range [][]file{{a, b}, {b, a}} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if err := writeTar(z, order, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := packedFiles(&packed)
		if err != nil || len(files) != 2 || files[0].name != a.name || string(files[1].data) != "b" || files[0].mode != files[1].mode {
			t.Errorf("got %v, %v", files, err)
		}
	}
}

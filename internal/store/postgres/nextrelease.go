//go:build nextrelease

package postgres

import (
	"embed"
	"io/fs"
)

// A build for tests: what a next release might be, which adds to the schema.

//go:embed testdata/nextrelease
var next embed.FS

func init() {
	tree, err := fs.Sub(next, "testdata/nextrelease")
	if err != nil {
		panic(err)
	}
	known = append(known, tree)
}

//go:build nextrelease

package sqlite

import (
	"embed"
	"io/fs"
)

// This build is for tests. It contains a migration that a next release could have.

//go:embed testdata/nextrelease
var next embed.FS

func init() {
	tree, err := fs.Sub(next, "testdata/nextrelease")
	if err != nil {
		panic(err)
	}
	known = append(known, tree)
}

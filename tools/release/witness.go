package main

import (
	"os"
	"path/filepath"
)

// witness writes released/VERSION, which the repository keeps: a data folder that the program for this machine has filled, and
// the checksums of the folder and of the release. The keys in the folder are new each time, so checksums.txt of the release does
// not name it. It is not written into the checkout, because the next build would find that changed.
func (r *release) witness() error {
	dir := filepath.Join(r.out, "released", r.version)
	if _, err := command(r.root, []string{"CGO_ENABLED=0"}, "go", "run", "./deploy/witness", r.host, dir); err != nil {
		return err
	}
	path := filepath.Join(dir, "checksums.txt")
	folder, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files, err := os.ReadFile(filepath.Join(r.out, "checksums.txt"))
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(folder, files...), 0o644)
}

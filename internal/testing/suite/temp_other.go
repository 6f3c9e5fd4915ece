//go:build !linux

package main

import "os"

// tempDir returns the folder for the files of tests.
func tempDir() string { return os.TempDir() }

//go:build !linux

package main

import "os"

// tempDir is where the tests create their files.
func tempDir() string { return os.TempDir() }

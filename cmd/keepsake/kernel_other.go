//go:build !linux

package main

// kernelRelease returns nothing: Go names no oldest release of other systems that starts the program at all.
func kernelRelease() string { return "" }

package main

import "golang.org/x/sys/unix"

// kernelRelease returns the release of Linux; empty if it is unknown.
func kernelRelease() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

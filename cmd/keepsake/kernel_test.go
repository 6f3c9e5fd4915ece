package main

import (
	"runtime"
	"testing"
)

func TestAnOldKernelIsNamed(t *testing.T) {
	t.Parallel()
	for release, old := range map[string]bool{
		"2.6.32-754.el6.x86_64": true, "3.1.10": true, "3.1": true, "2.6": true,
		"3.2.0-4-amd64": false, "3.10.0-1160.el7.x86_64": false, "4.4": false, "6.18.44": false, "7.0-rc1": false, "10.1": false, "": false, "unknown": false,
	} {
		if got := kernelProblem(release); (got != "") != old {
			t.Errorf("Linux %s: %q", release, got)
		}
	}
	if release := kernelRelease(); kernelProblem(release) != "" || (release == "") != (runtime.GOOS != "linux") {
		t.Errorf("this system has the release %q", release)
	}
}

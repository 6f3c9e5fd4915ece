package main

import (
	"fmt"
	"strconv"
	"strings"
)

// The oldest Linux on which programs of Go run. The program itself needs nothing newer: what a kernel lacks is done without.
const oldestMajor, oldestMinor = 3, 2

// kernelProblem says that a release of Linux, such as 6.12.9-amd64, is too old. It is empty if it is not, or if that is unknown.
func kernelProblem(release string) string {
	first, rest, _ := strings.Cut(release, ".")
	second, _, _ := strings.Cut(rest, ".")
	second, _, _ = strings.Cut(second, "-")
	major, err := strconv.Atoi(first)
	if err != nil {
		return ""
	}
	minor, err := strconv.Atoi(second)
	if err != nil || major > oldestMajor || major == oldestMajor && minor >= oldestMinor {
		return ""
	}
	return fmt.Sprintf("Linux %s is older than %d.%d, which the program needs: update the system", release, oldestMajor, oldestMinor)
}

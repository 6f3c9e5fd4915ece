package lifecycle

import "strings"

// maxNumber is the largest number that is read as a version; a larger one is unknown.
const maxNumber = 9999

// InPath finds the version that a path names. named is false for a path without one, such as /api/versions. A name that
// cannot be a version (v0, v01, v99999) gives number 0, which does not exist.
func InPath(path string) (number int, named bool) {
	rest, ok := strings.CutPrefix(path, "/api/v")
	if !ok {
		return 0, false
	}
	digits := len(rest)
	for i := range len(rest) {
		if rest[i] == '/' {
			digits = i
			break
		}
		if rest[i] < '0' || rest[i] > '9' {
			return 0, false
		}
	}
	if digits == 0 {
		return 0, false
	}
	number, _ = parse(rest[:digits])
	return number, true
}

// ParseAccept reads the value of Accept-Version: `1` or `v1`.
func ParseAccept(value string) (number int, ok bool) {
	return parse(strings.TrimPrefix(value, "v"))
}

// parse reads a number without sign or leading zeros.
func parse(digits string) (number int, ok bool) {
	if digits == "" || digits[0] == '0' {
		return 0, false
	}
	for i := range len(digits) {
		d := digits[i]
		if d < '0' || d > '9' {
			return 0, false
		}
		if number = number*10 + int(d-'0'); number > maxNumber {
			return 0, false
		}
	}
	return number, true
}

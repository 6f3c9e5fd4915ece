package client

import (
	"strings"
	"sync/atomic"
)

// follow is the version that a client has moved to. A nil one stays where it is.
type follow struct {
	version atomic.Pointer[string]
}

// learn reports whether e named a version to move to that is new.
func (f *follow) learn(e *Error) bool {
	if f == nil || e.ReplacementVersion == "" {
		return false
	}
	if known := f.version.Load(); known != nil && *known == e.ReplacementVersion {
		return false
	}
	f.version.Store(&e.ReplacementVersion)
	return true
}

// path is path under the version that was moved to.
func (f *follow) path(path string) string {
	const first = "/api/v1/"
	if f == nil || !strings.HasPrefix(path, first) {
		return path
	}
	version := f.version.Load()
	if version == nil {
		return path
	}
	return "/api/v" + *version + "/" + path[len(first):]
}

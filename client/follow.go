package client

import (
	"strings"
	"sync/atomic"
)

// follow is the version that a client has moved to. The nil follow never moves.
type follow struct {
	version atomic.Pointer[string]
}

// learn moves to the replacement that e names, and reports whether it is a new one.
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

// number returns the version that the client has moved to.
func (f *follow) number() string {
	if f != nil {
		if version := f.version.Load(); version != nil {
			return *version
		}
	}
	return "1"
}

// path returns path under the version that the client has moved to.
func (f *follow) path(path string) string {
	if rest, ok := strings.CutPrefix(path, "/api/v1/"); ok {
		return "/api/v" + f.number() + "/" + rest
	}
	return path
}

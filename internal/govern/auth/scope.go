// Package auth says who a caller is and what it may do.
package auth

import "strings"

// Scopes is a set of scopes (§5.3) as a bit set: comparing two sets is one instruction on the way of every request.
type Scopes uint8

// The scopes of the specification.
const (
	Read Scopes = 1 << iota
	Write
	DeveloperManage
	AnalyticsRead
	MemoryRead
	MemoryWrite
	Admin

	None Scopes = 0
	All         = Read | Write | DeveloperManage | AnalyticsRead | MemoryRead | MemoryWrite | Admin
)

// names is in bit order, which is the order of the specification's table and of every list of scopes we print.
var names = [...]string{"read", "write", "developer:manage", "analytics:read", "memory:read", "memory:write", "admin"}

// Allows reports whether a credential with these scopes may do what needs need. Admin implies every other scope.
func (s Scopes) Allows(need Scopes) bool { return s&Admin != 0 || s&need == need }

// Names lists the scopes in the specification's order.
func (s Scopes) Names() []string {
	list := make([]string, 0, len(names))
	for i, name := range names {
		if s&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// String joins the names with spaces, as an OAuth scope claim does.
func (s Scopes) String() string { return strings.Join(s.Names(), " ") }

// Append appends String to text.
func (s Scopes) Append(text []byte) []byte {
	space := ""
	for i, name := range names {
		if s&(1<<i) != 0 {
			text = append(append(text, space...), name...)
			space = " "
		}
	}
	return text
}

// ParseScope finds one scope by its name.
func ParseScope(name string) (Scopes, bool) {
	for i, n := range names {
		if n == name {
			return 1 << i, true
		}
	}
	return None, false
}

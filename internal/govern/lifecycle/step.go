package lifecycle

import (
	"slices"
	"strings"
)

// Step is one difference between a version and its predecessor that clients must know of: what an operation dropped, renamed
// or does differently. Steps are declared in code beside the operations that differ, and make up the migration guide.
type Step struct {
	Version int    // the version that it leads to
	ID      string // unique within a version, a name in URLs: document-text-renamed
	Summary string // a sentence
	// Routes are the operations that differ, below the path of the version: GET /documents/{id}.
	Routes []string
	// Fields are the members, parameters and headers that differ. A step without any is about whole operations: one that the
	// version drops, or one that behaves differently although its description stays the same.
	Fields []string
	Before string // an example of a request or response in the predecessor; can be empty
	After  string // the same in the version; can be empty
}

// Between returns the steps after version from, up to version to.
func Between(steps []Step, from, to int) []Step {
	var list []Step
	for _, s := range steps {
		if s.Version > from && s.Version <= to {
			list = append(list, s)
		}
	}
	return list
}

// Difference is a breaking difference between two descriptions of the API.
type Difference struct {
	Route  string   // GET /documents/{id}
	Fields []string // paths of members, such as items/text; none if the whole operation is gone
}

// Names reports whether the step tells clients of a difference.
func (s *Step) Names(d Difference) bool {
	if !slices.Contains(s.Routes, d.Route) {
		return false
	}
	if len(d.Fields) == 0 {
		return len(s.Fields) == 0
	}
	return slices.ContainsFunc(d.Fields, func(path string) bool {
		return slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return slices.Contains(s.Fields, name) })
	})
}

// Unnamed returns the differences that no step names.
func Unnamed(steps []Step, all []Difference) []Difference {
	return slices.DeleteFunc(slices.Clone(all), func(d Difference) bool {
		return slices.ContainsFunc(steps, func(s Step) bool { return s.Names(d) })
	})
}

// Package revision says which revisions of a resource a conditional request expects.
package revision

import "slices"

// Expected lists the revisions of which the stored one must be one. Nil expects none: every revision will do. An empty list
// that is not nil allows no revision.
type Expected []int64

// Allows reports whether a resource with the stored revision is as expected.
func (e Expected) Allows(stored int64) bool { return e == nil || slices.Contains(e, stored) }

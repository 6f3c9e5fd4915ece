package lifecycle

// Change is one difference between a version and its predecessor, for the migration guide. Changes are declared in code
// beside the operations that differ.
type Change struct {
	Version   int    // the version that introduced it
	Operation string // GET /search
	Before    string // what a client did or saw
	After     string // what it does or sees now
}

// Between returns the changes after version from, up to version to.
func Between(changes []Change, from, to int) []Change {
	var list []Change
	for _, c := range changes {
		if c.Version > from && c.Version <= to {
			list = append(list, c)
		}
	}
	return list
}

package lifecycle

// Change is one difference between a version and the one before it, as its migration guide tells it. The list is
// declared in code beside the operations that differ.
type Change struct {
	Version   int    // the version that brought it
	Operation string // what it concerns: GET /search
	Before    string // what a client did or saw
	After     string // what it does or sees now
}

// Between picks the changes that lead from one version to the next.
func Between(changes []Change, from, to int) []Change {
	var list []Change
	for _, c := range changes {
		if c.Version > from && c.Version <= to {
			list = append(list, c)
		}
	}
	return list
}

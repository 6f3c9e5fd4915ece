package store

import "context"

// Cataloged is a Database that can tell its tables, for whoever works with all of them alike. Every database of an engine
// is one.
type Cataloged interface {
	Database
	// Tables gives the tables that our migrations made, those first that others refer to.
	Tables(ctx context.Context) ([]Table, error)
}

// Table is a table as the engine's catalog describes it.
type Table struct {
	Name    string
	Columns []Column
	Key     []string // the columns of the primary key, in its order
	Refers  []string // the tables that its rows refer to
}

// Column is a column of a Table.
type Column struct {
	Name string
	Kind Kind
	Null bool // it may be NULL
}

// Kind is what a column holds.
type Kind int

// The kinds. Truth is one that an engine may keep as a Number.
const (
	Number Kind = iota + 1
	Text
	Bytes
	Truth
)

// InOrder puts tables behind those they refer to, else leaves them as they are.
func InOrder(tables []Table) []Table {
	byName := make(map[string]Table, len(tables))
	for _, t := range tables {
		byName[t.Name] = t
	}
	var ordered []Table
	var add func(name string)
	add = func(name string) {
		t, waits := byName[name]
		if !waits {
			return
		}
		delete(byName, name) // also where tables refer to each other in a circle
		for _, other := range t.Refers {
			add(other)
		}
		ordered = append(ordered, t)
	}
	for _, t := range tables {
		add(t.Name)
	}
	return ordered
}

package store

import (
	"context"
	"slices"
)

// Cataloged is a Database that describes its tables, for code that treats all tables alike. Every database of an engine is one.
type Cataloged interface {
	Database
	// Tables returns the tables that our migrations created. Referenced tables come first.
	Tables(ctx context.Context) ([]Table, error)
}

// Table is a table as described by the engine's catalog.
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
	Null bool // it can be NULL
}

// Kind is what a column holds.
type Kind int

// The kinds. An engine can store a Truth as a Number.
const (
	Number Kind = iota + 1
	Text
	Bytes
	Truth
)

// triggersRead lists by table the tables that its triggers read, so that it refers to them without a foreign key.
var triggersRead = map[string][]string{"document": {"document_head"}, "collection": {"document_head"}}

// InOrder moves tables behind those they refer to, and keeps the order otherwise.
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
		delete(byName, name) // now, in case of a cycle
		for _, other := range slices.Concat(t.Refers, triggersRead[name]) {
			add(other)
		}
		ordered = append(ordered, t)
	}
	for _, t := range tables {
		add(t.Name)
	}
	return ordered
}

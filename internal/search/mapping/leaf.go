package mapping

import (
	"fmt"
	"strings"

	"keepsake/internal/base/wire"
)

// Cell is the value of a CSV's cell: a text that can be meant as a number or a truth value.
type Cell string

// leaf is a value of a row that is no object. The names of nested ones are joined by dots.
type leaf struct {
	name  string
	value any    // string, Cell, wire.Number, bool, nil or wire.List
	entry string // name of a metadata entry that the row already has as one; else empty
	used  bool   // a field has it
}

// ownEntries is what the names of a document's own metadata begin with.
const ownEntries = fieldMetadata + "."

// leavesOf returns the values of a row in their order.
func leavesOf(row *wire.Row) []leaf {
	leaves := make([]leaf, 0, len(row.Members))
	return appendLeaves(leaves, "", row)
}

func appendLeaves(leaves []leaf, prefix string, row *wire.Row) []leaf {
	for i := range row.Members {
		m := &row.Members[i]
		name := prefix + m.Name
		if nested, ok := m.Value.(wire.Row); ok {
			leaves = appendLeaves(leaves, name+".", &nested)
			continue
		}
		entry, _ := strings.CutPrefix(name, ownEntries)
		if entry == name {
			entry = ""
		}
		leaves = append(leaves, leaf{name: name, value: m.Value, entry: entry})
	}
	return leaves
}

// RowOfCells returns the row of a table. Empty cells are left out.
func RowOfCells(columns, cells []string) wire.Row {
	row := wire.Row{Members: make([]wire.Member, 0, len(cells))}
	for i, cell := range cells {
		if cell != "" {
			row.Members = append(row.Members, wire.Member{Name: columns[i], Value: Cell(cell)})
		}
	}
	return row
}

// named returns the index of the leaf with a name, or -1. nested is whether an object has the name instead.
func named(leaves []leaf, name string) (index int, nested bool) {
	for i := range leaves {
		if leaves[i].name == name {
			return i, false
		}
		nested = nested || strings.HasPrefix(leaves[i].name, name) && strings.HasPrefix(leaves[i].name[len(name):], ".")
	}
	return -1, nested
}

// Names returns the names of the values of a row, in their order.
func Names(row *wire.Row) []string {
	var names []string
	for _, l := range leavesOf(row) {
		names = append(names, l.name)
	}
	return names
}

// Text returns the value with a name as people read it; "" if the row has none.
func Text(row *wire.Row, name string) string {
	leaves := leavesOf(row)
	i, _ := named(leaves, name)
	if i < 0 {
		return ""
	}
	switch value := leaves[i].value.(type) {
	case nil:
		return ""
	case wire.List:
		if value.Nested {
			return value.Text
		}
		return strings.Join(textsOf(value), ", ")
	default:
		return fmt.Sprint(value)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// items is a list as JSON.
type items[T any] struct {
	Items []T `json:"items"`
}

// first returns up to limit items of a list, and whether there are more.
func first[T any](list iter.Seq2[T, error], limit int) (found []T, more bool, err error) {
	found = []T{}
	for item, err := range list {
		if err != nil {
			return nil, false, err
		}
		if len(found) >= limit {
			return found, true, nil
		}
		found = append(found, item)
	}
	return found, false, nil
}

// printMore says that a list was cut off.
func (st *stage) printMore(more bool, noun string) {
	if more {
		fmt.Fprintf(st.out, "There are more %s; --limit shows more of them.\n", noun)
	}
}

// listText joins texts, or returns - if there is none.
func listText(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ", ")
}

// metadataText formats metadata in the order of the names.
func metadataText(metadata map[string]any) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		value, err := json.Marshal(metadata[name])
		if err != nil {
			value = fmt.Append(nil, metadata[name])
		}
		list = append(list, name+"="+string(value))
	}
	return listText(list)
}

package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

// clearArgument is the argument with the names of the fields that update_memory removes. null removes nothing, because many
// clients send it for every argument that their model has left out.
const clearArgument = "clear"

// removable are the fields that clear can remove. metadata.NAME removes an entry of the metadata.
var removable = []string{"speaker", "tags", "metadata", "importance", "occurredAt", "validFrom", "validTo", "expiresAt", "key", "source"}

const metadataEntry = "metadata."

// updateMemory changes fields of a memory and removes those in clear.
func updateMemory(_ context.Context, c *call) (wire.Value, error) {
	if err := c.remove(); err != nil {
		return nil, err
	}
	resp, err := c.operate()
	return wire.Value(resp.Body), err
}

// remove adds the fields in clear to the body of the operation, where null removes a field.
func (c *call) remove() error {
	list, ok := c.arguments[clearArgument]
	if !ok {
		return nil
	}
	var names []wire.Value
	if list.Kind() != '[' || wire.Decode(list, &names) != nil {
		return problem.Validation(clearArgument, problem.Type, "clear must be a list of names.")
	}
	c.removed = map[string]wire.Value{}
	entries := map[string]wire.Value{}
	for i, v := range names {
		at := fmt.Sprintf("%s[%d]", clearArgument, i)
		name, ok := stringOf(v)
		if !ok {
			return problem.Validation(at, problem.Type, at+" must be a string.")
		}
		if entry, ok := strings.CutPrefix(name, metadataEntry); ok && entry != "" {
			entries[entry] = wire.Value("null")
			continue
		}
		if !slices.Contains(removable, name) {
			return problem.Validation(at, problem.NotAllowed, at+" must be one of "+strings.Join(removable, ", ")+", or metadata.NAME.")
		}
		if _, given := c.arguments[name]; given {
			return problem.Validation(at, problem.NotAllowed, name+" is both changed and cleared.")
		}
		c.removed[name] = wire.Value("null")
	}
	return c.removeEntries(entries)
}

// removeEntries removes entries of the metadata, beside the changes in the argument metadata.
func (c *call) removeEntries(entries map[string]wire.Value) error {
	if len(entries) == 0 || c.removed["metadata"] != nil {
		return nil
	}
	changes, ok := objectOf(c.arguments["metadata"])
	if !ok {
		return problem.Validation("metadata", problem.Type, "metadata must be an object.")
	}
	for name, v := range changes {
		if _, both := entries[name]; both {
			return problem.Validation(clearArgument, problem.NotAllowed, "An entry of metadata is both changed and cleared.")
		}
		entries[name] = v
	}
	text, err := wire.Encode(entries)
	if err != nil {
		return err
	}
	delete(c.arguments, "metadata")
	c.removed["metadata"] = text
	return nil
}

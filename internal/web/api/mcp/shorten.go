package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/text"
	"keepsake/internal/base/wire"
)

// Limits of a result, in characters. Clients refuse longer results or cut them where they like. A result is sent twice, as a text
// and as structured content, and both count.
const (
	maxText   = 1000   // of one text
	maxResult = 39_500 // of all: 40,000 with the message around it
	maxItem   = 6000   // of the text of an item as it is sent, and again of everything else
)

// shortened says what a tool's result contains that can be too long: documents and memories, of which it then shows a part.
type shortened struct {
	list   string // member with the items; empty: the result is one item
	item   string // member of an item with the memory; empty: the item itself
	pages  bool   // the rest of the list follows after its cursor
	reader string // tool that reads a whole item
}

// runShort calls the tool and shortens its result.
func (c *call) runShort(ctx context.Context) (wire.Value, error) {
	for {
		result, err := c.run(ctx)
		if err != nil || c.tool.shorten == nil || len(result) <= maxText {
			return result, err
		}
		short, shown, err := c.tool.shorten.apply(result)
		if shown == 0 || err != nil {
			return short, err
		}
		c.arguments["limit"] = wire.Value(strconv.Itoa(shown)) // so that the cursor continues after the last item with room
	}
}

// apply shortens a result. If only the first items of a list with pages have room, shown is their number and short is nil.
func (s *shortened) apply(result wire.Value) (short wire.Value, shown int, err error) {
	var members map[string]wire.Value
	if err := wire.Decode(result, &members); err != nil {
		return nil, 0, fmt.Errorf("decode the result of an operation: %w", err)
	}
	if s.list == "" {
		if shortItem(members) {
			members["note"] = encoded(s.note(true, 0))
		}
		short, err = wire.Encode(members)
		return short, 0, err
	}
	var items []wire.Value
	if err := wire.Decode(members[s.list], &items); err != nil {
		return nil, 0, fmt.Errorf("decode the list of an operation: %w", err)
	}
	ids, cut := make([]string, len(items)), false
	for i := range items {
		var was bool
		if items[i], ids[i], was, err = s.shortIn(items[i]); err != nil {
			return nil, 0, err
		}
		cut = cut || was
	}
	delete(members, s.list)
	shown = roomFor(items, ids, maxResult-sentLength(encoded(members))-sentLength(encoded(s.note(true, len(items)))))
	switch {
	case shown == len(items):
	case s.pages && shown > 0:
		return nil, shown, nil
	default:
		members["omitted"] = encoded(ids[shown:])
	}
	if note := s.note(cut, len(items)-shown); note != "" {
		members["note"] = encoded(note)
	}
	members[s.list] = encoded(items[:shown])
	short, err = wire.Encode(members)
	return short, 0, err
}

// note says how to get what is left out.
func (s *shortened) note(cut bool, omitted int) string {
	var list []string
	if cut {
		list = append(list, "Items with cut are shortened; "+s.reader+" returns a whole one.")
	}
	if omitted > 0 {
		list = append(list, fmt.Sprintf("%d more had no room; %s reads those in omitted.", omitted, s.reader))
	}
	return strings.Join(list, " ")
}

// roomFor returns how many of the first items fit into room characters, together with the IDs of all others.
func roomFor(items []wire.Value, ids []string, room int) int {
	for _, id := range ids {
		room -= sentLength(encoded(id)) + 2 // commas
	}
	for i, item := range items {
		room -= sentLength(item) + 2
		if room < 0 {
			return i
		}
	}
	return len(items)
}

// shortIn shortens the memory or document in an item of a list, and returns its ID.
func (s *shortened) shortIn(item wire.Value) (short wire.Value, id string, cut bool, err error) {
	var outer, members map[string]wire.Value
	if s.item == "" {
		err = wire.Decode(item, &members)
		outer = members
	} else if err = wire.Decode(item, &outer); err == nil {
		err = wire.Decode(outer[s.item], &members)
	}
	if err != nil {
		return nil, "", false, fmt.Errorf("decode an item of an operation: %w", err)
	}
	id, _ = stringOf(members["id"])
	if !shortItem(members) {
		return item, id, false, nil
	}
	if s.item != "" {
		outer[s.item] = encoded(members)
	}
	return encoded(outer), id, true, nil
}

// shortItem shortens the members of a memory or document. Its member cut then names them.
func shortItem(members map[string]wire.Value) bool {
	var cut []string
	if whole, ok := stringOf(members["text"]); ok {
		if short := shortText(whole); short != whole {
			members["text"] = encoded(short)
			cut = append(cut, "text")
		}
	}
	for _, name := range []string{"metadata", "tags", "source", "key", "title", "speaker"} {
		v := members[name]
		if sentLength(encoded(members))-sentLength(members["text"]) <= maxItem {
			break
		}
		if v == nil || v.Kind() == 'n' {
			continue
		}
		cut = append(cut, name)
		if s, ok := stringOf(v); ok {
			members[name] = encoded(text.Beginning(s, 100) + "…")
		} else {
			delete(members, name)
		}
	}
	if cut == nil {
		return false
	}
	members["cut"] = encoded(cut)
	return true
}

// shortText returns the beginning of a text that is too long, and after it how much of the text that is.
func shortText(s string) string {
	if length := utf8.RuneCountInString(s); length > maxText || sentLength(encoded(s)) > maxItem {
		for size := maxText - 40; ; size /= 2 { // 40 for the mark
			begin := strings.TrimSpace(text.Beginning(s, size))
			short := fmt.Sprintf("%s… [cut: %d of %d characters]", begin, utf8.RuneCountInString(begin), length)
			if sentLength(encoded(short)) <= maxItem {
				return short
			}
		}
	}
	return s
}

// sentLength returns how many characters a value adds to a response that contains it as structured content and in a text.
func sentLength(v wire.Value) int {
	return utf8.RuneCount(v) + utf8.RuneCount(encoded(string(v))) - len(`""`)
}

// encoded encodes a value of strings and of JSON, which cannot fail.
func encoded(v any) wire.Value {
	out, err := wire.Encode(v)
	if err != nil {
		panic("mcp: " + err.Error())
	}
	return slices.Clip(out)
}

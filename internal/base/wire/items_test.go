package wire_test

import (
	"strings"
	"testing"

	"keepsake/internal/base/wire"
)

type numbered struct {
	Before string `json:"before"`
	List   []int  `json:"list"`
	After  *int   `json:"after"`
	Count  int    `json:"count"`
}

// lengths decodes a list of any type as the lengths of its items.
var lengths = wire.EachOf(func(list []int, text []byte) []int { return append(list, len(text)) })

func TestItemsAreDecodedOneByOne(t *testing.T) {
	t.Parallel()
	const many, size = 5000, 1000
	item := `"` + strings.Repeat("x", size-2) + `"`
	for _, after := range []string{`"after":null`, `"count":7.0`} {
		text := `{"before":"[1,2]", "list" : [ ` + strings.Repeat(item+" , ", many-1) + item + ` ] ,` + after + `}`
		var got numbered
		rest, err := wire.DecodeItems([]byte(text), &got, lengths)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.List) != many || got.List[0] != size || got.List[many-1] != size || got.Before != "[1,2]" {
			t.Errorf("got %d items and %q", len(got.List), got.Before)
		}
		if want := `{"before":"[1,2]", "list" : [ ] ,` + after + `}`; string(rest) != want {
			t.Errorf("the rest is %s, want %s", rest, want)
		}
	}
}

func TestAListThatIsNoneIsRefusedAsByDecode(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"list":{}}`, `{"list":7}`, `{"list":"[]"}`, `{"list":[1`, `{"list":[1],"list":[2]}`, `[1]`, ` `, `{"list":[1]} 2`} {
		var got, want numbered
		_, err := wire.DecodeItems([]byte(text), &got, lengths)
		wanted := wire.Decode([]byte(text), &want)
		if err == nil || wanted == nil || err.Error() != wanted.Error() {
			t.Errorf("%s: got %v, want %v", text, err, wanted)
		}
	}
	var got numbered
	if _, err := wire.DecodeItems([]byte(`{"before":"x","list":null}`), &got, lengths); err != nil || got.List != nil {
		t.Errorf("null: got %v, %v", got.List, err)
	}
}

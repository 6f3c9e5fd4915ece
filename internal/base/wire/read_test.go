package wire_test

import (
	"io"
	"strings"
	"testing"

	"keepsake/internal/base/wire"
)

type numbered struct {
	Before string `json:"before"`
	List   []int  `json:"list"`
	After  *int   `json:"after"`
}

// lengths decodes a list of any type as the lengths of its items.
var lengths = wire.EachOf(func(list []int, text []byte) []int { return append(list, len(text)) })

func TestItemsAreTakenAsTheyArrive(t *testing.T) {
	t.Parallel()
	const many, size = 5000, 1000
	item := `"` + strings.Repeat("x", size-2) + `"`
	text := `{"before":"[1,2]", "list" : [ ` + strings.Repeat(item+" , ", many-1) + item + ` ] ,"after":null}`
	var got numbered
	rest, err := wire.DecodeRead(strings.NewReader(text), &got, lengths)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.List) != many || got.List[0] != size || got.List[many-1] != size || got.Before != "[1,2]" {
		t.Errorf("got %d items and %q", len(got.List), got.Before)
	}
	if want := `{"before":"[1,2]", "list" : [ ] ,"after":null}`; string(rest) != want {
		t.Errorf("the rest is %s, want %s", rest, want)
	}
	if cap(rest) > 20_000 {
		t.Errorf("%d bytes of %d were kept", cap(rest), len(text))
	}
}

func TestAListThatIsNoneIsRefusedAsByDecode(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"list":{}}`, `{"list":7}`, `{"list":"[]"}`, `{"list":[1`, `{"list":[1],"list":[2]}`, `[1]`, ` `, `{"list":[1]} 2`} {
		var got, want numbered
		_, err := wire.DecodeRead(strings.NewReader(text), &got, lengths)
		wanted := wire.Decode([]byte(text), &want)
		if err == nil || wanted == nil || err.Error() != wanted.Error() {
			t.Errorf("%s: got %v, want %v", text, err, wanted)
		}
	}
	var got numbered
	if _, err := wire.DecodeRead(strings.NewReader(`{"before":"x","list":null}`), &got, lengths); err != nil || got.List != nil {
		t.Errorf("null: got %v, %v", got.List, err)
	}
}

func TestABodyIsReadToItsEndWhateverIsWrongWithIt(t *testing.T) {
	t.Parallel()
	in := strings.NewReader(`{"more":1}` + strings.Repeat(" x", 100_000))
	var got numbered
	if _, err := wire.DecodeRead(in, &got, lengths); err == nil || in.Len() != 0 {
		t.Errorf("%v with %d bytes left", err, in.Len())
	}
	if _, err := wire.DecodeRead(io.MultiReader(strings.NewReader(`{"more":1} `), broken{}), &got, lengths); err != io.ErrClosedPipe {
		t.Errorf("got %v, want what is wrong with the reader", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

package wire_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

// inUTF16 encodes a text.
func inUTF16(text string, order binary.AppendByteOrder, mark bool) []byte {
	var out []byte
	if mark {
		out = order.AppendUint16(out, 0xfeff)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

func inUTF32(text string, order binary.AppendByteOrder, mark bool) (out []byte) {
	if mark {
		text = "\ufeff" + text
	}
	for _, r := range text {
		out = order.AppendUint32(out, uint32(r))
	}
	return out
}

func TestAnotherEncodingIsNamed(t *testing.T) {
	t.Parallel()
	const text = `{"text":"Käse für alle"}`
	for name, c := range map[string]struct {
		text []byte
		says string
	}{
		"UTF-16 with a mark":     {inUTF16(text, binary.LittleEndian, true), "looks like UTF-16."},
		"big-endian with a mark": {inUTF16(text, binary.BigEndian, true), "looks like UTF-16."},
		"UTF-16":                 {inUTF16(`{"text":"cheese"}`, binary.LittleEndian, false), "looks like UTF-16."},
		"UTF-16, big-endian":     {inUTF16(text, binary.BigEndian, false), "looks like UTF-16."},
		"UTF-32 with a mark":     {inUTF32(text, binary.LittleEndian, true), "looks like UTF-32."},
		"UTF-32":                 {inUTF32(text, binary.LittleEndian, false), "looks like UTF-32."},
		"UTF-32, big-endian":     {inUTF32(text, binary.BigEndian, true), "looks like UTF-32."},
		"Latin-1":                {[]byte("{\"text\":\"K\xe4se\"}"), "looks like Latin-1 or Windows-1252."},
		"Windows-1252":           {[]byte("{\"text\":\"\x93K\x94\"}"), "looks like Latin-1 or Windows-1252."},
	} {
		var v struct {
			Text string `json:"text"`
		}
		for reading, err := range map[string]error{
			"at once": wire.Decode(c.text, &v), "a line": wire.DecodeLine(c.text, &v), "as an array": second(wire.Array(c.text)),
			"item by item": second(wire.DecodeItems(c.text, &v, wire.EachOf(func(list []int, _ []byte) []int { return list }))),
		} {
			p, ok := problem.As(err)
			if !ok || p.Details.Field != "body" || p.Details.Issue != problem.Format || !strings.Contains(p.Message, c.says) {
				t.Errorf("%s, %s: %v", name, reading, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestAByteOrderMarkIsPassedOver(t *testing.T) {
	t.Parallel()
	var v struct {
		Text string `json:"text"`
		List []int  `json:"list"`
	}
	items := wire.EachOf(func(list []int, _ []byte) []int { return append(list, 1) })
	if err := wire.Decode([]byte("\ufeff{\"text\":\"x\"}"), &v); err != nil || v.Text != "x" {
		t.Errorf("a body: %v", err)
	}
	if list, err := wire.Array([]byte("\ufeff[1]")); err != nil || len(list) != 1 {
		t.Errorf("an array: %v", err)
	}
	if _, err := wire.DecodeItems([]byte("\ufeff{\"list\":[5]}"), &v, items); err != nil || len(v.List) != 1 {
		t.Errorf("a body with items: %v", err)
	}
	if err := wire.Decode([]byte("\ufeff"), &v); err == nil {
		t.Error("nothing but a mark is taken as a body")
	}
	if err := wire.Decode([]byte("{\"text\":\"x\"}\ufeff"), &v); err == nil {
		t.Error("a mark at the end is passed over, too")
	}
}

func TestAnUnpairedSurrogateIsNamed(t *testing.T) {
	t.Parallel()
	type body struct {
		Text string            `json:"text"`
		Map  map[string]string `json:"map"`
	}
	for text, field := range map[string]string{
		`{"text":"a\ud83d"}`: "text", `{"text":"\uDE00b"}`: "text", `{"text":"\ud83d\ud83d\ude00"}`: "text", `{"text":"\ud83dx"}`: "text",
		`{"map":{"a":"\\\ud83d"}}`: "map.a", `{"text":"\ud83d\u0041"}`: "text",
	} {
		var v body
		p, ok := problem.As(wire.Decode([]byte(text), &v))
		if !ok || p.Details.Field != field || p.Details.Issue != problem.Format || !strings.Contains(p.Message, "unpaired surrogate") || !strings.Contains(p.Message, "line 1, column ") {
			t.Errorf("%s: %v", text, p)
		}
		p, ok = problem.As(wire.DecodeLine([]byte(text), &v))
		if !ok || !strings.Contains(p.Message, "column ") || strings.Contains(p.Message, "line 1") {
			t.Errorf("%s in a line: %v", text, p)
		}
	}
	for _, text := range []string{`{"text":"\ud83d\ude00"}`, `{"text":"\\ud83d"}`, `{"text":"\u0041\\\\ud83d"}`} {
		var v body
		if err := wire.Decode([]byte(text), &v); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	list, err := wire.Array([]byte(`[{"text":"a\ud83d"},{"text":"b"}]`))
	if err != nil || len(list) != 2 {
		t.Errorf("an array with one: %d, %v", len(list), err)
	}
}

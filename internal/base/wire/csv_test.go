package wire_test

import (
	"strings"
	"testing"

	"keepsake/internal/base/wire"
)

func TestATableIsRecognized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"id,title,text\n1,a,b\n":            true,
		"\ufeff\"id\";\"title\"\r\n":        true,
		"id\ttitle":                         true,
		"1,boiler,Bleed the radiators.":     true,
		`{"id":"a","title":"b"}`:            false,
		`[{"id":"a"},{"id":"b"}]`:           false,
		`{"id":"a","title"`:                 false,
		"  \"id\": \"a\",\n  \"title\": 1,": false,
		"title":                             false,
		"\xff\xfe{\x00\"\x00,\x00":          false,
		"":                                  false,
	} {
		if got := wire.LooksLikeCSV([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	var v struct{ ID string }
	err := wire.DecodeLine([]byte("id,title"), &v)
	if body := wire.Decode([]byte("id,title"), &v); body == nil || strings.Contains(body.Error(), "CSV") {
		t.Errorf("the error of a body is %v", body)
	}
	if err == nil || !strings.Contains(err.Error(), "The line is not valid JSON: column 1. It looks like CSV: ") {
		t.Errorf("the error is %v", err)
	}
}

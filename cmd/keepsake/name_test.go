package main

import (
	"errors"
	"iter"
	"testing"
)

func TestResourcesAreFoundByIDOrName(t *testing.T) {
	t.Parallel()
	const a, b, c, d = "key_01m7zq3v8ye2sbg5n6wkt9rdfa", "key_01m7zq3v8ye2sbg5n6wkt9rdfb", "key_01m7zq3v8ye2sbg5n6wkt9rdfc", "key_01m7zq3v8ye2sbg5n6wkt9rdfd"
	all := func(yield func(named, error) bool) {
		for _, n := range []named{{a, "website", false}, {b, "website", true}, {c, "crawler", false}, {d, "crawler", false}, {b, "old", true}} {
			if !yield(n, nil) {
				return
			}
		}
	}
	for _, test := range []struct{ text, want, err string }{
		{a, a, ""},
		{"website", a, ""}, // not the revoked one
		{"old", b, ""},
		{"crawler", "", `2 API keys have the name "crawler"; give an ID: ` + c + ", " + d},
		{"none", "", `there is no API key with the ID or name "none"`},
		{"key_x", "", `there is no API key with the ID or name "key_x"`},
	} {
		got, err := idOf("API key", "key", test.text, all)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%q: got %q, %v", test.text, got, err)
		}
	}
	refused := errors.New("refused")
	var list iter.Seq2[named, error] = func(yield func(named, error) bool) { yield(named{}, refused) }
	if _, err := idOf("API key", "key", "website", list); !errors.Is(err, refused) {
		t.Errorf("a list that fails: got %v", err)
	}
	if got, err := idOf("API key", "key", a, list); got != a || err != nil {
		t.Errorf("an ID needs no list: got %q, %v", got, err)
	}
}

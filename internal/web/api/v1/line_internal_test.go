package v1

import (
	"reflect"
	"strings"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

// nullIsAbsent decodes a line with null for each member of T, and compares it with the line without the member.
func nullIsAbsent[T any](t *testing.T, least, required string) {
	t.Helper()
	decoder := endpoint.NewDecoder[T]()
	decode := func(text string) (v T, err error) {
		err = decoder.Decode([]byte(text), &v)
		return v, err
	}
	want, err := decode(`{` + least + `}`)
	if err != nil {
		t.Fatal(err)
	}
	members := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || strings.Contains(least, `"`+name+`"`) {
			continue
		}
		members++
		if got, err := decode(`{` + least + `,"` + name + `":null}`); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%T: null for %s: %+v, %v", want, name, got, err)
		}
	}
	if members < 5 {
		t.Errorf("%T has only %d members", want, members)
	}
	if required != "" {
		_, err := decode(`{"` + required + `":null}`)
		if p, ok := problem.As(err); !ok || p.Details.Field != required || p.Details.Issue != problem.Required {
			t.Errorf("%T: null for %s: %v", want, required, err)
		}
	}
}

func TestNullIsAbsentInLines(t *testing.T) {
	t.Parallel()
	nullIsAbsent[newDocument](t, `"id":"d1"`, "")
	nullIsAbsent[portableMemory](t, `"text":"x"`, "text")
	nullIsAbsent[revision](t, `"text":"x"`, "text")
}

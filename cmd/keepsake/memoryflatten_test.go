package main

import (
	"io"
	"strings"
	"testing"
)

func TestMetadataOfAnImportIsFlattened(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"subjectId":"a","text":"x"}`:                            `{"subjectId":"a","text":"x"}`,
		`{"text":"x","metadata":{"a":1.10,"b":"c"}}`:              `{"text":"x","metadata":{"a":1.10,"b":"c"}}`,
		`{"text":"x","metadata":{"a":{"b":{"c":1.10},"d":null}}}`: `{"metadata":{"a.b.c":1.10},"text":"x"}`,
		`{"text":"x","metadata":{"a":[1, {"b":2}],"e":true}}`:     `{"metadata":{"a":"[1,{\"b\":2}]","e":true},"text":"x"}`,
		`{"metadata":{"a":1},"history":[{"metadata":{"a":{}}}]}`:  `{"history":[{"metadata":{}}],"metadata":{"a":1}}`,
		`{"metadata":{"a":{"b":1},"a.b":2}}`:                      `{"metadata":{"a":{"b":1},"a.b":2}}`, // two values of one name
		`{"metadata":{"a":{"b":1,"b":2}}}`:                        `{"metadata":{"a":{"b":1,"b":2}}}`,
		`{"metadata":{"a":{}`:                                     `{"metadata":{"a":{}`,
		`{"metadata":[{"a":1}]}`:                                  `{"metadata":[{"a":1}]}`,
		`{"metadata":null}`:                                       `{"metadata":null}`,
	} {
		got, err := io.ReadAll(newFlattener(strings.NewReader(in + "\n" + in)))
		if trimmed := strings.TrimSuffix(string(got), "\n"); err != nil || trimmed != want+"\n"+want {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
}

package clients_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// operation is an operation of the API's description.
type operation struct {
	ID         string   `json:"operationId"`
	Tags       []string `json:"tags"`
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
}

// document is the part of openapi/v1.json that the clients are compared with.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"schemas"`
	} `json:"components"`
}

func readDocument(t *testing.T) *document {
	t.Helper()
	text, err := os.ReadFile("../openapi/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	d := &document{}
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// fields are the properties of all schemas as Schema.property, and the parameters of queries as operation.parameter.
func (d *document) fields() map[string]bool {
	fields := map[string]bool{}
	for name, schema := range d.Components.Schemas {
		for property := range schema.Properties {
			fields[name+"."+property] = true
		}
	}
	for _, methods := range d.Paths {
		for _, op := range methods {
			for _, p := range op.Parameters {
				if p.In == "query" {
					fields[op.ID+"."+p.Name] = true
				}
			}
		}
	}
	return fields
}

func TestEveryOperationHasAMethodInEveryClient(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	for _, l := range libraries {
		t.Run(l.language, func(t *testing.T) {
			t.Parallel()
			if l.calls == nil {
				t.Skip("this client is not complete")
			}
			calls, known := l.calls(t), map[string]bool{}
			for path, methods := range d.Paths {
				for method, op := range methods {
					known[op.ID] = true
					if !calls[op.ID] && uncalled[op.ID] == "" {
						t.Errorf("no method of the %s client calls %s %s; add one for %q to %s, in the manner of its neighbours, "+
							"or say in uncalled (clients/library_test.go) why no client needs one",
							l.language, strings.ToUpper(method), path, op.ID, l.file(op.Tags[0]))
					}
				}
			}
			for _, id := range slices.Sorted(maps.Keys(calls)) {
				if !known[id] {
					t.Errorf("a method of the %s client calls %q, and the API has no such operation", l.language, id)
				}
			}
			for id := range uncalled {
				if !known[id] || calls[id] {
					t.Errorf("remove %q from uncalled (clients/library_test.go): the API has no such operation, or a client calls it", id)
				}
			}
		})
	}
}

func TestEveryFieldIsInTheTypesOfEveryClient(t *testing.T) {
	t.Parallel()
	want := readDocument(t).fields()
	for _, l := range libraries {
		t.Run(l.language, func(t *testing.T) {
			t.Parallel()
			got := l.fields(t)
			for _, field := range slices.Sorted(maps.Keys(want)) {
				if !got[field] {
					t.Errorf("%s has no %s of openapi/v1.json: run %s and commit the file", l.generated, field, l.generate)
				}
			}
			for _, field := range slices.Sorted(maps.Keys(got)) {
				if !want[field] {
					t.Errorf("%s has %s, and openapi/v1.json does not: run %s and commit the file", l.generated, field, l.generate)
				}
			}
		})
	}
}

// TestClientsAreGeneratedFromTheDocument needs neither Node nor Python. That the files are what the generators write, the long tier
// shows.
func TestClientsAreGeneratedFromTheDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../openapi/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(" SHA-256 of openapi/v1.json: %x\n", sha256.Sum256(document))
	for _, l := range libraries {
		text, err := os.ReadFile(l.stamped)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("clients/%s was generated from another openapi/v1.json: run %s and commit the files", l.stamped, l.generate)
		}
	}
}

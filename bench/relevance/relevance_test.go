package relevance

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestSetIsCompleteAndAlwaysTheSame(t *testing.T) {
	t.Parallel()
	set, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Documents) != 1_440 || len(set.Queries) != 150 {
		t.Errorf("there are %d documents and %d queries", len(set.Documents), len(set.Queries))
	}
	seen := map[string]bool{}
	for _, d := range set.Documents {
		if seen[d.Text] {
			t.Errorf("there are two documents with the text %q", d.Text)
		}
		seen[d.Text] = true
	}
	for _, q := range set.Queries {
		answers := 0
		for _, grade := range q.Grades {
			if grade == 2 {
				answers++
			}
		}
		if answers == 0 {
			t.Errorf("no document is about %q", q.Text)
		}
	}
	again, err := Load()
	if err != nil || !reflect.DeepEqual(set, again) {
		t.Errorf("a second load differs: %v", err)
	}
}

func TestNDCGPrefersBetterOrders(t *testing.T) {
	t.Parallel()
	grades := map[string]int{"a": 2, "b": 1}
	best, swapped, none := NDCG([]string{"a", "b"}, grades), NDCG([]string{"b", "a"}, grades), NDCG([]string{"c"}, grades)
	if math.Abs(best-1) > 1e-9 || swapped >= best || swapped <= 0.5 || none != 0 {
		t.Errorf("got %v, %v and %v", best, swapped, none)
	}
}

func TestMisspelledQueryDiffersInOneWord(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	if q, ok := Misspell(r, "a bus to it"); ok {
		t.Errorf("short words became %q", q)
	}
	changed := 0
	for range 100 {
		if q, ok := Misspell(r, "the harbour of it"); ok && q != "the harbour of it" {
			changed++
		}
	}
	if changed < 80 { // two equal letters can be swapped, and a letter replaced by itself
		t.Errorf("%d of 100 were changed", changed)
	}
}

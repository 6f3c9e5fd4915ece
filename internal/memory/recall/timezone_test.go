package recall_test

import (
	"testing"
	"time"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
	"keepsake/internal/memory/recall"
)

// The days that a query names begin and end at midnight of the time zone, also where a day has 23 or 25 hours.
func TestNamedDaysAreThoseOfATimeZone(t *testing.T) {
	t.Parallel()
	load := func(name string) *time.Location {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return zone
	}
	for _, c := range []struct {
		zone, query string
		asOf        *time.Time
		in, out     *time.Time // a memory of the day that the query names, and one beside it, although not in UTC
	}{
		{"America/New_York", "What happened on 31 December?", moment("2026-02-01T12:00:00Z"), moment("2026-01-01T01:00:00Z"), moment("2025-12-31T04:59:00Z")},
		{"America/New_York", "What happened yesterday?", moment("2026-03-09T02:00:00Z"), moment("2026-03-07T05:00:00Z"), moment("2026-03-08T05:00:00Z")},
		{"Pacific/Auckland", "What happened yesterday?", moment("2026-06-10T00:00:00Z"), moment("2026-06-08T12:00:00Z"), moment("2026-06-08T11:59:00Z")},
		{"Europe/Berlin", "What happened on Monday?", moment("2026-10-28T12:00:00Z"), moment("2026-10-26T22:59:00Z"), moment("2026-10-26T23:00:00Z")},
		{"Europe/Berlin", "What happened on 2026-10-25?", moment("2026-10-28T12:00:00Z"), moment("2026-10-24T22:30:00Z"), moment("2026-10-25T23:00:00Z")},
		{"Asia/Tokyo", "What happened in May 2026?", moment("2026-06-10T00:00:00Z"), moment("2026-04-30T15:00:00Z"), moment("2026-05-31T15:00:00Z")},
	} {
		x := recall.New(text.NewAnalyzer(), vectors.Builtin(), 0)
		for id, when := range map[string]*time.Time{"in": c.in, "out": c.out} {
			x.Put(recall.Item{ID: id, Text: "Bees.", Kind: "fact", OccurredAt: when, CreatedAt: *when, Revision: 1})
		}
		hits, err := x.Search(nil, recall.Query{Text: c.query, Limit: 2, Now: *c.asOf, Zone: load(c.zone), Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) == 0 || hits[0].ID != "in" || len(hits) > 1 && hits[1].Why.Date >= hits[0].Why.Date {
			t.Errorf("%s, %s: %+v", c.zone, c.query, hits)
		}
	}
}

func moment(s string) *time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return &t
}

package store

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"keepsake/internal/usage"
)

// Each minute of a query is read once, at whatever marks: from a table that still has it, and in a step that is not longer than
// what the query asks for, unless shorter ones are no longer kept.
func TestPlanReadsEachMinuteOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const begin = 20_000 * dayHours
		hour := func(label string, to int64) int64 { return rapid.Int64Range(begin, to).Draw(t, label) }
		m := usageMarks{packedHours: hour("packed hours", begin+100)}
		m.packedDays = floorTo(hour("packed days", m.packedHours), dayHours)
		m.minutesFrom = hour("minutes from", m.packedHours)
		m.hoursFrom = floorTo(hour("hours from", m.packedDays), dayHours)
		step := rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "step")
		from := (begin*60 + rapid.Int64Range(0, 120*60).Draw(t, "from")) * 60
		to := from + rapid.Int64Range(0, 100*60).Draw(t, "minutes")*60
		p := m.plan(from, to, step)

		covered := func(list []span, at int64) (n int) {
			for _, s := range list {
				if s.from <= at && at < s.to {
					n++
				}
			}
			return n
		}
		for at := floorTo(from, daySeconds); at < ceilTo(to, daySeconds); at += 60 {
			days, hours, minutes := covered(p.days, at), covered(p.hours, at), covered(p.minutes, at)
			want := 1
			// A step that begins in the range counts as a whole.
			switch begins := floorTo(at, hourSeconds); {
			case at < m.hoursFrom*hourSeconds:
				if begins = floorTo(at, daySeconds); begins < from || begins >= to {
					want = 0
				}
			case at < m.minutesFrom*hourSeconds && days == 0:
				if begins < from || begins >= to {
					want = 0
				}
			case at < from || at >= to:
				want = 0
			}
			if days+hours+minutes != want {
				t.Fatalf("minute %d is in %d days, %d hours and %d minutes of %+v, want it %d times", at/60, days, hours, minutes, p, want)
			}
			if days > 0 && at >= m.packedDays*hourSeconds || hours > 0 && (at >= m.packedHours*hourSeconds || at < m.hoursFrom*hourSeconds) ||
				minutes > 0 && at < m.minutesFrom*hourSeconds {
				t.Fatalf("minute %d is read from rows that do not exist: %+v", at/60, p)
			}
			if days > 0 && step < 24*time.Hour && at >= m.hoursFrom*hourSeconds || hours > 0 && step < time.Hour && at >= m.minutesFrom*hourSeconds {
				t.Fatalf("minute %d is read in a step that is longer than %v: %+v", at/60, step, p)
			}
		}
	})
}

// cellsOf draws cells of one key and time.
func cellsOf(t *rapid.T) []usage.Cell {
	var cells []usage.Cell
	seen := map[cellDimensions]bool{}
	text := rapid.SampledFrom([]string{"", "/api/v1/search", "/api/v1/documents/{id}", "GET", "primary"})
	for range rapid.IntRange(0, 20).Draw(t, "cells") {
		c := usage.Cell{
			Route: text.Draw(t, "route"), Method: text.Draw(t, "method"), Surface: text.Draw(t, "surface"),
			Status: rapid.IntRange(0, 599).Draw(t, "status"), Version: rapid.IntRange(0, 3).Draw(t, "version"),
			Requests: rapid.Int64Min(0).Draw(t, "requests") / 100, Charged: rapid.Int64Min(0).Draw(t, "charged") / 100,
			BytesIn: rapid.Int64Min(0).Draw(t, "in") / 100, BytesOut: rapid.Int64Min(0).Draw(t, "out") / 100,
		}
		for range rapid.IntRange(0, 5).Draw(t, "durations") {
			c.Latency.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "took")))
		}
		if d := (cellDimensions{c.Route, c.Method, c.Surface, c.Status, c.Version}); !seen[d] {
			seen[d] = true
			cells = append(cells, c)
		}
	}
	return cells
}

func unpackCells(body []byte) (cells []usage.Cell, err error) {
	var u cellUnpacker
	var cell usage.Cell
	err = u.each(body, &cell, func(c *usage.Cell) error {
		kept := *c
		kept.Latency = slices.Clone(c.Latency)
		cells = append(cells, kept)
		return nil
	})
	return cells, err
}

func TestPackedCellsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cells := cellsOf(t)
		body := packCells(cells)
		got, err := unpackCells(body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cells, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		random := rand.New(rand.NewPCG(uint64(len(body)), 1))
		random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		if again := packCells(cells); string(again) != string(body) {
			t.Fatal("the same cells in another order are packed into other bytes")
		}
		if _, err := unpackCells(body[:len(body)-1]); err == nil {
			t.Fatal("cut cells were unpacked")
		}
		more := cellsOf(t)
		got, err = unpackCells(append(body, packCells(more)...))
		if diff := cmp.Diff(append(cells, more...), got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("two parts: %v, %s", err, diff)
		}
	})
}

func TestPackedCellsOfNewerFormatAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := unpackCells([]byte{packedFormat + 1, 0}); err == nil {
		t.Error("unpacked cells of an unknown format")
	}
}

// Any bytes are refused or come back as cells that can be packed again.
func FuzzUnpackCells(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0})
	c := usage.Cell{Route: "/a", Method: "GET", Surface: "ai", Status: 200, Requests: 3}
	c.Latency.Add(time.Millisecond)
	other := c
	other.Status = 404
	f.Add(packCells([]usage.Cell{c, other}))
	f.Add([]byte{1, 1, 9, 9, 9})
	f.Fuzz(func(t *testing.T, body []byte) {
		cells, err := unpackCells(body)
		if err != nil {
			return
		}
		again, err := unpackCells(packCells(cells))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cells, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

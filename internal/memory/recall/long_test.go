package recall

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// What long queries are not to be slow by gives what the plain way gives.

func TestACalendarIsAllItsSpans(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const center = int64(1_700_000_000) * second
	for range 300 {
		d := dates{zone: time.UTC}
		for range random.IntN(40) {
			from := center + random.Int64N(800*day) - 400*day
			length := []int64{day, 7 * day, 30 * day, 365 * day}[random.IntN(4)]
			d.spans = append(d.spans, span{from, from + length, random.IntN(4) == 0})
		}
		for range random.IntN(4) {
			y := yearly{time.Month(1 + random.IntN(12)), random.IntN(29)}
			d.yearly = append(d.yearly, y, y)
		}
		earliest := center - random.Int64N(300*day)
		latest := earliest + random.Int64N(600*day)
		all := slices.Clone(d.spans)
		for _, y := range d.yearly {
			for year := time.UnixMicro(earliest).UTC().Year(); year <= time.UnixMicro(latest).UTC().Year(); year++ {
				from := time.Date(year, y.month, max(y.day, 1), 0, 0, 0, 0, time.UTC)
				to := from.AddDate(0, 0, 1)
				if y.day == 0 {
					to = from.AddDate(0, 1, 0)
				}
				all = append(all, span{from: from.UnixMicro(), to: to.UnixMicro()})
			}
		}
		c := d.between(earliest, latest)
		for range 200 {
			at := earliest + random.Int64N(latest-earliest+1)
			if len(all) > 0 && random.IntN(3) == 0 { // on the edges
				s := all[random.IntN(len(all))]
				at = []int64{s.from, s.to, s.from - longBefore, s.to + longAfter, s.to - 1}[random.IntN(5)]
			}
			if at < earliest || at > latest {
				continue
			}
			close, inside := 0.0, false
			for _, s := range all {
				close, inside = max(close, s.closeness(at)), inside || s.has(at)
			}
			if got := c.closeness(at); got != close || c.has(at) != inside {
				t.Fatalf("at %d: %v %v, want %v %v of %v", at, got, c.has(at), close, inside, all)
			}
		}
	}
}

func TestShortNamesAreFoundAsInPairs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	word := func() string {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			b.WriteString([]string{"a", "b", "é", "漢"}[random.IntN(4)])
		}
		return b.String()
	}
	short := func(word, name string) bool {
		if len(word) > len(name) {
			word, name = name, word
		}
		return utf8.RuneCountInString(word) >= minShort && strings.HasPrefix(name, word)
	}
	found := 0
	for range 20_000 {
		list := []piece{{word: "first", capital: true}}
		for range random.IntN(6) {
			list = append(list, piece{word: word(), capital: true})
		}
		names := []string{word(), word()}
		want := slices.ContainsFunc(list[1:], func(p piece) bool {
			return !weak[p.word] && !idle[p.word] && (short(p.word, names[0]) || short(p.word, names[1]))
		})
		if got := callNames(&plan{}, list).shortly(names); got != want {
			t.Fatalf("%v in %v: %v", names, list, got)
		}
		if want {
			found++
		}
	}
	if found < 100 {
		t.Errorf("only %d were found", found)
	}
}

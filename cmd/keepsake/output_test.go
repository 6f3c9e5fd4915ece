package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

func TestANameCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	st := &stage{out: &out}
	st.printTable(fixed("NAME", "KEYS"), []table.Row{{"a\x1b[2J\x1b]0;owned\a\r\nb\u202ec \u00e9 \u9375", 7}})
	got := out.String()
	if strings.ContainsAny(got, "\x1b\a\r\u202e") || strings.Count(got, "\n") != 2 {
		t.Errorf("the table prints %q", got)
	}
	for _, kept := range []string{"é", "鍵", "7"} {
		if !strings.Contains(got, kept) {
			t.Errorf("the table lacks %q: %q", kept, got)
		}
	}
}

func TestTablesFitInto100Columns(t *testing.T) {
	t.Parallel()
	const id = "key_01m7zq3v8ye2sbg5n6wkt9rdfc"
	columns := []column{{title: "id"}, {title: "name", free: true}, {title: "notes", free: true}, {title: "key", extra: true}, {title: "at (UTC)"}}
	rows := []table.Row{
		{id, "crawler", strings.Repeat("long ", 30), "kpsk_1", "2026-11-29 08:18"},
		{id, strings.Repeat("鍵", 30), "short", "kpsk_2", "-"},
	}
	var out bytes.Buffer
	(&stage{out: &out}).printTable(columns, rows)
	for line := range strings.Lines(out.String()) {
		if width := text.StringWidthWithoutEscSequences(strings.TrimRight(line, "\n")); width > tableWidth {
			t.Errorf("%d columns: %s", width, line)
		}
	}
	if got := out.String(); strings.Contains(got, "kpsk") || strings.Count(got, id) != 2 || !strings.Contains(got, "crawler") || strings.Count(got, "…") != 2 {
		t.Errorf("the table is\n%s", got)
	}

	out.Reset()
	(&stage{out: &out, wide: true}).printTable(columns, rows)
	if got := out.String(); !strings.Contains(got, "kpsk_2") || strings.Contains(got, "…") {
		t.Errorf("the wide table is\n%s", got)
	}
}

func TestFitShrinksTheWidestFreeColumns(t *testing.T) {
	t.Parallel()
	columns := []column{{title: "a"}, {title: "b", free: true}, {title: "c", free: true}}
	for _, c := range []struct{ widths, want []int }{
		{[]int{30, 30, 30}, []int{30, 30, 30}},
		{[]int{30, 20, 60}, []int{30, 20, 46}},
		{[]int{30, 60, 60}, []int{30, 33, 33}},
		{[]int{99, 60, 60}, []int{99, 8, 8}},
	} {
		got := slices.Clone(c.widths)
		fit(columns, got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.widths, got, c.want)
		}
	}
}

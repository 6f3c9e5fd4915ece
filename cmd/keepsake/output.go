package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// wideFlag adds --wide to a command that prints a table.
func wideFlag(st *stage, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&st.wide, "wide", false, "print all columns, and all of each text")
}

func (st *stage) printJSON(v any) error { return writeJSON(st.out, v) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// tableWidth is the maximum width of a table without --wide, as long as its texts can be shortened.
const tableWidth = 100

// column is a column of a table.
type column struct {
	title string
	free  bool // its texts are shortened if the table is too wide
	extra bool // only printed with --wide
}

// fixed returns columns that are always printed whole.
func fixed(titles ...string) []column {
	columns := make([]column, len(titles))
	for i, title := range titles {
		columns[i].title = title
	}
	return columns
}

// printTable prints rows below a header without borders, which is also readable in a file.
func (st *stage) printTable(columns []column, rows []table.Row) {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Options = table.OptionsNoBordersAndSeparators
	w.Style().Format.Header = 0
	shown := make([]table.Row, len(rows))
	for i, row := range rows {
		shown[i] = harmless(row)
	}
	if !st.wide {
		columns, shown = withoutExtras(columns, shown)
		clip(columns, shown)
	}
	head := make(table.Row, len(columns))
	for i, c := range columns {
		head[i] = c.title
	}
	w.AppendHeader(head)
	w.AppendRows(shown)
	for line := range strings.Lines(w.Render()) {
		fmt.Fprintln(st.out, strings.TrimSpace(line))
	}
}

// withoutExtras returns the columns that are not extra, and their cells.
func withoutExtras(columns []column, rows []table.Row) (kept []column, cells []table.Row) {
	cells = make([]table.Row, len(rows))
	for i, c := range columns {
		if c.extra {
			continue
		}
		kept = append(kept, c)
		for r, row := range rows {
			cells[r] = append(cells[r], row[i])
		}
	}
	return kept, cells
}

// clip cuts the texts of free columns so that the rows fit into tableWidth.
func clip(columns []column, rows []table.Row) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = text.StringWidthWithoutEscSequences(c.title)
		for _, row := range rows {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(fmt.Sprint(row[i])))
		}
	}
	fit(columns, widths)
	for i, c := range columns {
		for _, row := range rows {
			if cell, ok := row[i].(string); ok && c.free {
				row[i] = text.Snip(cell, widths[i], "…")
			}
		}
	}
}

// fit reduces the widths of free columns, always the widest of them, until a table fits into tableWidth.
func fit(columns []column, widths []int) {
	const gap, least = 2, 8
	total := -gap
	for _, w := range widths {
		total += w + gap
	}
	for ; total > tableWidth; total-- {
		widest := -1
		for i, c := range columns {
			if c.free && widths[i] > max(least, len(c.title)) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// field is a line of a record.
type field struct {
	name  string
	value any
}

// printRecord prints fields below each other, with their names in front.
func (st *stage) printRecord(fields ...field) {
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name))
	}
	for _, f := range fields {
		fmt.Fprintf(st.out, "%-*s  %s\n", width, f.name, plain(fmt.Sprint(f.value)))
	}
}

// plain replaces every character that a terminal would obey instead of showing. A name chosen by another user can contain
// characters that move the cursor or reverse the direction of the text.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// oneLine returns a text as one plain line.
func oneLine(text string) string { return plain(strings.Join(strings.Fields(text), " ")) }

// harmless returns a row of plain texts.
func harmless(row table.Row) table.Row {
	shown := make(table.Row, len(row))
	for i, cell := range row {
		if text, ok := cell.(string); ok {
			cell = plain(text)
		}
		shown[i] = cell
	}
	return shown
}

// when formats a time, which can be nil.
func when(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// whenCell is when for a column whose title names the zone.
func whenCell(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// orNone returns a text, or - for nil.
func orNone(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

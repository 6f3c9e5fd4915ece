package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

func (st *stage) printJSON(v any) error { return writeJSON(st.out, v) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printTable prints rows below a header without borders, which is also readable in a file.
func (st *stage) printTable(head table.Row, rows []table.Row) {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Options = table.OptionsNoBordersAndSeparators
	w.Style().Format.Header = 0
	w.AppendHeader(head)
	for _, row := range rows {
		w.AppendRow(harmless(row))
	}
	for line := range strings.Lines(w.Render()) {
		fmt.Fprintln(st.out, strings.TrimSpace(line))
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

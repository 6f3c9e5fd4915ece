package table_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/table"
)

const limit = 1 << 10

// all reads a table. Each row is its line and its cells, or its line and the issue.
func all(t testing.TB, in io.Reader, comma byte) (columns []string, rows []string) {
	t.Helper()
	r := table.NewReader(in, comma, limit)
	columns, err := r.Header()
	if err != nil {
		t.Fatalf("header: %v", err)
	}
	for {
		row, err := r.Next()
		if err == io.EOF {
			return columns, rows
		}
		if err != nil {
			t.Fatalf("after %d rows: %v", len(rows), err)
		}
		if p, bad := problem.As(row.Err); bad {
			rows = append(rows, fmt.Sprintf("%d! %s %s", row.Line, p.Details.Field, p.Details.Issue))
			continue
		}
		rows = append(rows, fmt.Sprintf("%d %q", row.Line, row.Cells))
	}
}

func TestRowsOfATable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", limit)
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"plain":                {"a,b\n1,2\n3,4", []string{`2 ["1" "2"]`, `3 ["3" "4"]`}},
		"a byte order mark":    {"\xef\xbb\xbfa,b\r\n1,2\r\n", []string{`2 ["1" "2"]`}},
		"quotes":               {"a,b\n\"1,\"\"x\"\"\",\"two\r\nlines\"\n3,4\n", []string{`2 ["1,\"x\"" "two\nlines"]`, `4 ["3" "4"]`}},
		"blank lines":          {"a,b\n\n\r\n1,2\n\n", []string{`4 ["1" "2"]`}},
		"an empty row":         {"a\n\"\"\nx\n", []string{`2 [""]`, `3 ["x"]`}},
		"few cells":            {"a,b\n1\n2,\n", []string{`2 ["1" ""]`, `3 ["2" ""]`}},
		"many cells":           {"a,b\n1,2,,\n1,2,3\n4,5\n", []string{`2 ["1" "2"]`, `3! body format`, `4 ["4" "5"]`}},
		"a quote in a text":    {"a,b\n5\" pipe,6'\n", []string{`2 ["5\" pipe" "6'"]`}},
		"text after a quote":   {"a,b\n\"1\"x,2\n3,4\n", []string{`2! body format`, `3 ["3" "4"]`}},
		"blanks after a quote": {"a,b\n\"1\" ,2\n", []string{`2 ["1" "2"]`}},
		"an open quote":        {"a,b\n1,\"2\n3,4\n5\n6,7", []string{`2! body format`, `3 ["3" "4"]`, `4! body format`, `5 ["6" "7"]`}},
		"open quotes":          {"a,b\n\"1,2\n\"3,4\n5,6\n\"7,8\n", []string{`2! body format`, `3! body format`, `4 ["5" "6"]`, `5! body format`}},
		"a long line":          {"a,b\n" + long + ",2\n3,4\n", []string{`2! body too_long`, `3 ["3" "4"]`}},
		"a long row":           {"a,b\n\"" + strings.Repeat("x\n", limit) + "\",2\n3,4\n", slices.Concat([]string{`2! body format`}, oneCell(3, limit+2), []string{fmt.Sprintf(`%d ["3" "4"]`, limit+3)})},
		"other bytes":          {"a,b\n1,caf\xe9\n3,4\n", []string{`2! body format`, `3 ["3" "4"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				if _, got := all(t, in, ','); !slices.Equal(got, c.want) {
					t.Errorf("got  %.300s\nwant %.300s", fmt.Sprintf("%q", got), fmt.Sprintf("%q", c.want))
				}
			}
		})
	}
}

// oneCell are the errors of lines of a cell that was not closed within the limit.
func oneCell(from, to int) []string {
	var list []string
	for line := from; line <= to; line++ {
		list = append(list, fmt.Sprintf("%d! body format", line))
	}
	return list
}

func TestHeadersThatNameNoColumns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, field, issue, says string }{
		"nothing":         {"", "body", "required", ""},
		"blank lines":     {"\n\n", "body", "required", ""},
		"twice":           {"a,b,a\n", "a", "duplicate", ""},
		"a long name":     {strings.Repeat("x", 1_025) + "\n", "body", "too_long", ""},
		"a million":       {strings.Repeat(",", 1_000_000) + "\n", "body", "too_long", ""},
		"many":            {strings.Repeat(",", 1_000) + "\n", "body", "too_long", ""},
		"an open quote":   {"a,\"b\n1,2\n", "body", "format", "quote"},
		"UTF-16":          {"\xff\xfea\x00,\x00b\x00\n\x00", "body", "format", "looks like UTF-16"},
		"UTF-16 unmarked": {"a\x00,\x00b\x00\n\x00", "body", "format", "looks like UTF-16"},
		"Latin-1":         {"caf\xe9,b\n", "body", "format", "looks like Latin-1"},
	} {
		_, err := table.NewReader(strings.NewReader(c.in), ',', 4_000).Header()
		p, ok := problem.As(err)
		if !ok || p.Details.Field != c.field || string(p.Details.Issue) != c.issue || !strings.Contains(p.Message, c.says) {
			t.Errorf("%s: got %v, want %s of %s", name, err, c.issue, c.field)
		}
	}
}

func TestColumnsWithoutANameGetOne(t *testing.T) {
	t.Parallel()
	columns, rows := all(t, strings.NewReader(";name ;\"\"\n0;x;y\n"), ';')
	if got := fmt.Sprintf("%q %q", columns, rows); got != `["column_1" "name" "column_3"] ["2 [\"0\" \"x\" \"y\"]"]` {
		t.Errorf("got %s", got)
	}
}

func TestABrokenInputIsNotARow(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := table.NewReader(io.MultiReader(strings.NewReader("a,b\n1,2\n3,"), iotest.ErrReader(broken)), ',', limit)
	if _, err := r.Header(); err != nil {
		t.Fatal(err)
	}
	if row, err := r.Next(); err != nil || row.Cells[0] != "1" {
		t.Fatalf("the first row: %v, %v", row, err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("the broken row: %v", err)
	}
}

// What encoding/csv writes is read as it was.
func TestATableIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		comma := rapid.SampledFrom([]rune{',', ';', '\t', '|'}).Draw(t, "comma")
		cell := rapid.StringOfN(rapid.SampledFrom([]rune("ab \n\",;\t|é")), 0, 6, -1)
		n := rapid.IntRange(2, 4).Draw(t, "columns")
		written := rapid.SliceOf(rapid.SliceOfN(cell, n, n)).Draw(t, "rows")
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		w.Comma = comma
		_ = w.Write([]string{"a", "b", "c", "d"}[:n])
		_ = w.WriteAll(written)
		r := table.NewReader(&text, byte(comma), limit)
		if _, err := r.Header(); err != nil {
			t.Fatal(err)
		}
		for i, want := range written {
			got, err := r.Next()
			if err != nil || got.Err != nil || !slices.Equal(got.Cells, want) {
				t.Fatalf("row %d is %q (%v, %v), want %q", i, got.Cells, got.Err, err, want)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("after the last row: %v", err)
		}
	})
}

// Whatever bytes come, in whatever pieces: reading ends, and lines never go back.
func FuzzRows(f *testing.F) {
	for _, s := range []string{"", "a,b\n1,2", "a\n\"", "a,b\n\"x\"\"\n,\"y\n", "a,\"\n\"b\"\n\r\r\n", "\xef\xbb\xbf\"a\"\n\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(in io.Reader) (rows []table.Row) {
			r := table.NewReader(in, ',', 64)
			if _, err := r.Header(); err != nil {
				return nil
			}
			for {
				row, err := r.Next()
				if err == io.EOF {
					return rows
				}
				if err != nil || len(rows) > len(text)+1 {
					t.Fatalf("after %d rows: %v", len(rows), err)
				}
				if n := len(rows); n > 0 && row.Line <= rows[n-1].Line {
					t.Fatalf("a row on line %d follows one on line %d", row.Line, rows[n-1].Line)
				}
				rows = append(rows, row)
			}
		}
		whole, pieces := read(bytes.NewReader(text)), read(iotest.OneByteReader(bytes.NewReader(text)))
		if len(whole) != len(pieces) {
			t.Fatalf("%d rows, %d in pieces", len(whole), len(pieces))
		}
		for i := range whole {
			if whole[i].Line != pieces[i].Line || (whole[i].Err == nil) != (pieces[i].Err == nil) || !slices.Equal(whole[i].Cells, pieces[i].Cells) {
				t.Fatalf("row %d is %+v, in pieces %+v", i, whole[i], pieces[i])
			}
		}
	})
}

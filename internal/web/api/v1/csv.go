package v1

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/wire"
	"keepsake/internal/govern/analytics"
)

// csvTable is a table in CSV. Its methods add cells to the last row.
type csvTable struct {
	rows [][]string // the first one contains the names of the columns
}

func newTable(columns ...string) *csvTable { return &csvTable{rows: [][]string{columns}} }

// head adds columns.
func (t *csvTable) head(columns ...string) { t.rows[0] = append(t.rows[0], columns...) }

// dimensions adds a column for each dimension.
func (t *csvTable) dimensions(list []analytics.Dimension) {
	for _, d := range list {
		t.head(d.String())
	}
}

// row begins a row.
func (t *csvTable) row(cells ...string) *csvTable {
	t.rows = append(t.rows, make([]string, 0, len(t.rows[0])))
	return t.texts(cells...)
}

func (t *csvTable) texts(cells ...string) *csvTable {
	last := len(t.rows) - 1
	for _, c := range cells {
		if c != "" && strings.Contains("=+-@\t\r", c[:1]) { // a spreadsheet would run it as a formula
			c = "'" + c
		}
		t.rows[last] = append(t.rows[last], c)
	}
	return t
}

func (t *csvTable) group(dimensions []analytics.Dimension, g analytics.Group) *csvTable {
	return t.texts(g[:len(dimensions)]...)
}

func (t *csvTable) numbers(list ...int64) *csvTable {
	for _, n := range list {
		t.texts(strconv.FormatInt(n, 10))
	}
	return t
}

// maybe adds numbers. A cell is empty if there is none.
func (t *csvTable) maybe(list ...*int64) *csvTable {
	for _, n := range list {
		if n == nil {
			t.texts("")
		} else {
			t.numbers(*n)
		}
	}
	return t
}

// decimals is maybe for numbers with a fraction.
func (t *csvTable) decimals(list ...*float64) *csvTable {
	for _, x := range list {
		if x == nil {
			t.texts("")
		} else {
			t.texts(strconv.FormatFloat(*x, 'f', -1, 64))
		}
	}
	return t
}

// sumsColumns are the columns of sums.
var sumsColumns = []string{"requests", "errors", "throttled", "p50Ms", "p90Ms", "p99Ms", "bytesIn", "bytesOut"}

func (t *csvTable) sums(v *sumsView) *csvTable {
	return t.numbers(v.Requests, v.Errors, v.Throttled).decimals(v.P50Ms, v.P90Ms, v.P99Ms).numbers(v.BytesIn, v.BytesOut)
}

// time formats a time as in JSON.
func (t *csvTable) time(at time.Time) string { return string(wire.AppendTime(nil, at)) }

func (t *csvTable) bytes() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.WriteAll(t.rows) // a buffer cannot fail
	return out.Bytes()
}

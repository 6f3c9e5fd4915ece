package console

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// chart is a picture of numbers over time. It is SVG, so that it follows the colours of the page and needs no script.
type chart struct {
	Label   string // what it shows, for readers who do not see it
	Unit    string // of its values; can be empty
	Names   []string
	Classes []string // of the parts' colours, like Names
	Columns []column
	Lines   bool          // lines instead of stacked bars
	Step    time.Duration // the length of a column; zero: unknown, and shown as a moment
}

// stepOf returns the length of the intervals of a series, by the name that the API gives it.
func stepOf(interval string) time.Duration {
	return map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[interval]
}

// column is a period of a chart.
type column struct {
	At      time.Time // its start
	Values  []float64 // like chart.Names; NaN: unknown
	Partial bool      // has not ended
}

// The size of the drawing. The page stretches it.
const (
	chartWidth  = 720.0
	chartHeight = 160.0
)

// top returns the upper end of the scale: 1, 2 or 5 times a power of ten, so that its label and its half are round.
func (c *chart) top() float64 {
	most := 0.0
	for _, col := range c.Columns {
		sum := 0.0
		for _, v := range col.Values {
			if math.IsNaN(v) {
				continue
			}
			if c.Lines {
				most = max(most, v)
			}
			sum += v
		}
		if !c.Lines {
			most = max(most, sum)
		}
	}
	if most == 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, step := range []float64{1, 2, 4, 5, 10} {
		if most <= step*power {
			return step * power
		}
	}
	return 10 * power
}

// bar is a rectangle of the drawing.
type bar struct {
	X, Y, Width, Height string
	Class               string
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// bars returns the rectangles of a column, from below.
func (c *chart) bars(i int) []bar {
	top, slot := c.top(), chartWidth/float64(len(c.Columns))
	gap := min(slot*0.2, 3)
	var list []bar
	y := chartHeight
	for part, v := range c.Columns[i].Values {
		height := chartHeight * v / top
		if v <= 0 || math.IsNaN(v) {
			continue
		}
		height = max(height, 1.5) // one request is visible next to a million
		y -= height
		list = append(list, bar{
			coordinate(float64(i)*slot + gap/2), coordinate(max(y, 0)), coordinate(slot - gap), coordinate(height), c.Classes[part],
		})
	}
	return list
}

// hover returns the area of a column in which its numbers are shown.
func (c *chart) hover(i int) bar {
	slot := chartWidth / float64(len(c.Columns))
	return bar{X: coordinate(float64(i) * slot), Y: "0", Width: coordinate(slot), Height: coordinate(chartHeight)}
}

// line returns the path of a part. It has a gap where a value is unknown, and a short stroke for one without neighbours.
func (c *chart) line(part int) string {
	top, slot := c.top(), chartWidth/float64(len(c.Columns))
	var path strings.Builder
	open := false
	for i, col := range c.Columns {
		v := col.Values[part]
		if math.IsNaN(v) {
			open = false
			continue
		}
		x, y := (float64(i)+0.5)*slot, chartHeight-chartHeight*v/top
		if open {
			path.WriteString("L" + coordinate(x) + " " + coordinate(y))
		} else {
			path.WriteString("M" + coordinate(x-slot/4) + " " + coordinate(y) + "L" + coordinate(x) + " " + coordinate(y))
		}
		open = true
	}
	return path.String()
}

// number formats a value of the chart.
func (c *chart) number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case c.Unit == "ms":
		return millis(&v)
	default:
		return count(int64(v))
	}
}

// scale formats a value on the axis.
func (c *chart) scale(v float64) string {
	if c.Unit == "ms" {
		if v >= 1000 {
			return strconv.FormatFloat(v/1000, 'f', -1, 64) + " s"
		}
		return strconv.FormatFloat(v, 'g', 3, 64) + " ms"
	}
	if v != math.Trunc(v) || v < 1 {
		return "" // the half of 5
	}
	return short(int64(v))
}

// tip is the text about a column, one line per part.
func (c *chart) tip(i int) string {
	var b strings.Builder
	for part, name := range c.Names {
		if part > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(name + ": " + c.number(c.Columns[i].Values[part]))
	}
	return b.String()
}

// empty reports whether the chart has no value but zero.
func (c *chart) empty() bool {
	for _, col := range c.Columns {
		for _, v := range col.Values {
			if v > 0 {
				return false
			}
		}
	}
	return true
}

// layout is how times of the columns are written.
func (c *chart) layout() string {
	if c.Step >= 24*time.Hour {
		return "day"
	}
	return "hour"
}

// marks returns the columns whose times are written below the chart: the first, some between, the last.
func (c *chart) marks() []int {
	last := len(c.Columns) - 1
	if last < 4 {
		return []int{0, last}
	}
	return []int{0, last / 4, last / 2, last * 3 / 4, last}
}

// latestFirst returns the columns that have numbers, from the latest on.
func (c *chart) latestFirst() []column {
	var list []column
	for _, col := range slices.Backward(c.Columns) {
		if slices.ContainsFunc(col.Values, func(v float64) bool { return v > 0 }) {
			list = append(list, col)
		}
	}
	return list
}

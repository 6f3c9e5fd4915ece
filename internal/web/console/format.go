package console

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// count formats a number with separators: 1,500,000.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// short formats a number in few characters: 1.5M.
func short(n int64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "B"}, {1e6, "M"}, {1e3, "k"}} {
		if v := float64(n) / unit.size; v >= 1 {
			return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// brief formats a number in few characters if they say all of it: 1.5M, but 1,234.
func brief(n int64) string {
	for _, unit := range []int64{1e9, 1e6, 1e3} {
		if n >= unit && n%(unit/10) == 0 {
			return short(n)
		}
	}
	return count(n)
}

// percent formats a part of a whole.
func percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	p := 100 * float64(part) / float64(whole)
	if p > 0 && p < 0.1 {
		return "<0.1%"
	}
	return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + "%"
}

// millis formats a latency; nil is unknown.
func millis(ms *float64) string {
	switch {
	case ms == nil:
		return "–"
	case *ms < 10:
		return strconv.FormatFloat(*ms, 'f', 2, 64) + " ms"
	case *ms < 1000:
		return strconv.FormatFloat(*ms, 'f', 0, 64) + " ms"
	default:
		return strconv.FormatFloat(*ms/1000, 'f', 2, 64) + " s"
	}
}

// duration formats a length of time in its largest units: 3 hours.
func duration(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int64(math.Round(float64(d) / float64(unit.size))); d >= unit.size {
			return plural(n, unit.name)
		}
	}
	return plural(int64(d/time.Second), "second")
}

// plural formats a number of things.
func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "ry"); ok {
		return count(n) + " " + stem + "ries"
	}
	if strings.HasSuffix(thing, "sh") || strings.HasSuffix(thing, "x") {
		return count(n) + " " + thing + "es"
	}
	return count(n) + " " + thing + "s"
}

// utc formats a time for people, as it is shown where no script runs.
func utc(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04") + " UTC" }

// iso formats a time for programs.
func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// indented lays JSON out for people. Other text stays as it is.
func indented(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

// size formats a number of bytes.
func size(n int64) string {
	for _, unit := range []struct {
		bytes float64
		name  string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if v := float64(n) / unit.bytes; v >= 1 {
			return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + unit.name
		}
	}
	return plural(n, "byte")
}

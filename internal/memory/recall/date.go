package recall

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/text"
)

// piece is a word of a query for reading dates.
type piece struct {
	word    string // folded
	capital bool   // begins with a capital letter
	dash    bool   // only a hyphen or slash is between it and the next word
	dated   dated  // its part in a date
}

// dated is the part of a word in a date.
type dated uint8

const (
	notDated dated = iota
	absolute       // of a date that texts contain in the same form
	relative       // of a date that depends on today
)

// pieces returns at most limit words of a query.
func pieces(a *text.Analyzer, s string, limit int, yield func(text.Token)) []piece {
	var list []piece
	end := 0
	a.Scan(s, func(t text.Token) bool {
		if n := len(list); n > 0 && t.Start == end+1 && (s[end] == '-' || s[end] == '/') {
			list[n-1].dash = true
		}
		end = t.End
		r, _ := utf8.DecodeRuneInString(s[t.Start:])
		list = append(list, piece{word: t.Word, capital: unicode.IsUpper(r)})
		yield(t)
		return len(list) < limit
	})
	return list
}

var months = map[string]time.Month{
	"january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5, "june": 6,
	"jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sept": 9, "sep": 9, "october": 10, "oct": 10,
	"november": 11, "nov": 11, "december": 12, "dec": 12,
}

var weekdays = map[string]time.Weekday{
	"sunday": 0, "monday": 1, "mon": 1, "tuesday": 2, "tue": 2, "tues": 2, "wednesday": 3, "wed": 3, "thursday": 4,
	"thu": 4, "thurs": 4, "friday": 5, "fri": 5, "saturday": 6, "sundays": 0, "mondays": 1, "tuesdays": 2,
	"wednesdays": 3, "thursdays": 4, "fridays": 5, "saturdays": 6,
}

// ambiguous months are also other words. They need a capital letter, or a number or preposition next to them.
var (
	ambiguous    = setOf("may march mar")
	prepositions = setOf("in on of last this next since until till before after during by early late mid around from to and between")
)

var counts = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "couple": 2, "few": 3,
}

// reader reads the dates of a query.
type reader struct {
	list  []piece
	words *lexicon
	today time.Time
	found dates
}

// readDates finds the times that a query names and marks their words. Relative times are relative to asOf, whose time zone is that
// of all of them.
func readDates(list []piece, asOf time.Time, words *lexicon) dates {
	r := reader{list: list, words: words, today: time.Date(asOf.Year(), asOf.Month(), asOf.Day(), 0, 0, 0, 0, asOf.Location())}
	r.found.zone = asOf.Location()
	for i := 0; i < len(list); {
		n := r.iso(i)
		for _, read := range []func(int) int{r.monthName, r.ago, r.shifted, r.weekday, r.simple, r.year} {
			if n > 0 {
				break
			}
			n = read(i)
		}
		i += max(n, 1)
	}
	return r.found
}

func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.list) {
		return ""
	}
	return r.list[i].word
}

func (r *reader) mark(from, n int, d dated) int {
	for i := from; i < from+n; i++ {
		r.list[i].dated = d
	}
	return n
}

func (r *reader) add(from, to time.Time) {
	r.found.spans = append(r.found.spans, span{from: from.UnixMicro(), to: to.UnixMicro()})
}

func (r *reader) yearAt(i int) int {
	w := r.word(i)
	if len(w) != 4 || w < "1900" || w > "2199" {
		return 0
	}
	return number(w)
}

// number returns the value of at most four digits, or -1.
func number(w string) int {
	if w == "" || len(w) > 4 {
		return -1
	}
	n, err := strconv.ParseUint(w, 10, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

func (r *reader) dayAt(i int) int {
	w := cardinal(r.word(i))
	if len(w) > 2 {
		return 0
	}
	if n := number(w); n >= 1 && n <= 31 {
		return n
	}
	return 0
}

// iso reads 2023-05-07 and 2023-05.
func (r *reader) iso(i int) int {
	y := r.yearAt(i)
	if y == 0 || !r.list[i].dash {
		return 0
	}
	m := number(r.word(i + 1))
	if m < 1 || m > 12 {
		return 0
	}
	from := time.Date(y, time.Month(m), 1, 0, 0, 0, 0, r.today.Location())
	if d := r.dayAt(i + 2); d > 0 && r.list[i+1].dash {
		from = from.AddDate(0, 0, d-1)
		r.add(from, from.AddDate(0, 0, 1))
		return r.mark(i, 3, absolute)
	}
	r.add(from, from.AddDate(0, 1, 0))
	return r.mark(i, 2, absolute)
}

// monthName reads "7 May 2023", "7th of May", "May 7th, 2023", "May 2023" and "in May".
func (r *reader) monthName(i int) int {
	first := i
	day := r.dayAt(i)
	if day > 0 {
		i++
		if r.word(i) == "of" || r.words.of[r.word(i)] {
			i++
		}
	}
	name := r.word(i)
	month, ok := r.words.months[name]
	if !ok {
		month, ok = months[name]
	}
	if !ok {
		return 0
	}
	next := i + 1
	if day == 0 {
		if day = r.dayAt(next); day > 0 {
			next++
		}
	}
	year := r.yearAt(next)
	if year == 0 && r.words.of[r.word(next)] { // marzo de 2024
		if year = r.yearAt(next + 1); year > 0 {
			next++
		}
	}
	if year > 0 {
		next++
	}
	if ambiguous[name] && day == 0 && year == 0 && (!r.list[i].capital || i == 0) && !prepositions[r.word(i-1)] {
		return 0
	}
	switch before := r.word(first - 1); {
	case year > 0:
		r.addMonth(year, month, day)
	case before == "last" || before == "past":
		year = r.today.Year()
		if month >= r.today.Month() {
			year--
		}
		r.addMonth(year, month, day)
	case before == "this":
		r.addMonth(r.today.Year(), month, day)
	case before == "next":
		year = r.today.Year()
		if month <= r.today.Month() {
			year++
		}
		r.addMonth(year, month, day)
	default:
		r.found.yearly = append(r.found.yearly, yearly{month, day})
	}
	return r.mark(first, next-first, absolute)
}

func (r *reader) addMonth(year int, month time.Month, day int) {
	from := time.Date(year, month, max(day, 1), 0, 0, 0, 0, r.today.Location())
	if day > 0 {
		r.add(from, from.AddDate(0, 0, 1))
	} else {
		r.add(from, from.AddDate(0, 1, 0))
	}
}

// ago reads "three weeks ago" and "a few days ago".
func (r *reader) ago(i int) int {
	n, size := counts[r.word(i)], 1
	if d := number(r.word(i)); d > 0 {
		n = d
	}
	if n == 0 {
		return 0
	}
	if more := counts[r.word(i+1)]; more > 1 { // a couple, a few
		n, size = more, 2
	}
	if size == 2 && r.word(i+2) == "of" {
		size = 3
	}
	unit := strings.TrimSuffix(r.word(i+size), "s")
	if r.word(i+size+1) != "ago" {
		return 0
	}
	t := r.today
	switch unit {
	case "day":
		t = t.AddDate(0, 0, -n)
		r.add(t, t.AddDate(0, 0, 1))
	case "week":
		t = t.AddDate(0, 0, -7*n)
		r.add(t.AddDate(0, 0, -3), t.AddDate(0, 0, 4))
	case "month":
		t = t.AddDate(0, -n, 0)
		r.add(t.AddDate(0, 0, -15), t.AddDate(0, 0, 15))
	case "year":
		t = t.AddDate(-n, 0, 0)
		r.add(t.AddDate(0, -6, 0), t.AddDate(0, 6, 0))
		r.found.spans[len(r.found.spans)-1].loose = true
	default:
		return 0
	}
	return r.mark(i, size+2, relative)
}

// monday returns the first day of today's week.
func (r *reader) monday() time.Time {
	return r.today.AddDate(0, 0, -(int(r.today.Weekday())+6)%7)
}

// shifted reads "last week", "this month", "next year", "the past weekend" and "last Friday".
func (r *reader) shifted(i int) int {
	var by int
	switch r.word(i) {
	case "last", "past", "previous":
		by = -1
	case "this":
	case "next", "coming":
		by = 1
	default:
		return 0
	}
	switch w := r.word(i + 1); w {
	case "night", "evening":
		if by > 0 {
			return 0
		}
		from := r.today.AddDate(0, 0, by)
		r.add(from, from.AddDate(0, 0, 1))
	case "week":
		from := r.monday().AddDate(0, 0, 7*by)
		r.add(from, from.AddDate(0, 0, 7))
	case "weekend":
		from := r.monday().AddDate(0, 0, 7*by+5)
		r.add(from, from.AddDate(0, 0, 2))
	case "month":
		from := time.Date(r.today.Year(), r.today.Month()+time.Month(by), 1, 0, 0, 0, 0, r.today.Location())
		r.add(from, from.AddDate(0, 1, 0))
	case "year":
		from := time.Date(r.today.Year()+by, 1, 1, 0, 0, 0, 0, r.today.Location())
		r.add(from, from.AddDate(1, 0, 0))
	default:
		d, ok := weekdays[w]
		if !ok {
			return 0
		}
		from := r.nearest(d, by)
		r.add(from, from.AddDate(0, 0, 1))
	}
	return r.mark(i, 2, relative)
}

// nearest returns the last such weekday before today, or the next one after it.
func (r *reader) nearest(d time.Weekday, by int) time.Time {
	if by > 0 {
		return r.today.AddDate(0, 0, (int(d)-int(r.today.Weekday())+6)%7+1)
	}
	return r.today.AddDate(0, 0, -((int(r.today.Weekday())-int(d)+6)%7 + 1))
}

// weekday reads "on Monday".
func (r *reader) weekday(i int) int {
	d, ok := r.words.weekdays[r.word(i)]
	if !ok {
		d, ok = weekdays[r.word(i)]
	}
	if !ok {
		return 0
	}
	from := r.nearest(d, -1)
	r.add(from, from.AddDate(0, 0, 1))
	return r.mark(i, 1, relative)
}

// simple reads "yesterday", "today" and similar words.
func (r *reader) simple(i int) int {
	from := r.today
	switch r.word(i) {
	case "yesterday":
		from = from.AddDate(0, 0, -1)
	case "today", "tonight":
	case "tomorrow":
		from = from.AddDate(0, 0, 1)
	default:
		days, ok := r.words.days[r.word(i)]
		if !ok {
			return 0
		}
		from = from.AddDate(0, 0, days)
	}
	r.add(from, from.AddDate(0, 0, 1))
	return r.mark(i, 1, relative)
}

// year reads "2023".
func (r *reader) year(i int) int {
	y := r.yearAt(i)
	if y == 0 {
		return 0
	}
	from := time.Date(y, 1, 1, 0, 0, 0, 0, r.today.Location())
	r.add(from, from.AddDate(1, 0, 0))
	return r.mark(i, 1, absolute)
}

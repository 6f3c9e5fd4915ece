package analytics

import (
	"slices"
	"strconv"
	"strings"

	"keepsake/internal/base/problem"
)

// Dimension is what requests are grouped and filtered by.
type Dimension uint8

// The dimensions.
const (
	Key Dimension = iota
	Route
	Method
	Status
	StatusClass
	Version
	Surface
)

var dimensionNames = [...]string{"key", "route", "method", "status", "statusClass", "version", "surface"}

func (d Dimension) String() string { return dimensionNames[d] }

// None is the value of a dimension that a request does not have: no API key, no route, no version. No key, route or version
// has this name.
const None = "none"

// Traits are the dimensions of one or more requests. Status class follows from the status.
type Traits struct {
	KeyID   string // empty without an API key
	Route   string // template; empty for a path without a route
	Method  string
	Status  int
	Version int // 0 for none
	Surface string
}

// statusTexts are the statuses as text, because formatting one for each of 100,000 cells takes time.
var statusTexts = func() (texts [600]string) {
	for i := range texts {
		texts[i] = strconv.Itoa(i)
	}
	return texts
}()

func statusText(status int) string {
	if status >= 0 && status < len(statusTexts) {
		return statusTexts[status]
	}
	return strconv.Itoa(status)
}

var classTexts = [...]string{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"}

func classText(status int) string {
	if class := status / 100; class >= 0 && class < len(classTexts) {
		return classTexts[class]
	}
	return None
}

// Of returns the value of d.
func (t *Traits) Of(d Dimension) string {
	switch d {
	case Key:
		return orNone(t.KeyID)
	case Route:
		return orNone(t.Route)
	case Method:
		return t.Method
	case Status:
		return statusText(t.Status)
	case StatusClass:
		return classText(t.Status)
	case Version:
		if t.Version == 0 {
			return None
		}
		return statusText(t.Version)
	default:
		return t.Surface
	}
}

func orNone(s string) string {
	if s == "" {
		return None
	}
	return s
}

// Failed reports whether the status is an error: 4xx except 429, or 5xx.
func Failed(status int) bool { return status >= 400 && status != 429 }

// Throttled reports whether a limit refused the request.
func Throttled(status int) bool { return status == 429 }

// Filter selects requests. Values of one dimension are alternatives; a request must match every dimension that has values, and
// have none of the excluded values.
type Filter struct {
	allowed  [len(dimensionNames)][]string
	some     []Dimension // those with values
	excluded []exclusion
	nothing  bool // no request can match
}

// exclusion is a value that requests must not have.
type exclusion struct {
	of    Dimension
	value string
}

// all reports whether f allows every request.
func (f *Filter) all() bool { return len(f.some) == 0 && len(f.excluded) == 0 && !f.nothing }

// onlyNoConsole reports whether f allows every request but those of the console.
func (f *Filter) onlyNoConsole() bool {
	return len(f.some) == 0 && slices.Equal(f.excluded, []exclusion{{Surface, "console"}}) && !f.nothing
}

// Values returns the allowed values of a dimension; none if all are.
func (f *Filter) Values(d Dimension) []string { return f.allowed[d] }

// Nothing reports whether no request can match f.
func (f *Filter) Nothing() bool { return f.nothing }

// Keys returns the IDs of the API keys that f allows; nil if it allows all. "" stands for requests without a key.
func (f *Filter) Keys() []string {
	var ids []string
	for _, value := range f.allowed[Key] {
		if value == None {
			value = ""
		}
		ids = append(ids, value)
	}
	return ids
}

// Only narrows f to one API key.
func (f *Filter) Only(keyID string) {
	switch allowed := f.allowed[Key]; {
	case allowed == nil:
		f.some = append(f.some, Key)
	case !slices.Contains(allowed, keyID):
		f.nothing = true
	}
	f.allowed[Key] = []string{keyID}
}

// Match reports whether f allows requests with these traits.
func (f *Filter) Match(t *Traits) bool {
	if f.nothing {
		return false
	}
	for _, d := range f.some {
		if !slices.Contains(f.allowed[d], t.Of(d)) {
			return false
		}
	}
	for _, e := range f.excluded {
		if t.Of(e.of) == e.value {
			return false
		}
	}
	return true
}

// add adds a value in the form dimension:value, or -dimension:value to exclude it.
func (f *Filter) add(text string) error {
	text, excludes := strings.CutPrefix(text, "-")
	name, value, ok := strings.Cut(text, ":")
	if !ok || value == "" {
		return problem.Validation("filter", problem.Format, "A filter must be written as dimension:value, such as route:/api/v1/search.")
	}
	d, err := dimensionOf("filter", name)
	if err != nil {
		return err
	}
	if !d.fits(value) {
		return problem.Validation("filter", problem.Format, "The value of the filter "+name+" must be "+d.form()+".")
	}
	if excludes {
		f.excluded = append(f.excluded, exclusion{d, value})
		return nil
	}
	if f.allowed[d] == nil {
		f.some = append(f.some, d)
	}
	f.allowed[d] = append(f.allowed[d], value)
	return nil
}

// dimensionOf returns the dimension with a name. field is the parameter that contains the name.
func dimensionOf(field, name string) (Dimension, error) {
	if i := slices.Index(dimensionNames[:], name); i >= 0 {
		return Dimension(i), nil
	}
	says := "There is no such dimension. The dimensions are " + strings.Join(dimensionNames[:], ", ") + "."
	if meant := problem.Similar(name, dimensionNames[:]); meant != "" {
		says += " Did you mean " + meant + "?"
	}
	return 0, problem.Validation(field, problem.NotAllowed, says)
}

// fits reports whether value has the form of d's values. A key or a route that does not exist has it too, and matches
// nothing.
func (d Dimension) fits(value string) bool {
	switch d {
	case Method:
		return slices.Contains(methods, value)
	case Status:
		n, err := strconv.Atoi(value)
		return err == nil && n >= 100 && n < len(statusTexts) && statusTexts[n] == value
	case StatusClass:
		return slices.Contains(classTexts[1:], value)
	case Version:
		n, err := strconv.Atoi(value)
		return value == None || err == nil && n > 0 && strconv.Itoa(n) == value
	case Surface:
		return slices.Contains(surfaces, value)
	default:
		return len(value) <= maxValue
	}
}

// maxValue is the longest key or route of a filter, in bytes.
const maxValue = 256

var (
	methods  = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"}
	surfaces = []string{"primary", "ai", "backend", "console"}
)

// form describes the values of d.
func (d Dimension) form() string {
	switch d {
	case Method:
		return "one of " + strings.Join(methods, ", ")
	case Status:
		return "a status such as 404"
	case StatusClass:
		return "one of " + strings.Join(classTexts[1:], ", ")
	case Version:
		return "the number of a version, or none"
	case Surface:
		return "one of " + strings.Join(surfaces, ", ")
	default:
		return "at most 256 bytes long"
	}
}

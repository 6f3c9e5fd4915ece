package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer is a response. Each method checks one thing and records what is wrong.
type answer struct {
	call       *call
	status     int
	header     http.Header
	body       []byte
	value      any // the body as JSON with numbers as json.Number; nil if it is not JSON
	sent, came time.Time
}

func (a *answer) parse() {
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.UseNumber()
	if dec.Decode(&a.value) != nil || dec.More() {
		a.value = nil
	}
}

// describe returns the request and the response in one line, without credentials.
func (a *answer) describe() string {
	const most = 400
	body := redact(strings.ToValidUTF8(string(a.body), "?"))
	if len(body) > most {
		body = body[:most] + "…"
	}
	text := a.call.method + " " + a.call.path
	if len(a.call.body) > 0 {
		sent := strings.ToValidUTF8(string(a.call.body), "?")
		if len(sent) > most {
			sent = fmt.Sprintf("%s… (%d bytes)", sent[:most/2], len(a.call.body))
		}
		text += " " + sent
	}
	return fmt.Sprintf("%s: %d %s", redact(text), a.status, body)
}

// The texts that reports must not contain: API keys, signed tokens, and fields with other secrets.
var (
	keyTexts    = regexp.MustCompile(`kpsk_[0-9A-Za-z]{36}`)
	tokenTexts  = regexp.MustCompile(`eyJ[0-9A-Za-z_-]+\.[0-9A-Za-z_-]*\.[0-9A-Za-z_-]*`)
	secretTexts = regexp.MustCompile(`("(?:password|currentPassword|newPassword|refreshToken)":")[^"]*`)
)

// redact removes credentials from a text for a report.
func redact(text string) string {
	text = keyTexts.ReplaceAllStringFunc(text, func(key string) string { return key[:9] + "…" })
	text = tokenTexts.ReplaceAllString(text, "eyJ…")
	return secretTexts.ReplaceAllString(text, "${1}…")
}

// broken records what is wrong with the response.
func (a *answer) broken(format string, args ...any) {
	a.call.check.broken("%s\n  %s", fmt.Sprintf(format, args...), a.describe())
}

// is checks the status, and ends the check if it differs.
func (a *answer) is(status int) *answer {
	if a.status != status {
		a.call.check.stop("want status %d\n  %s", status, a.describe())
	}
	return a
}

// fails checks the status and the code of an error, and the field and the issue of a validation error. If the specification
// allows several issues, they are joined by "|".
func (a *answer) fails(status int, code string, fieldAndIssue ...string) *answer {
	if a.status != status || a.text("error") != code {
		a.broken("want %d %s", status, code)
		return a
	}
	if len(fieldAndIssue) > 0 && !oneOf(fieldAndIssue[0], a.text("details.field")) {
		a.broken("want details.field %s", fieldAndIssue[0])
	}
	if len(fieldAndIssue) > 1 && !oneOf(fieldAndIssue[1], a.text("details.issue")) {
		a.broken("want details.issue %s", fieldAndIssue[1])
	}
	return a
}

func oneOf(choices, got string) bool { return slices.Contains(strings.Split(choices, "|"), got) }

// says checks that the message of an error has a text.
func (a *answer) says(text string) {
	if !strings.Contains(a.text("message"), text) {
		a.broken("want a message with %q", text)
	}
}

// at finds a field by a path such as results[0].title; ok is false if there is none.
func (a *answer) at(path string) (any, bool) {
	v := a.value
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// text returns a string field, or "".
func (a *answer) text(path string) string {
	v, _ := a.at(path)
	s, _ := v.(string)
	return s
}

// integer returns an integer field, or -1.
func (a *answer) integer(path string) int64 {
	v, _ := a.at(path)
	if n, ok := v.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i
		}
	}
	return -1
}

// list returns an array field, or nil.
func (a *answer) list(path string) []any {
	v, _ := a.at(path)
	l, _ := v.([]any)
	return l
}

// texts returns a string field of every item of an array.
func (a *answer) texts(path, member string) []string {
	var list []string
	for i := range a.list(path) {
		list = append(list, a.text(fmt.Sprintf("%s[%d].%s", path, i, member)))
	}
	return list
}

// number returns a header that is an integer, or -1.
func (a *answer) number(header string) int64 {
	n, err := strconv.ParseInt(a.header.Get(header), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// has checks the values of fields. Numbers are compared as Go writes them: 3, 0.5. nil is null.
func (a *answer) has(want map[string]any) *answer {
	for path, w := range want {
		got, ok := a.at(path)
		if !ok {
			a.broken("%s is absent, want %v", path, w)
		} else if !same(got, w) {
			a.broken("%s is %s, want %v", path, show(got), w)
		}
	}
	return a
}

// shape checks the JSON types of fields: "string", "integer", "number", "boolean", "array", "object", "null" or "time",
// or several joined by "|". A missing field is wrong, too.
func (a *answer) shape(want map[string]string) *answer {
	for path, kinds := range want {
		got, ok := a.at(path)
		if !ok {
			a.broken("%s is absent, want %s", path, kinds)
		} else if !slices.ContainsFunc(strings.Split(kinds, "|"), func(kind string) bool { return isA(got, kind) }) {
			a.broken("%s is %s, want %s", path, show(got), kinds)
		}
	}
	return a
}

// lacks checks that fields are absent.
func (a *answer) lacks(paths ...string) *answer {
	for _, path := range paths {
		if v, ok := a.at(path); ok {
			a.broken("%s is %s, want it absent", path, show(v))
		}
	}
	return a
}

// head checks the exact values of headers.
func (a *answer) head(name, want string) *answer {
	if got := a.header.Get(name); got != want {
		a.broken("header %s is %q, want %q", name, got, want)
	}
	return a
}

// located checks the Location, which begins with the path of the target's address.
func (a *answer) located(path string) *answer { return a.head("Location", a.call.below()+path) }

func isA(v any, kind string) bool {
	switch kind {
	case "string":
		_, ok := v.(string)
		return ok
	case "time":
		s, ok := v.(string)
		return ok && isTime(s)
	case "integer":
		n, ok := v.(json.Number)
		_, err := n.Int64()
		return ok && err == nil
	case "number":
		_, ok := v.(json.Number)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "array":
		_, ok := v.([]any)
		return ok
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "null":
		return v == nil
	}
	return false
}

// isTime reports whether s is an RFC 3339 time in UTC with a Z.
func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil && strings.HasSuffix(s, "Z")
}

// same compares a JSON value with the JSON of a Go value.
func same(got, want any) bool {
	text, err := json.Marshal(want)
	if err != nil {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var w any
	return dec.Decode(&w) == nil && reflect.DeepEqual(got, w)
}

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

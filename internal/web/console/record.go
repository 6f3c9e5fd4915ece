package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"keepsake/client"
)

// recordForm is the form that creates or changes a document or a memory. It keeps what was typed as text, so that it is shown
// again as it was when the API refuses it.
type recordForm struct {
	formState
	Values   map[string]string // of the fields, by the names that the API gives them
	Revision int64             // that is changed; 0 for a new record
	Stored   []storedField     // of a revision that was stored while the form was open, where it differs from Values
}

// storedField is a field of the stored revision.
type storedField struct{ Label, Value string }

// sentRecord reads the fields of a sent form. Browsers end lines with CRLF, whatever they were before.
func sentRecord(v *visit, fields []string) recordForm {
	form := recordForm{formState: sentForm(v), Values: map[string]string{}}
	for _, name := range fields {
		form.Values[name] = lines(v.form.Get(name))
	}
	return form
}

// lines ends the lines of a text with LF.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// about reports whether the message is about a field or a part of it, such as an entry of metadata.
func (f formState) about(field string) bool {
	return f.Message != "" && (f.Field == field || strings.HasPrefix(f.Field, field+"."))
}

// aboutNone reports whether the message is about none of the fields.
func (f formState) aboutNone(fields []string) bool {
	for _, name := range fields {
		if f.about(name) {
			return false
		}
	}
	return f.Message != ""
}

// marks are the attributes of a field with a mistake.
func (f formState) marks(field string) templ.Attributes {
	if !f.about(field) {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "autofocus": true}
}

// wrongField is the error about a field that cannot be sent to the API.
func wrongField(name, message string) error {
	return &client.Error{Status: http.StatusBadRequest, Message: message, Details: client.Details{Field: name, Issue: "format"}}
}

// refuseRecord prepares the form to be shown again after an error, as refuse does. Beside a field, the message needs no name of
// the field.
func (f *recordForm) refuseRecord(v *visit, err error, fields []string) bool {
	if !f.refuse(v, err) {
		return false
	}
	if e, ok := errors.AsType[*client.Error](err); ok && !f.aboutNone(fields) {
		f.Message = besideField(e)
	}
	return true
}

// besideField is the message of an error as it stands beside the field. It need not name the field, but it names the line if
// the field has an item per line.
func besideField(e *client.Error) string {
	message := e.Message
	if rest, ok := strings.CutPrefix(message, e.Details.Field+" "); ok {
		message = "This " + rest
	}
	_, item, _ := strings.Cut(strings.TrimSuffix(e.Details.Field, "]"), "[")
	if n, err := strconv.Atoi(item); err == nil {
		message = "Line " + strconv.Itoa(n+1) + ": " + message
	}
	return message
}

// isConflict reports whether a change was refused because another one came first.
func isConflict(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status == http.StatusPreconditionFailed
}

// collide notes that another change came first. stored are the values of the revision that it has stored.
func (f *recordForm) collide(stored map[string]string, revision int64, labels []choice) {
	f.Revision, f.Stored = revision, nil
	for _, l := range labels {
		if f.written(l.Value) != lines(stored[l.Value]) {
			f.Stored = append(f.Stored, storedField{l.Text, stored[l.Value]})
		}
	}
}

// written returns the value of a field as a stored one is written, so that both can be compared.
func (f *recordForm) written(name string) string {
	value := f.Values[name]
	switch name {
	case "tags", "allowedIps":
		return strings.Join(linesOf(value), "\n")
	case "metadata":
		if metadata, err := f.metadata(); err == nil {
			return metadataText(metadata)
		}
	case "expiresAt", "occurredAt", "validFrom", "validTo":
		if at, err := f.moment(name); err == nil {
			return momentText(at)
		}
	}
	return value
}

// text returns the change of a text. An empty one is removed.
func (f *recordForm) text(name string, stored map[string]string) client.Change[string] {
	switch value := f.Values[name]; value {
	case lines(stored[name]):
		return client.Change[string]{}
	case "":
		return client.Cleared[string]()
	default:
		return client.To(value)
	}
}

// tags returns the change of the tags.
func (f *recordForm) tags(stored map[string]string) client.Change[[]string] {
	if f.written("tags") == stored["tags"] {
		return client.Change[[]string]{}
	}
	return client.To(linesOf(f.Values["tags"]))
}

// linesOf returns the lines of a text that are not blank.
func linesOf(text string) []string {
	list := []string{}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// metadataText writes metadata as JSON for people; nothing if there is none.
func metadataText(metadata map[string]any) string {
	if len(metadata) == 0 {
		return ""
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(metadata); err != nil {
		panic(err) // it was decoded from JSON
	}
	return strings.TrimSpace(out.String())
}

// metadata reads the metadata of the form.
func (f *recordForm) metadata() (map[string]any, error) {
	text := f.Values["metadata"]
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var values map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil || values == nil {
		return nil, wrongField("metadata", `Write a JSON object, such as {"author": "Ada", "year": 2027}.`)
	}
	if _, err := decoder.Token(); err != io.EOF { //nolint:errorlint // a decoder returns io.EOF itself
		return nil, wrongField("metadata", "Write one JSON object and nothing after it.")
	}
	return values, nil
}

// metadataChange returns the change of metadata, in which nil removes an entry.
func (f *recordForm) metadataChange(stored map[string]any) (client.Change[map[string]any], error) {
	wanted, err := f.metadata()
	if err != nil {
		return client.Change[map[string]any]{}, err
	}
	change := map[string]any{}
	for name, value := range wanted {
		if old, ok := stored[name]; !ok || !reflect.DeepEqual(old, value) {
			change[name] = value
		}
	}
	for name := range stored {
		if _, ok := wanted[name]; !ok {
			change[name] = nil
		}
	}
	if len(change) == 0 {
		return client.Change[map[string]any]{}, nil
	}
	return client.To(change), nil
}

// momentLayout is how browsers write a time with its date. The forms say that it is UTC.
const momentLayout = "2006-01-02T15:04:05"

func momentText(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(momentLayout)
}

// moment reads a time of the form; nil if it is empty. Browsers leave out seconds that are zero.
func (f *recordForm) moment(name string) (*time.Time, error) {
	text := f.Values[name]
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{momentLayout, "2006-01-02T15:04", dateLayout, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return &at, nil
		}
	}
	return nil, wrongField(name, "Write the date and the time as 2027-01-31T18:30.")
}

// momentChange returns the change of a time.
func (f *recordForm) momentChange(name string, stored *time.Time) (client.Change[time.Time], error) {
	at, err := f.moment(name)
	switch {
	case err != nil || momentText(at) == momentText(stored):
		return client.Change[time.Time]{}, err
	case at == nil:
		return client.Cleared[time.Time](), nil
	default:
		return client.To(*at), nil
	}
}

// lacks returns the page that says which scope the visitor's role lacks.
func (v *visit) lacks(scope string) response {
	return v.fail(&client.Error{Status: http.StatusForbidden, Code: "insufficient_scope", Details: client.Details{RequiredScope: scope}})
}

// orEmpty returns a text that can be missing.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

package console

import (
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"keepsake/client"
	"keepsake/internal/base/problem"
	"keepsake/internal/web/rowimport"
)

// mappingForm says which values of a file become which fields of a document, and shows what the first rows become.
type mappingForm struct {
	Table     bool
	Columns   []mappedName
	More      int    // names that are not listed
	Texts     string // the names of the texts in the order in which they were guessed
	Rest      string
	Into      string
	Delimiter string
	Message   string // why no row can be imported as the form says
	Command   string // that does the same in a shell

	Documents []client.NewDocument // of the first rows
	Refused   []client.ImportError
	Refusals  int
	Rows      int  // that were looked at
	Whole     bool // the file has no others
	HasID     bool
}

// mappedName is a name of values of a file.
type mappedName struct {
	Name    string
	Field   string   // that the values become; empty: what becomes of the rest
	Fixed   bool     // they become the field whatever the form says
	Samples []string // of its values
}

// maxColumns is how many names a form lists.
const maxColumns = 60

// becomes are the fields that values can become. Only several texts are joined.
var becomes = []choice{{"", "Other"}, {"id", "ID"}, {"title", "Title"}, {"text", "Text"}, {"tags", "Tags"}, {"url", "URL"}, {"collection", "Collection"}}

// rests are what becomes of other values.
var rests = []choice{{"metadata", "become metadata"}, {"drop", "are left out"}, {"refuse", "fail their row"}}

// delimiters are what can part the cells of a table.
var delimiters = []choice{{"", "As the first line tells"}, {",", "Comma"}, {";", "Semicolon"}, {"tab", "Tab"}, {"|", "|"}}

// comma returns the character of a delimiter; 0 for none.
func comma(delimiter string) byte {
	switch delimiter {
	case ",", ";", "|":
		return delimiter[0]
	case "tab":
		return '\t'
	default:
		return 0
	}
}

// mappingError says to a person why rows cannot become documents as a form says.
type mappingError struct{ message string }

func (e *mappingError) Error() string { return e.message }

// lacksText is the error of a mapping without a title and a text.
var lacksText = &mappingError{"Nothing is the title or the text. Choose one of them."}

// mappingSent is a mapping as a form has sent it.
type mappingSent struct {
	names, fields []string // in pairs; none if nothing was chosen
	texts         []string // the names of the texts in the order in which they were guessed
	rest, into    string
}

// sentMapping reads the form. Another delimiter makes other columns, so nothing is chosen then.
func sentMapping(v *visit) mappingSent {
	s := mappingSent{into: strings.TrimSpace(v.form.Get("into"))}
	if v.form.Get("delimiter") != v.form.Get("delimited") {
		return s
	}
	s.names, s.fields, s.rest = v.form["column"], v.form["becomes"], v.form.Get("rest")
	s.texts = strings.Split(v.form.Get("texts"), ",")
	return s
}

// guess returns the mapping of a file: what was chosen, or a guess.
func (s *mappingSent) guess(file *rowimport.File) (rowimport.Guess, error) {
	o := client.ImportOptions{Into: s.into}
	if len(s.names) == 0 || len(s.names) != len(s.fields) {
		guess, err := file.Guess(o)
		return guess, readable(err)
	}
	o.Rest = s.rest
	if err := s.choose(&o); err != nil {
		return rowimport.Guess{Options: o}, err
	}
	guess, err := file.Fixed(o)
	return guess, readable(err)
}

// choose sets the names in options.
func (s *mappingSent) choose(o *client.ImportOptions) error {
	single := map[string]*string{"id": &o.ID, "title": &o.Title, "tags": &o.Tags, "url": &o.URL, "collection": &o.Collection}
	for i, name := range s.names {
		switch to, ok := single[s.fields[i]]; {
		case s.fields[i] == "text" && strings.Contains(name, ","):
			return &mappingError{"The name “" + name + "” has a comma, so it cannot be the text. Rename it in the file."}
		case s.fields[i] == "text":
			o.Text = append(o.Text, name)
		case ok && *to != "":
			return &mappingError{"Both “" + *to + "” and “" + name + "” are the " + fieldName(s.fields[i]) + ". Choose one of them. Only texts are joined."}
		case ok:
			*to = name
		}
	}
	place := func(name string) int {
		if i := slices.Index(s.texts, name); i >= 0 {
			return i
		}
		return len(s.texts)
	}
	slices.SortStableFunc(o.Text, func(a, b string) int { return place(a) - place(b) })
	// A field that is called like its column needs no name.
	for field, to := range single {
		if *to == field {
			*to = ""
		}
	}
	if slices.Equal(o.Text, []string{"text"}) {
		o.Text = nil
	}
	return nil
}

// fieldName names a field as the form does.
func fieldName(field string) string {
	i := slices.IndexFunc(becomes, func(c choice) bool { return c.Value == field })
	if name := becomes[max(0, i)].Text; name == strings.ToUpper(name) {
		return name
	}
	return field
}

// readable makes an error of a mapping one for people.
func readable(err error) error {
	if p, ok := problem.As(err); ok {
		return &mappingError{p.Message}
	}
	return err
}

// lookAt reads the first rows of a file.
func lookAt(v *visit, in io.Reader) (*mappingForm, error) {
	delimiter := v.form.Get("delimiter")
	read := rowimport.Open
	if v.form.Get("head") == "true" {
		read = rowimport.OpenHead
	}
	file, err := read(in, comma(delimiter))
	if err != nil {
		return nil, err
	}
	sent := sentMapping(v)
	form := &mappingForm{Table: file.Columns != nil, Delimiter: delimiter, Rows: file.Sampled(), Whole: file.Whole, Into: sent.into}
	guess, err := sent.guess(file)
	if wrong, ok := errors.AsType[*mappingError](err); ok { // the form shows again what was chosen
		form.Message = wrong.Error()
		form.Rest = sent.rest
		form.list(file, func(name string) string {
			if i := slices.Index(sent.names, name); i >= 0 {
				return sent.fields[i]
			}
			return ""
		})
		return form, nil
	}
	if err != nil {
		return nil, err
	}
	form.show(file, &guess)
	return form, nil
}

// show fills in the form.
func (f *mappingForm) show(file *rowimport.File, guess *rowimport.Guess) {
	fields := map[string]string{}
	for _, c := range becomes[1:] {
		for _, name := range guess.Sources(c.Value) {
			fields[name] = c.Value
		}
	}
	f.Texts, f.Rest = strings.Join(guess.Options.Text, ","), guess.Options.Rest
	if f.Rest == "" {
		f.Rest = "refuse"
	}
	f.list(file, func(name string) string { return fields[name] })
	f.HasID = slices.ContainsFunc(f.Columns, func(c mappedName) bool { return c.Field == "id" })
	f.Documents, f.Refused, f.Refusals = file.Preview(guess, 3)
	f.Command = "keepsake documents import FILE"
	if flags := rowimport.Command(guess.Options, word); flags != "" {
		f.Command += " " + flags
	}
	if f.Into != "" {
		f.Command += " --into " + word(f.Into)
	}
	if f.Delimiter != "" {
		f.Command += " --delimiter " + word(f.Delimiter)
	}
	switch {
	case f.Rows == 0:
		f.Message = "The file has no rows."
	case guess.Lacking:
		f.Message = lacksText.Error()
	}
}

// list lists the names of a file. Those that are chosen are listed in any case.
func (f *mappingForm) list(file *rowimport.File, field func(name string) string) {
	for _, name := range file.Names() {
		c := mappedName{Name: name, Field: field(name)}
		if c.Field == "" && (name == "language" || strings.HasPrefix(name, "metadata.")) {
			c.Field, _, _ = strings.Cut(name, ".")
			c.Fixed = true
		}
		if c.Field == "" && len(f.Columns) >= maxColumns {
			f.More++
			continue
		}
		for _, value := range file.Values(name, 3) {
			c.Samples = append(c.Samples, beginning(value, 60))
		}
		f.Columns = append(f.Columns, c)
	}
}

// beginning returns the first characters of a text in one line.
func beginning(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:n])) + "…"
}

// word quotes a text for a shell if it needs that.
func word(text string) string {
	plain := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.,/:@", r)
	}) < 0
	if plain && text != "" {
		return text
	}
	return quote(text)
}

// sentence makes a sentence of an error.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

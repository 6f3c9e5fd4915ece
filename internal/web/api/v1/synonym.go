package v1

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/search/collection"
)

// A row of synonyms has one of three forms in JSON: an array of words, an object with from and to, or the name of a list.

// synonymsOf reads a list of rows, or a string that stands for a list of this one row.
func synonymsOf(value wire.Value) ([]collection.Synonym, error) {
	switch value.Kind() {
	case 0, 'n':
		return nil, nil
	case '"':
		row, err := synonymOf("synonyms", value)
		return []collection.Synonym{row}, err
	case '[':
	default:
		return nil, problem.Validation("synonyms", problem.Type, `synonyms must be an array of rows, or "english".`)
	}
	rows, err := valuesOf(value)
	if err != nil {
		return nil, err
	}
	list := make([]collection.Synonym, len(rows))
	for i, row := range rows {
		if list[i], err = synonymOf(item("synonyms", i), row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// synonymOf reads a row. field names it in errors.
func synonymOf(field string, row wire.Value) (s collection.Synonym, err error) {
	switch row.Kind() {
	case '"':
		if s.List, err = wordOf(field, row); err == nil && s.List == "" {
			s.List = " " // no list has this name
		}
		return s, err
	case '[':
		s.Words, err = wordsOf(field, row)
		return s, err
	case '{':
		return ruleOf(field, row)
	default:
		return s, problem.Validation(field, problem.Type, field+` must be an array of words, an object with from and to, or "english".`)
	}
}

func ruleOf(field string, row wire.Value) (s collection.Synonym, err error) {
	members := map[string]wire.Value{}
	if err := json.Unmarshal(row, &members); err != nil {
		return s, fmt.Errorf("read a synonym: %w", err)
	}
	s.To = []string{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		of := field + "." + name
		switch {
		case name != "from" && name != "to":
			return s, problem.Validation(of, problem.Unknown, "A row of synonyms that is an object has the fields from and to.")
		case value.Kind() == 'n': // absent
		case name == "from":
			s.From, err = wordOf(of, value)
		default:
			s.To, err = wordsOf(of, value)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func wordsOf(field string, value wire.Value) ([]string, error) {
	if value.Kind() != '[' {
		return nil, problem.Validation(field, problem.Type, field+" must be an array of words.")
	}
	values, err := valuesOf(value)
	if err != nil {
		return nil, err
	}
	words := make([]string, len(values))
	for i, v := range values {
		if words[i], err = wordOf(item(field, i), v); err != nil {
			return nil, err
		}
	}
	return words, nil
}

func wordOf(field string, value wire.Value) (word string, err error) {
	if value.Kind() != '"' {
		return "", problem.Validation(field, problem.Type, field+" must be a string.")
	}
	if err := json.Unmarshal(value, &word); err != nil {
		return "", fmt.Errorf("read a word: %w", err)
	}
	return word, nil
}

func valuesOf(array wire.Value) (values []wire.Value, err error) {
	if err := json.Unmarshal(array, &values); err != nil {
		return nil, fmt.Errorf("read an array: %w", err)
	}
	return values, nil
}

// viewOfSynonym writes a row.
func viewOfSynonym(s *collection.Synonym) wire.Value {
	var row any = s.Words
	switch {
	case s.List != "":
		row = s.List
	case s.From != "":
		row = struct {
			From string   `json:"from"`
			To   []string `json:"to"`
		}{s.From, s.To}
	}
	text, err := json.Marshal(row)
	if err != nil {
		panic(err) // a string that is valid UTF-8 has a form in JSON
	}
	return jsontext.Value(text)
}

package collection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
)

// Limits of settings.
const (
	MaxSynonyms = 1_000  // rows of a collection
	MaxRows     = 20_000 // rows of all collections of a workspace, which searches keep in memory
	MaxEntries  = 10     // of a group, and of the end of a rule
	MaxEntry    = 128    // characters
	MaxMetadata = 8      // searched metadata entries
	MaxWeight   = 100
)

var rules = field.Rules{MaxEntry: MaxEntry}

// CheckName validates the name of a collection that is written.
func CheckName(name string) error {
	if field.Blank(name) {
		return problem.Validation("collection", problem.Required, "collection must not be blank.")
	}
	return rules.String("collection", name, document.MaxCollection)
}

// Check validates settings. An error names the field.
func (s *Settings) Check() error {
	if err := document.CheckLanguage(s.Language); err != nil {
		return err
	}
	if len(s.Synonyms) > MaxSynonyms {
		return problem.Validation("synonyms", problem.TooLong, fmt.Sprintf("synonyms must have at most %d rows.", MaxSynonyms))
	}
	for i := range s.Synonyms {
		if err := s.Synonyms[i].check(fmt.Sprintf("synonyms[%d]", i)); err != nil {
			return err
		}
	}
	return s.checkFields()
}

// check validates a row, which field names.
func (s *Synonym) check(field string) error {
	switch {
	case s.List == English:
		return nil
	case s.List != "":
		return problem.Validation(field, problem.NotAllowed, field+` must be an array of words, an object with from and to, or "english".`)
	case s.From != "" || s.To != nil:
		if err := checkEntry(field+".from", s.From); err != nil {
			return err
		}
		return checkEntries(field+".to", s.To, 1)
	default:
		return checkEntries(field, s.Words, 2)
	}
}

func checkEntries(field string, entries []string, least int) error {
	switch {
	case len(entries) < least:
		return problem.Validation(field, problem.TooShort, fmt.Sprintf("%s must have at least %d entries.", field, least))
	case len(entries) > MaxEntries:
		return problem.Validation(field, problem.TooLong, fmt.Sprintf("%s must have at most %d entries.", field, MaxEntries))
	}
	for i, entry := range entries {
		if err := checkEntry(fmt.Sprintf("%s[%d]", field, i), entry); err != nil {
			return err
		}
	}
	return nil
}

// checkEntry validates a word, or several words that are next to each other.
func checkEntry(name, entry string) error {
	if field.Blank(entry) {
		return problem.Validation(name, problem.Required, name+" must not be blank.")
	}
	if err := rules.String(name, entry, MaxEntry); err != nil {
		return err
	}
	hasWord := false
	text.Split(entry, func(sp text.Spelling) bool {
		word, _ := text.Form(sp.Word)
		hasWord = word != ""
		return !hasWord
	})
	if !hasWord {
		return problem.Validation(name, problem.InvalidVal, name+" must contain a letter or a digit.")
	}
	return nil
}

func (s *Settings) checkFields() error {
	if s.Fields == nil {
		return nil
	}
	if len(s.Fields) == 0 {
		return problem.Validation("fields", problem.TooShort, "fields must name at least one field, such as title or text.")
	}
	metadata := 0
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		of := "fields." + name
		entry, isMetadata := strings.CutPrefix(name, Metadata)
		if name != Title && name != Text && (!isMetadata || field.Blank(entry)) {
			return problem.Validation(of, problem.Unknown, "fields can name title, text, and entries of metadata, such as metadata.author.")
		}
		if isMetadata {
			if metadata++; utf8.RuneCountInString(entry) > document.MaxEntry {
				return problem.Validation("fields", problem.TooLong, fmt.Sprintf("The name of a metadata entry must have at most %d characters.", document.MaxEntry))
			}
			if strings.ContainsRune(entry, 0) {
				return problem.Validation("fields", problem.Format, "The name of a metadata entry must not contain the character U+0000.")
			}
		}
		switch weight := s.Fields[name]; {
		case !(weight > 0):
			return problem.Validation(of, problem.TooSmall, "The weight of a field must be greater than 0. Leave out a field that is not to be searched.")
		case weight > MaxWeight:
			return problem.Validation(of, problem.TooLargeVal, fmt.Sprintf("The weight of a field must be at most %d.", MaxWeight))
		}
	}
	if metadata > MaxMetadata {
		return problem.Validation("fields", problem.TooLong, fmt.Sprintf("fields must name at most %d metadata entries.", MaxMetadata))
	}
	return nil
}

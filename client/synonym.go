package client

import (
	"encoding/json"
	"strings"
)

// Synonym is a row of synonyms: Words, or From with To, or List.
type Synonym struct {
	Words []string // each also finds the others
	From  string   // also finds To
	To    []string
	List  string // english: the server's own list
}

// ParseSynonym reads a row as people write it: "sofa, couch", "tv => television, telly", or "english". It does not check the words.
func ParseSynonym(row string) Synonym {
	from, to, isRule := strings.Cut(row, "=>")
	switch words := entriesOf(from); {
	case isRule:
		return Synonym{From: strings.TrimSpace(from), To: entriesOf(to)}
	case len(words) == 1 && words[0] == "english":
		return Synonym{List: words[0]}
	default:
		return Synonym{Words: words}
	}
}

func entriesOf(list string) []string {
	entries := []string{}
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// String writes a row as ParseSynonym reads it.
func (s Synonym) String() string {
	switch {
	case s.List != "":
		return s.List
	case s.From != "":
		return s.From + " => " + strings.Join(s.To, ", ")
	default:
		return strings.Join(s.Words, ", ")
	}
}

type synonymRule struct {
	From string   `json:"from"`
	To   []string `json:"to"`
}

// MarshalJSON writes an array, an object, or the name of a list.
func (s Synonym) MarshalJSON() ([]byte, error) {
	switch {
	case s.List != "":
		return json.Marshal(s.List)
	case s.From != "" || s.To != nil:
		return json.Marshal(synonymRule{s.From, s.To})
	default:
		return json.Marshal(s.Words)
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Synonym) UnmarshalJSON(text []byte) error {
	*s = Synonym{}
	switch text[0] {
	case '"':
		return json.Unmarshal(text, &s.List)
	case '{':
		var rule synonymRule
		err := json.Unmarshal(text, &rule)
		s.From, s.To = rule.From, rule.To
		return err
	default:
		return json.Unmarshal(text, &s.Words)
	}
}

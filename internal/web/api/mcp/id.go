package mcp

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/wire"
)

// FindIDs returns the ids of the messages in a text, even if it is not valid JSON, so that an error can be answered under the id
// that the sender waits for. A batch has several.
func FindIDs(text []byte) []wire.Value {
	var s IDScanner
	s.Scan(text)
	if ids := s.IDs(); ids != nil {
		return ids
	}
	if id := lastID(text); id != nil {
		return []wire.Value{id}
	}
	return nil
}

// lastID returns the id in a text in which brackets or quotes are missing. It is the last member with that name, because an id before
// the place that is broken would have been found.
func lastID(text []byte) wire.Value {
	for range 100 { // names; so that no text takes long
		at := bytes.LastIndex(text, []byte("id"))
		if at < 0 {
			return nil
		}
		rest := text[at : at+min(len(text)-at, 2*maxID)]
		text = text[:at]
		if match := idMember.FindSubmatch(rest); match != nil && !endsInLetter(text) {
			if id := idOf(match[1]); id != nil {
				return id
			}
		}
	}
	return nil
}

var idMember = regexp.MustCompile(`^id["']?\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*)`)

func endsInLetter(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// IDScanner finds the ids of messages in a text that arrives in parts, of which it keeps only what can be an id. An id is a string
// or a number, and a member of an object that is not inside another object.
type IDScanner struct {
	found []wire.Value

	objects         int    // that are open
	identified      bool   // the outermost object has an id
	quoted, escaped bool   // in a string
	token           []byte // that is being read; at most maxID bytes of it
	last            []byte // token before
	name            []byte // of the member whose value follows
}

const (
	maxID  = 4096 // bytes of an id
	maxIDs = 1000 // ids of a text
)

// Scan reads the next part of the text.
func (s *IDScanner) Scan(part []byte) {
	for _, c := range part {
		switch {
		case s.quoted:
			s.keep(c)
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				s.quoted = false
				s.endToken()
			}
		case c == '"':
			s.endToken()
			s.keep(c)
			s.quoted = true
		case strings.IndexByte("{}[]:, \t\r\n", c) >= 0:
			s.endToken()
			s.structure(c)
		default:
			s.keep(c)
		}
	}
}

// IDs returns the ids of the whole text.
func (s *IDScanner) IDs() []wire.Value {
	s.endToken()
	return s.found
}

func (s *IDScanner) structure(c byte) {
	switch c {
	case ':':
		s.name, s.last = s.last, nil
	case '{':
		s.objects++
		s.name = nil
		s.identified = s.identified && s.objects > 1
	case '}':
		s.objects = max(0, s.objects-1)
		s.name = nil
	case '[', ']', ',':
		s.name, s.last = nil, nil
	}
}

func (s *IDScanner) keep(c byte) {
	if len(s.token) <= maxID {
		s.token = append(s.token, c)
	}
}

// endToken takes a complete token, which is a value or the name of a member.
func (s *IDScanner) endToken() {
	if len(s.token) == 0 {
		return
	}
	if s.objects == 1 && !s.identified && isID(s.name) && len(s.found) < maxIDs {
		if id := idOf(s.token); id != nil {
			s.found, s.identified = append(s.found, id), true
		}
	}
	s.last, s.name, s.token = bytes.Clone(s.token), nil, s.token[:0]
}

// isID reports whether the name of a member is id. Its quotes can be missing.
func isID(name []byte) bool {
	text, ok := stringOf(wire.Value(name))
	return ok && text == "id" || string(name) == "id" || string(name) == "'id'"
}

// idOf returns a token as an id that a response can contain; nil if it is none. Parts of a string that are not Unicode become U+FFFD.
func idOf(token []byte) wire.Value {
	id := wire.Value(token)
	switch {
	case len(id) > maxID:
		return nil
	case id.Kind() == '0' && id.IsValid():
		return bytes.Clone(id)
	case id.Kind() != '"':
		return nil
	}
	var text string
	if err := json.Unmarshal(id, &text, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil
	}
	return encoded(text)
}

package main

import (
	"bufio"
	"bytes"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// flattener reads lines of JSON and flattens their metadata: the members of nested objects get names with dots, and a list becomes
// its JSON text. Lines that it cannot flatten stay as they are, so that the server says what is wrong with them.
type flattener struct {
	in   *bufio.Reader
	line []byte // not read yet
	err  error
}

// longestFlattened is the length from which a line is passed on unread. The client refuses longer lines.
const longestFlattened = 34 << 20

func newFlattener(in io.Reader) *flattener { return &flattener{in: bufio.NewReaderSize(in, 64<<10)} }

func (f *flattener) Read(p []byte) (int, error) {
	for len(f.line) == 0 && f.err == nil {
		f.next()
	}
	if len(f.line) == 0 {
		return 0, f.err
	}
	n := copy(p, f.line)
	f.line = f.line[n:]
	return n, nil
}

func (f *flattener) next() {
	var line []byte
	for {
		piece, err := f.in.ReadSlice('\n')
		line = append(line, piece...)
		if err == bufio.ErrBufferFull && len(line) < longestFlattened {
			continue
		}
		if err != bufio.ErrBufferFull {
			f.err = err
		}
		break
	}
	f.line = flattened(line)
}

// flattened returns a line with flat metadata.
func flattened(line []byte) []byte {
	members := map[string]jsontext.Value{}
	if !bytes.Contains(line, []byte(`"metadata"`)) || json.Unmarshal(line, &members) != nil {
		return line
	}
	changed := flattenMetadata(members)
	var history []map[string]jsontext.Value
	if json.Unmarshal(members["history"], &history) == nil {
		nested := false
		for _, revision := range history {
			nested = flattenMetadata(revision) || nested
		}
		if nested {
			members["history"], changed = encoded(history), true
		}
	}
	if !changed {
		return line
	}
	return append(encoded(members), '\n')
}

// flattenMetadata flattens the metadata of a revision and reports whether it was nested.
func flattenMetadata(of map[string]jsontext.Value) bool {
	var metadata map[string]jsontext.Value
	if json.Unmarshal(of["metadata"], &metadata) != nil {
		return false
	}
	nested := false
	for _, value := range metadata {
		nested = nested || value.Kind() == '{' || value.Kind() == '['
	}
	flat := map[string]jsontext.Value{}
	for name, value := range metadata {
		if !nested || !flatten(name, value, flat) {
			return false
		}
	}
	if nested {
		of["metadata"] = encoded(flat)
	}
	return nested
}

// flatten adds a value to flat. It reports false if two values would get the same name.
func flatten(name string, value jsontext.Value, flat map[string]jsontext.Value) bool {
	switch value.Kind() {
	case 'n':
		return true
	case '{':
		var members map[string]jsontext.Value
		if json.Unmarshal(value, &members) != nil {
			return false
		}
		for member, inner := range members {
			if !flatten(name+"."+member, inner, flat) {
				return false
			}
		}
		return true
	case '[':
		_ = value.Compact() // it is valid
		value = encoded(string(value))
	}
	_, taken := flat[name]
	flat[name] = value
	return !taken
}

// encoded encodes what was decoded before, with sorted names.
func encoded(v any) jsontext.Value {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // strings and valid values can be encoded
	}
	return text
}

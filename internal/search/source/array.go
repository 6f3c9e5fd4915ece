package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/problem"
)

// newArrayReader reads the elements of a JSON array. within is whether the array is in an object: then it is the first member that is an
// array of objects.
func newArrayReader(in io.Reader, within bool) (*Reader, error) {
	// Texts and names that are wrong fail with their row.
	dec := jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	if within {
		if err := enterArray(dec); err != nil {
			return nil, err
		}
	}
	number := int64(0)
	return &Reader{next: func() (Row, error) {
		switch dec.PeekKind() {
		case ']':
			if within {
				return Row{}, io.EOF // what follows the array is no row
			}
			if _, err := dec.ReadToken(); err != nil {
				return Row{}, notJSON(err)
			}
			if _, err := dec.ReadToken(); err != io.EOF {
				return Row{}, errors.New("there is text after the JSON array")
			}
			return Row{}, io.EOF
		case 0:
			_, err := dec.ReadToken()
			return Row{}, fmt.Errorf("read element %d: %w", number+1, notJSON(err))
		}
		number++
		value, err := dec.ReadValue()
		if err != nil {
			return Row{}, fmt.Errorf("read element %d: %w", number, notJSON(err))
		}
		value = value.Clone()
		if err := value.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return Row{}, fmt.Errorf("read element %d: %w", number, notJSON(err))
		}
		row := Row{Line: number}
		if len(value) > MaxRow {
			row.Err = problem.Validation("body", problem.TooLong, fmt.Sprintf("An element must have at most %d bytes.", MaxRow))
			return row, nil
		}
		return row.of(value), nil
	}}, nil
}

// hasArray reports whether the beginning of an object has an array of objects.
func hasArray(text []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, err := dec.ReadToken()
	return err == nil && enterArray(dec) == nil
}

// enterArray reads an object up to the beginning of its first array of objects.
func enterArray(dec *jsontext.Decoder) error {
	for {
		if dec.PeekKind() == '}' {
			return errors.New("the file is one JSON object without an array of objects; it must be an array, or have one object per line")
		}
		if _, err := dec.ReadToken(); err != nil { // the name
			return notJSON(err)
		}
		if dec.PeekKind() != '[' {
			if err := dec.SkipValue(); err != nil {
				return notJSON(err)
			}
			continue
		}
		if _, err := dec.ReadToken(); err != nil {
			return notJSON(err)
		}
		if dec.PeekKind() == '{' {
			return nil
		}
		for dec.PeekKind() != ']' {
			if err := dec.SkipValue(); err != nil {
				return notJSON(err)
			}
		}
		if _, err := dec.ReadToken(); err != nil {
			return notJSON(err)
		}
	}
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON is cut off")
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("the file is not valid JSON at byte %d", syntax.ByteOffset+1)
	}
	return err
}

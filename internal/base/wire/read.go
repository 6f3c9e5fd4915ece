package wire

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Items decodes lists of one type item by item. EachOf creates one.
type Items func(*arrival) *json.Unmarshalers

// EachOf returns Items for lists of E. add appends what it decodes from the text of an item. The text is only valid
// during the call.
func EachOf[E any](add func(list []E, text []byte) []E) Items {
	return func(a *arrival) *json.Unmarshalers {
		return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, list *[]E) error {
			if dec.PeekKind() != '[' {
				return errors.ErrUnsupported // the decoder explains what is wrong
			}
			*list = []E{}
			return a.eachOf(dec, func(text []byte) { *list = add(*list, text) })
		})
	}
}

// surrogates accepts unpaired surrogates in items, which then fail alone. Texts with it are checked to be UTF-8 otherwise.
var surrogates = jsontext.AllowInvalidUTF8(true)

// Array returns the values of a JSON array. They are syntactically correct, but otherwise not checked: Decode does that for each.
func Array(data []byte) ([]Value, error) {
	data = bytes.TrimPrefix(data, ByteOrderMark)
	if blank(data) {
		return nil, errEmpty
	}
	var list []Value
	if looks := encodingOf(data); looks != "" {
		return nil, notUTF8("body", looks)
	}
	if err := json.Unmarshal(data, &list, jsontext.AllowDuplicateNames(true), surrogates); err != nil {
		return nil, explain(err, &list, place{what: "body", text: data, at: positionIn(data)})
	}
	if list == nil {
		return nil, errNoArray
	}
	return list, nil
}

// DecodeRead is Decode for a text that is decoded while it arrives. Lists of one type are decoded item by item, so that
// only one item is in memory. rest is the text without the items of these lists.
//
// After an error, DecodeRead reads in to its end, and an error of in takes precedence. So the error does not depend on
// how far the text was read.
func DecodeRead(in io.Reader, v any, items Items) (rest []byte, err error) {
	a := &arrival{followed: followed{in: withoutMark(in)}}
	err = json.UnmarshalRead(a, v, strict, surrogates, json.WithUnmarshalers(items(a)))
	_, _ = io.Copy(io.Discard, &a.followed)
	whole := bytes.ToValidUTF8(a.rest, nil) // it can end within a character
	read := place{what: "body", text: whole, at: a.position}
	switch {
	case a.err != io.EOF:
		return nil, a.err
	case !a.some:
		return nil, errEmpty
	case a.encoding() != "":
		return nil, notUTF8("body", a.encoding())
	case a.brackets.tooDeep:
		return nil, errTooDeep
	case errors.Is(err, jsontext.ErrDuplicateName):
		return nil, explain(cmp.Or(a.again(v, items), err), v, read)
	case err != nil:
		return nil, explain(err, v, read)
	}
	if offset := unpairedSurrogate(a.rest); offset >= 0 {
		return nil, surrogateIn(locate(v, ""), read, offset)
	}
	return a.rest, nil
}

// withoutMark returns a reader that passes over a byte order mark.
func withoutMark(in io.Reader) io.Reader {
	first := make([]byte, len(ByteOrderMark))
	n, err := io.ReadFull(in, first)
	begin := bytes.NewReader(bytes.TrimPrefix(first[:n], ByteOrderMark))
	switch {
	case err == nil:
		return io.MultiReader(begin, in)
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return begin
	default:
		return io.MultiReader(begin, failing{err})
	}
}

// failing is a reader that returns an error.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// arrival is a text on its way to the decoder. It stores what was read of it, without the items that were decoded.
type arrival struct {
	followed
	rest  []byte
	gone  int64 // bytes of the text that are no longer in rest
	from  int   // where in rest the items of the current list begin
	taken int64 // offset in the text up to which items were decoded
	lines int64 // line ends in the removed text
	ended int64 // the offset after the last of them
	count int   // number of removed items
}

// Read reads more text. The decoder has consumed nearly all of the text before, so little must be moved.
func (a *arrival) Read(p []byte) (int, error) {
	a.forget()
	n, err := a.followed.Read(p)
	if a.brackets.tooDeep {
		return 0, errTooDeep // the decoder need not continue
	}
	a.rest = append(a.rest, p[:n]...)
	return n, err
}

// forget removes the decoded items from rest.
func (a *arrival) forget() {
	if end := int(a.taken - a.gone); end > a.from {
		taken := a.rest[a.from:end]
		if last := bytes.LastIndexByte(taken, '\n'); last >= 0 {
			a.lines += int64(bytes.Count(taken, []byte{'\n'}))
			a.ended = a.gone + int64(a.from+last) + 1
		}
		a.rest = slices.Delete(a.rest, a.from, end)
		a.gone = a.taken - int64(a.from)
	}
}

// position returns the line and column of an offset after the removed items.
func (a *arrival) position(offset int64) position {
	before := a.rest[:max(0, min(offset-a.gone, int64(len(a.rest))))]
	begin := a.ended
	if last := bytes.LastIndexByte(before, '\n'); last >= 0 {
		if at := int64(last) + 1; last >= a.from {
			begin = a.gone + at
		} else if a.lines == 0 {
			begin = at // before the items, so no text was removed before it
		}
	}
	return position{line: int64(bytes.Count(before, []byte{'\n'})) + a.lines + 1, column: offset - begin + 1}
}

// eachOf calls take for each item of a list.
func (a *arrival) eachOf(dec *jsontext.Decoder, take func(text []byte)) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	a.taken = dec.InputOffset()
	a.from = int(a.taken - a.gone)
	for dec.PeekKind() != ']' {
		text, err := dec.ReadValue()
		if err != nil {
			return err
		}
		take(text)
		a.taken = dec.InputOffset()
		a.count++
	}
	a.forget()
	a.count = 0
	_, err := dec.ReadToken()
	return err
}

// again decodes what was read up to a duplicate member, as one text with zeros for the removed items. The library
// reports a wrong name for a duplicate member after text has moved in its buffer.
func (a *arrival) again(v any, items Items) error {
	a.forget()
	taken := bytes.TrimSuffix(bytes.Repeat([]byte("0,"), a.count), []byte(","))
	text := slices.Concat(a.rest[:a.from], taken, a.rest[a.from:])
	alike := reflect.New(reflect.TypeOf(v).Elem()).Interface()
	return json.Unmarshal(text, alike, strict, surrogates, json.WithUnmarshalers(items(&arrival{rest: slices.Clone(text)})))
}

// followed observes a text while it is read.
type followed struct {
	in       io.Reader
	some     bool // there is more than white space
	brackets brackets
	invalid  bool   // it is not UTF-8
	cut      []byte // the beginning of a character whose end was not read yet
	begin    []byte // the first bytes, which encodingOf looks at
	err      error  // the error at its end
}

// Read implements io.Reader.
func (f *followed) Read(p []byte) (n int, err error) {
	if f.err != nil {
		return 0, f.err
	}
	n, f.err = f.in.Read(p)
	f.some = f.some || !blank(p[:n])
	f.brackets.follow(p[:n])
	f.validate(p[:n])
	return n, f.err
}

// validate checks that the text is UTF-8, of which part is the next part.
func (f *followed) validate(part []byte) {
	f.begin = append(f.begin, part[:min(len(part), encodingSample-len(f.begin))]...)
	if f.invalid {
		return
	}
	whole := part
	if len(f.cut) > 0 {
		whole = slices.Concat(f.cut, part)
	}
	end := len(whole)
	for i := end - 1; i >= 0 && i >= end-utf8.UTFMax+1; i-- {
		if utf8.RuneStart(whole[i]) {
			if !utf8.FullRune(whole[i:]) {
				end = i
			}
			break
		}
	}
	f.cut = slices.Clone(whole[end:])
	f.invalid = !utf8.Valid(whole[:end])
}

// encoding is encodingOf for a text that was read to its end.
func (f *followed) encoding() string {
	if looks := looksAtBegin(f.begin); looks != "" || !f.invalid && len(f.cut) == 0 {
		return looks
	}
	return otherBytes
}

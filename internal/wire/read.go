package wire

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Items reads lists of one type item by item. EachOf makes one.
type Items func(*arrival) *json.Unmarshalers

// EachOf reads lists of E: add gives list with what it makes of an item's text, which is good until add returns.
func EachOf[E any](add func(list []E, text []byte) []E) Items {
	return func(a *arrival) *json.Unmarshalers {
		return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, list *[]E) error {
			if dec.PeekKind() != '[' {
				return errors.ErrUnsupported // whatever it is, the decoder says what is wrong with it
			}
			*list = []E{}
			return a.eachOf(dec, func(text []byte) { *list = add(*list, text) })
		})
	}
}

// DecodeRead is Decode for a text that is read as it arrives. Lists of one type are decoded item by item, so that only one
// item is in memory. rest is the text without the items of these lists.
//
// If there is an error, in is read to its end first, and an error of in comes before any other. So the error does not depend
// on how far the text was read.
func DecodeRead(in io.Reader, v any, items Items) (rest []byte, err error) {
	a := &arrival{followed: followed{in: in}}
	err = json.UnmarshalRead(a, v, strict, json.WithUnmarshalers(items(a)))
	_, _ = io.Copy(io.Discard, &a.followed)
	switch {
	case a.err != io.EOF:
		return nil, a.err
	case !a.some:
		return nil, errEmpty
	case a.brackets.tooDeep:
		return nil, errTooDeep
	case errors.Is(err, jsontext.ErrDuplicateName):
		return nil, explain(cmp.Or(a.again(v, items), err), v, a.position)
	case err != nil:
		return nil, explain(err, v, a.position)
	}
	return a.rest, nil
}

// arrival is a text under way to the decoder. It keeps what was read of it, without the items that were taken.
type arrival struct {
	followed
	rest  []byte
	gone  int64 // bytes of the text that are not in rest any more
	from  int   // where in rest the items of the list begin that is being read
	taken int64 // up to where in the text they were taken
	lines int64 // line ends in what is gone
	ended int64 // the offset behind the last of them
	count int   // how many
}

// Read reads on. The decoder has seen nearly all of what came before, so little is left to be moved.
func (a *arrival) Read(p []byte) (int, error) {
	a.forget()
	n, err := a.followed.Read(p)
	if a.brackets.tooDeep {
		return 0, errTooDeep // the decoder need not go there
	}
	a.rest = append(a.rest, p[:n]...)
	return n, err
}

// forget drops the items that were taken.
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

// position gives the line and column of an offset behind the items that are gone.
func (a *arrival) position(offset int64) position {
	before := a.rest[:max(0, min(offset-a.gone, int64(len(a.rest))))]
	begin := a.ended
	if last := bytes.LastIndexByte(before, '\n'); last >= 0 {
		if at := int64(last) + 1; last >= a.from {
			begin = a.gone + at
		} else if a.lines == 0 {
			begin = at // before the items, so that nothing is gone in front of it
		}
	}
	return position{line: int64(bytes.Count(before, []byte{'\n'})) + a.lines + 1, column: offset - begin + 1}
}

// eachOf takes the items of a list.
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

// again decodes what was read until a member came twice, as one text and with zeros for the items that were taken: the
// library mistakes one name for another in its account of where that was when text has moved in its buffer.
func (a *arrival) again(v any, items Items) error {
	a.forget()
	taken := bytes.TrimSuffix(bytes.Repeat([]byte("0,"), a.count), []byte(","))
	text := slices.Concat(a.rest[:a.from], taken, a.rest[a.from:])
	alike := reflect.New(reflect.TypeOf(v).Elem()).Interface()
	return json.Unmarshal(text, alike, strict, json.WithUnmarshalers(items(&arrival{rest: slices.Clone(text)})))
}

// followed is a text that is looked at while it is read.
type followed struct {
	in       io.Reader
	some     bool // there is more than white space
	brackets brackets
	err      error // what it ended with
}

// Read reads on.
func (f *followed) Read(p []byte) (n int, err error) {
	if f.err != nil {
		return 0, f.err
	}
	n, f.err = f.in.Read(p)
	f.some = f.some || !blank(p[:n])
	f.brackets.follow(p[:n])
	return n, f.err
}

package endpoint

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
)

// MediaLines is the type of a list that is sent as one JSON value a line.
const MediaLines = "application/x-ndjson"

// Accept is the header Accept, as an operation declares it that can answer in lines:
//
//	Accept endpoint.Accept `header:"Accept"`
type Accept string

// Lines reports whether the caller asks for lines by their name. Whoever takes anything gets JSON.
func (a Accept) Lines() bool {
	for one := range strings.SplitSeq(string(a), ",") {
		media, params, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(media), MediaLines) {
			continue
		}
		weight, weighted := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		return !weighted || strings.Trim(weight, "0.") != ""
	}
	return false
}

// isLines reports whether t is iter.Seq2[*T, error], and says what T is.
func isLines(t reflect.Type) (item reflect.Type, ok bool) {
	if t.Kind() != reflect.Func || !t.CanSeq2() {
		return nil, false
	}
	yield := t.In(0)
	if yield.In(0).Kind() != reflect.Pointer || yield.In(1) != reflect.TypeFor[error]() {
		return nil, false
	}
	return yield.In(0).Elem(), true
}

// encodeLines encodes what a Lines field yields, item by item; a line is good until the next one is asked for.
func (o *output) encodeLines(lines reflect.Value) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var line []byte
		for item, failed := range lines.Seq2() {
			if err, _ := failed.Interface().(error); err != nil {
				yield(nil, err)
				return
			}
			var err error
			if line, err = o.lines.append(line[:0], item.Elem()); err != nil {
				yield(nil, fmt.Errorf("encode %s: %w", o.lines.typ, err))
				return
			}
			line = append(line, '\n')
			if !yield(line, nil) {
				return
			}
		}
	}
}

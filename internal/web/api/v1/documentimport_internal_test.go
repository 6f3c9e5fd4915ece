package v1

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/document"
	"keepsake/internal/web/endpoint"
)

func plainly() readLine {
	decoder := endpoint.NewDecoder[newDocument]()
	return func(number int, text []byte) document.Line { return documentLine(decoder, number, text) }
}

func allLines(t *testing.T, body io.Reader) []document.Line {
	t.Helper()
	var all []document.Line
	for next := documentLines(body, plainly()); ; {
		line, ok, err := next()
		if err != nil {
			t.Fatalf("after %d lines: %v", len(all), err)
		}
		if !ok {
			return all
		}
		all = append(all, line)
	}
}

// Whatever bytes come, in whatever pieces: every line that is not blank is handed over once, with its number, and is
// either a document or a 400.
func FuzzDocumentLines(f *testing.F) {
	for _, s := range []string{"", "\n\n", `{"text":"x"}`, "{\"id\":\"a\",\"text\":\"x\"}\r\n\n{}\n[", "\xff\n{\"text\":null}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole := allLines(t, bytes.NewReader(body))
		pieces := allLines(t, iotest.OneByteReader(bytes.NewReader(body)))
		var numbers []int
		for i, line := range bytes.Split(body, []byte("\n")) {
			if len(bytes.TrimSpace(line)) > 0 {
				numbers = append(numbers, i+1)
			}
		}
		if len(whole) != len(numbers) || len(pieces) != len(numbers) {
			t.Fatalf("%d lines, %d in pieces, want %d", len(whole), len(pieces), len(numbers))
		}
		for i, line := range whole {
			if line.Number != numbers[i] || pieces[i].Number != numbers[i] || (line.Err == nil) != (pieces[i].Err == nil) {
				t.Fatalf("line %d is %+v, in pieces %+v, want number %d", i, line, pieces[i], numbers[i])
			}
			if p, ok := problem.As(line.Err); line.Err != nil && (!ok || p.Kind != problem.Invalid) {
				t.Fatalf("line %d failed with %v", numbers[i], line.Err)
			}
		}
	})
}

func TestALineOfAnyLengthEndsWhereItEnds(t *testing.T) {
	t.Parallel()
	fits := `{"text":"` + strings.Repeat(`\u0078`, 262_144) + `"}`
	over := `{"text":"` + strings.Repeat(`x`, maxLine) + `"}`
	all := allLines(t, strings.NewReader("\xef\xbb\xbf"+strings.Join([]string{fits, over, `{"text":"x"}`, over}, "\n")))
	if len(all) != 4 || all[0].Err != nil || len(all[0].Fields.Text) != 262_144 || all[2].Err != nil {
		t.Fatalf("got %d lines, the first %v, the third %v", len(all), all[0].Err, all[2].Err)
	}
	for _, line := range []document.Line{all[1], all[3]} {
		if p, ok := problem.As(line.Err); !ok || p.Details.Issue != problem.TooLong {
			t.Errorf("line %d: %v, want too long", line.Number, line.Err)
		}
	}
}

func TestABrokenBodyIsNotALine(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	next := documentLines(io.MultiReader(strings.NewReader("{\"text\":\"x\"}\n{\"text\":\"y"), iotest.ErrReader(broken)),
		plainly())
	if _, ok, err := next(); !ok || err != nil {
		t.Fatalf("the first line: %v, %v", ok, err)
	}
	if _, _, err := next(); !errors.Is(err, broken) {
		t.Errorf("the broken line: %v", err)
	}
}

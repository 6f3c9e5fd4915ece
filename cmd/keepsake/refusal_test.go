package main

import (
	"slices"
	"testing"

	"keepsake/client"
)

func TestAReasonIsPrintedOnce(t *testing.T) {
	t.Parallel()
	missing := func(line int64) client.ImportError {
		return client.ImportError{Line: line, Field: "subjectId", Issue: "required", Message: "subjectId is required."}
	}
	unknown := func(line int64, name string) client.ImportError {
		return client.ImportError{Line: line, Field: "body", Issue: "format", Message: "The value " + name + " is unknown."}
	}
	for name, test := range map[string]struct {
		in   client.Import
		want []string
	}{
		"none": {client.Import{}, nil},
		"one":  {client.Import{Errors: []client.ImportError{missing(3)}}, []string{"line 3: subjectId is required. (subjectId: required)"}},
		"alike": {
			client.Import{Errors: []client.ImportError{missing(1), missing(2), missing(7)}},
			[]string{"line 1 and 2 more lines: subjectId is required. (subjectId: required)"},
		},
		"in the order of the file": {
			client.Import{Errors: []client.ImportError{unknown(1, "a"), missing(2), unknown(3, "b"), missing(4), unknown(5, "a")}},
			[]string{
				"line 1 and 1 more line: The value a is unknown. (body: format)",
				"line 2 and 1 more line: subjectId is required. (subjectId: required)",
				"line 3: The value b is unknown. (body: format)",
			},
		},
		"more than their messages": {
			client.Import{
				Errors: []client.ImportError{missing(1), unknown(2, "a"), unknown(3, "b")},
				Issues: []client.ImportIssue{{Field: "subjectId", Issue: "required", Count: 250}, {Field: "body", Issue: "format", Count: 5}, {Field: "text", Issue: "too_long", Count: 1}},
			},
			[]string{
				"line 1 and 249 more lines: subjectId is required. (subjectId: required)",
				"line 2: The value a is unknown. (body: format)",
				"line 3: The value b is unknown. (body: format)",
				"3 more lines: body: format",
				"1 more line: text: too_long",
			},
		},
	} {
		if got := refusals(&test.in); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

package field_test

import (
	"strings"
	"testing"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
)

func TestWhatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	sealed := field.Rules{MaxTags: 2, MaxTag: 3, MaxMetadata: 2, MaxEntry: 4}
	lists := sealed
	lists.MaxElements = 3
	for _, c := range []struct {
		name  string
		err   error
		field string // empty: nothing is wrong
		issue problem.Issue
	}{
		{"tags", sealed.Tags("tags", []string{"äöü", "b"}), "", ""},
		{"no tags", sealed.Tags("tags", nil), "", ""},
		{"too many tags", sealed.Tags("tags", []string{"a", "b", "c"}), "tags", problem.TooLong},
		{"a long tag", sealed.Tags("filter.tags", []string{"a", "äöüß"}), "filter.tags[1]", problem.TooLong},
		{"a blank tag", sealed.Tags("tags", []string{" "}), "tags[0]", problem.Required},
		{"metadata", sealed.Metadata(map[string]any{"a": "text", "b": 1.5}), "", ""},
		{"too much metadata", sealed.Metadata(map[string]any{"a": true, "b": true, "c": true}), "metadata", problem.TooLong},
		{"a long name", sealed.Metadata(map[string]any{"abcde": true}), "metadata", problem.TooLong},
		{"a blank name", sealed.Metadata(map[string]any{"": true}), "metadata", problem.Required},
		{"a long value", sealed.Metadata(map[string]any{"a": "abcde"}), "metadata.a", problem.TooLong},
		{"a nested value", sealed.Metadata(map[string]any{"a": []any{}}), "metadata.a", problem.Type},
		{"a list", lists.Metadata(map[string]any{"a": []any{"text", 1.5, true}, "b": []any{}}), "", ""},
		{"a long list", lists.Metadata(map[string]any{"a": []any{1.0, 2.0, 3.0, 4.0}}), "metadata.a", problem.TooLong},
		{"a list with a long value", lists.Metadata(map[string]any{"a": []any{"abcde"}}), "metadata.a", problem.TooLong},
		{"a list in a list", lists.Metadata(map[string]any{"a": []any{[]any{}}}), "metadata.a", problem.Type},
		{"a nul", sealed.String("text", "\x00", 4), "text", problem.Format},
		{"no UTF-8", sealed.String("text", "\xff", 4), "text", problem.Format},
	} {
		if c.field == "" {
			if c.err != nil {
				t.Errorf("%s: %v", c.name, c.err)
			}
			continue
		}
		p, ok := problem.As(c.err)
		if !ok || p.Details.Field != c.field || p.Details.Issue != c.issue {
			t.Errorf("%s: got %v, want %s of %s", c.name, c.err, c.issue, c.field)
		} else if strings.Contains(p.Message, "abcd") {
			t.Errorf("%s: the message repeats what was written: %s", c.name, p.Message)
		}
	}
}

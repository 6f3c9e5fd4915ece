package problem_test

import (
	"testing"

	"keepsake/internal/base/problem"
)

func TestSimilarNames(t *testing.T) {
	t.Parallel()
	known := []string{"subjectId", "agentId", "text", "kind", "occurredAt", "requestsPerMinute"}
	for name, want := range map[string]string{
		"subject": "subjectId", "subject_id": "subjectId", "SubjectID": "subjectId", "txt": "text", "ocurredAt": "occurredAt",
		"requestPerMinutes": "requestsPerMinute", "user": "", "x": "", "": "",
	} {
		if got := problem.Similar(name, known); got != want {
			t.Errorf("Similar(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNamesOfOtherProductsAreUnderstood(t *testing.T) {
	t.Parallel()
	memory, list := []string{"subjectId", "sessionId", "kind", "text", "tags"}, []string{"cursor", "limit", "tag"}
	document := []string{"id", "collection", "title", "text", "url", "tags", "metadata"}
	for _, c := range []struct {
		name, want string
		known      []string
	}{
		{"user_id", ` Did you mean "subjectId"?`, memory},
		{"userId", ` Did you mean "subjectId"?`, memory},
		{"messages", ` Did you mean "text"?`, memory},
		{"content", ` Did you mean "text"?`, memory},
		{"txt", ` Did you mean "text"?`, memory},
		{"thread-id", ` Did you mean "sessionId"?`, memory},
		{"page", ` Use "cursor", with the nextCursor of the page before.`, list},
		{"offset", ` Use "cursor", with the nextCursor of the page before.`, list},
		{"per_page", ` Did you mean "limit"?`, list},
		{"offset", "", memory},
		{"content", "", list},
		{"name", ` Did you mean "title"?`, document},
		{"description", ` Did you mean "text"?`, document},
		{"link", ` Did you mean "url"?`, document},
		{"price", ` Fields of your own go into "metadata".`, document},
		{"", "", memory},
	} {
		if got := problem.Meant(c.name, c.known); got != c.want {
			t.Errorf("Meant(%q, %q) = %q, want %q", c.name, c.known, got, c.want)
		}
	}
}

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

package endpoint

import (
	"testing"

	"keepsake/internal/base/problem"
)

func TestEveryCodeIsDescribed(t *testing.T) {
	t.Parallel()
	last := 0
	for _, c := range problem.Codes {
		status := StatusOf(c.Name)
		if status < last {
			t.Errorf("%s has the status %d and is not in order, or has none", c.Name, status)
		}
		if c.Meaning == "" || c.Action == "" {
			t.Errorf("%s has no text", c.Name)
		}
		last = status
	}
	if len(problem.Codes) != len(statuses) {
		t.Errorf("%d codes are described, and %d have a status", len(problem.Codes), len(statuses))
	}
}

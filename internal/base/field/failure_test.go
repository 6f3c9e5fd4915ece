package field_test

import (
	"fmt"
	"testing"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
)

func TestIssuesCountEveryFailure(t *testing.T) {
	t.Parallel()
	var total field.Failures
	for range 3 {
		var part field.Failures
		for line := range 100 {
			part.Fail(line, problem.Validation("text", problem.TooLong, "x"))
		}
		part.Fail(101, problem.Validation("id", problem.Format, "x"))
		part.Fail(102, problem.LimitReached("documents", "x"))
		total.Add(part)
	}
	if got, want := fmt.Sprint(total.Issues()), "[{text too_long 300} {documents not_allowed 3} {id format 3}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if total.Failed != 306 || len(total.Errors) != field.MaxLineErrors {
		t.Errorf("got %d failures and %d errors", total.Failed, len(total.Errors))
	}
}

func TestManyKindsOfIssuesAreBounded(t *testing.T) {
	t.Parallel()
	var f field.Failures
	for i := range 5_000 {
		f.Fail(i, problem.Validation(fmt.Sprintf("metadata.%d", i), problem.Type, "x"))
	}
	sum := 0
	for _, issue := range f.Issues() {
		sum += issue.Count
	}
	if n := len(f.Issues()); n > 1_001 || sum != 5_000 {
		t.Errorf("got %d kinds of %d failures", n, sum)
	}
}

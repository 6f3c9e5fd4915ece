package field

import (
	"cmp"
	"slices"

	"keepsake/internal/base/problem"
)

// Failures collects why lines of an import failed, and what documents lack of lines that were imported.
type Failures struct {
	Failed int         // lines
	Errors []LineError // the first MaxLineErrors
	kinds  map[kind]int
}

// LineError says why a line was not imported.
type LineError struct {
	Line    int
	Field   string
	Issue   string
	Message string
}

// IssueCount counts the lines that failed for one reason, or what was left out for it.
type IssueCount struct {
	Field string
	Issue string
	Count int
}

type kind struct{ field, issue string }

const (
	// MaxLineErrors is the number of errors that an import returns.
	MaxLineErrors = 100
	// maxKinds bounds the memory of an import, because a field can have a name of the client. Further kinds are counted as one.
	maxKinds = 1_000
)

// Fail counts a line that was not imported.
func (f *Failures) Fail(line int, err error) {
	e := LineError{Line: line, Field: "body", Issue: string(problem.InvalidVal), Message: "The line could not be imported."}
	if p, ok := problem.As(err); ok {
		e.Message = p.Message
		switch {
		case p.Details.Field != "":
			e.Field, e.Issue = p.Details.Field, string(p.Details.Issue)
		case p.Code == problem.CodeLimitReached:
			e.Field, e.Issue = p.Details.Limit, string(problem.NotAllowed)
		}
	}
	f.Failed++
	f.count(kind{e.Field, e.Issue}, 1)
	if len(f.Errors) < MaxLineErrors {
		f.Errors = append(f.Errors, e)
	}
}

// Note counts an issue of lines that were imported nevertheless.
func (f *Failures) Note(i IssueCount) { f.count(kind{i.Field, i.Issue}, i.Count) }

// Add adds the failures of later lines.
func (f *Failures) Add(later Failures) {
	f.Failed += later.Failed
	f.Errors = append(f.Errors, later.Errors[:min(len(later.Errors), MaxLineErrors-len(f.Errors))]...)
	for k, n := range later.kinds {
		f.count(k, n)
	}
}

func (f *Failures) count(k kind, n int) {
	if f.kinds == nil {
		f.kinds = map[kind]int{}
	}
	if _, there := f.kinds[k]; !there && len(f.kinds) >= maxKinds {
		k = kind{"body", string(problem.InvalidVal)}
	}
	f.kinds[k] += n
}

// Issues lists how many lines failed for which reason, the most frequent first.
func (f *Failures) Issues() []IssueCount {
	list := []IssueCount{}
	for k, n := range f.kinds {
		list = append(list, IssueCount{k.field, k.issue, n})
	}
	slices.SortFunc(list, func(a, b IssueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Issue, b.Issue))
	})
	return list
}

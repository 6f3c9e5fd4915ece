package rowimport

import (
	"slices"
	"strconv"
	"strings"

	"keepsake/client"
	"keepsake/internal/base/problem"
)

// refusalOf returns the refusal of a row.
func refusalOf(line int64, err error) client.ImportError {
	p, ok := problem.As(err)
	if !ok {
		return client.ImportError{Line: line, Field: "body", Message: err.Error()}
	}
	return client.ImportError{Line: line, Field: p.Details.Field, Issue: string(p.Details.Issue), Message: p.Message}
}

// Separated separates what was refused from issues of rows that were stored.
func Separated(i *client.Import) (refused *client.Import, kept []client.ImportIssue) {
	only := *i
	only.Issues = nil
	for _, issue := range i.Issues {
		listed := slices.ContainsFunc(i.Errors, func(e client.ImportError) bool { return e.Field == issue.Field && e.Issue == issue.Issue })
		if KeptText(issue) != "" && !listed {
			kept = append(kept, issue)
		} else {
			only.Issues = append(only.Issues, issue)
		}
	}
	return &only, kept
}

// KeptText describes an issue of rows that were stored; "" for another one.
func KeptText(i client.ImportIssue) string {
	switch {
	case i.Field == "body" && i.Issue == "duplicate":
		return counted(i.Count, "line") + " equal to one before: stored once (duplicate)"
	case i.Issue == "too_long" && i.Field == "metadata":
		return counted(i.Count, "value") + " left out, because a document has at most 32 of them (metadata: too_long)"
	case i.Issue == "too_long" && strings.HasPrefix(i.Field, "metadata."):
		return counted(i.Count, "value") + " cut or left out (" + i.Field + ": too_long)"
	case i.Issue == "unknown" && slices.Contains([]string{"id", "title", "text", "tags", "url", "collection"}, i.Field):
		return counted(i.Count, "line") + " without a value that is named for " + i.Field + " (unknown)"
	default:
		return ""
	}
}

func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(n, 10) + " " + thing + "s"
}

package main

import (
	"fmt"
	"io"
	"slices"

	"keepsake/client"
)

// refusals returns a line for each reason why an import refused lines, with the first line that it is about and how many others
// are refused for it. Reasons are in the order of their first lines. An import returns the messages of its first refused lines
// and the counts of all, so a reason without a message comes last.
func refusals(i *client.Import) []string {
	type reason struct {
		client.ImportError // of the first line
		count              int64
	}
	var reasons []reason
	for _, e := range i.Errors {
		at := slices.IndexFunc(reasons, func(r reason) bool { return r.Field == e.Field && r.Issue == e.Issue && r.Message == e.Message })
		if at < 0 {
			reasons = append(reasons, reason{ImportError: e})
			at = len(reasons) - 1
		}
		reasons[at].count++
	}
	for _, issue := range i.Issues {
		rest, messages := issue.Count, []int(nil) // indexes of reasons
		for at, r := range reasons {
			if r.Field == issue.Field && r.Issue == issue.Issue {
				rest, messages = rest-r.count, append(messages, at)
			}
		}
		switch {
		case rest <= 0:
		case len(messages) == 1: // so the other lines have the same message
			reasons[messages[0]].count += rest
		default:
			reasons = append(reasons, reason{client.ImportError{Field: issue.Field, Issue: issue.Issue}, rest})
		}
	}
	var lines []string
	for _, r := range reasons {
		why := fmt.Sprintf("%s (%s: %s)", r.Message, r.Field, r.Issue)
		switch {
		case r.Message == "":
			lines = append(lines, fmt.Sprintf("%s: %s: %s", counted(r.count, "more line"), r.Field, r.Issue))
		case r.count == 1:
			lines = append(lines, fmt.Sprintf("line %d: %s", r.Line, why))
		default:
			lines = append(lines, fmt.Sprintf("line %d and %s: %s", r.Line, counted(r.count-1, "more line"), why))
		}
	}
	return lines
}

// printRefusals prints why an import refused lines.
func printRefusals(out io.Writer, i *client.Import) {
	lines := refusals(i)
	for _, line := range lines[:min(len(lines), shownErrors)] {
		fmt.Fprintln(out, "  "+line)
	}
	if more := int64(len(lines) - shownErrors); more > 0 {
		fmt.Fprintf(out, "  and %s; --json prints the first 100 lines\n", counted(more, "more reason"))
	}
}

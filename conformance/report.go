package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Report collects the results of a run. It is a Reporter.
type Report struct {
	URL       string    `json:"url"`
	StartedAt time.Time `json:"startedAt"`
	Passed    int       `json:"passed"`
	Failed    int       `json:"failed"`
	Skipped   int       `json:"skipped"`
	Results   []Result  `json:"results"`
}

// Report adds one result.
func (r *Report) Report(result Result) {
	switch result.Outcome {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case Skipped:
		r.Skipped++
	}
	r.Results = append(r.Results, result)
}

// OK reports whether checks ran and none failed.
func (r *Report) OK() bool { return r.Failed == 0 && r.Passed > 0 }

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// WriteTable writes one line per section, and then the names of failed and skipped checks.
func (r *Report) WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SECTION\tPASSED\tFAILED\tSKIPPED\tSECONDS")
	for _, line := range r.bySection() {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.1f\n", line.URL, line.Passed, line.Failed, line.Skipped, line.seconds())
	}
	fmt.Fprintf(table, "all\t%d\t%d\t%d\t%.1f\n", r.Passed, r.Failed, r.Skipped, r.seconds())
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the conformance table: %w", err)
	}
	var text strings.Builder
	for _, result := range r.Results {
		switch result.Outcome {
		case Failed:
			fmt.Fprintf(&text, "\nFAILED   %s/%s\n", result.Section, result.Name)
			for _, found := range result.Found {
				fmt.Fprintf(&text, "         %s\n", strings.ReplaceAll(found, "\n", "\n         "))
			}
		case Skipped:
			fmt.Fprintf(&text, "\nSKIPPED  %s/%s: %s", result.Section, result.Name, result.Reason)
		}
	}
	if text.Len() > 0 {
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// bySection returns a report for each section, with the section's name instead of the URL.
func (r *Report) bySection() []*Report {
	var list []*Report
	for _, result := range r.Results {
		if len(list) == 0 || list[len(list)-1].URL != result.Section {
			list = append(list, &Report{URL: result.Section})
		}
		list[len(list)-1].Report(result)
	}
	return list
}

func (r *Report) seconds() float64 {
	var sum time.Duration
	for _, result := range r.Results {
		sum += result.Took
	}
	return sum.Seconds()
}

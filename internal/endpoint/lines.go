package endpoint

import "strings"

// mediaJSON is the default media type of a body.
const mediaJSON = "application/json"

// mediaMergePatch is the media type of a merge patch (RFC 7396), which a PATCH also accepts.
const mediaMergePatch = "application/merge-patch+json"

// MediaLines is the media type of a list with one JSON value per line.
const MediaLines = "application/x-ndjson"

// linesAliases are other names of MediaLines, which requests can use.
var linesAliases = []string{"application/ndjson", "application/jsonl"}

// MediaCSV is the media type of a table (RFC 4180).
const MediaCSV = "text/csv"

// Accept is the header Accept of an operation that can respond in lines:
//
//	Accept endpoint.Accept `header:"Accept"`
type Accept string

// Lines reports whether the client asks for lines explicitly. A client that accepts anything gets JSON.
func (a Accept) Lines() bool { return a.names(MediaLines) }

// CSV is Lines for CSV.
func (a Accept) CSV() bool { return a.names(MediaCSV) }

func (a Accept) names(wanted string) bool {
	for one := range strings.SplitSeq(string(a), ",") {
		media, params, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(media), wanted) {
			continue
		}
		weight, weighted := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		return !weighted || strings.Trim(weight, "0.") != ""
	}
	return false
}

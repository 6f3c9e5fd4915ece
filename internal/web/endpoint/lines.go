package endpoint

import (
	"strconv"
	"strings"
)

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

// Lines reports whether the client asks for lines explicitly and does not prefer JSON. A client that accepts anything gets
// JSON.
func (a Accept) Lines() bool { return a.prefers(MediaLines) }

// CSV is Lines for CSV.
func (a Accept) CSV() bool { return a.prefers(MediaCSV) }

// prefers reports whether the header names a media type with a weight above zero, and JSON with no higher one.
func (a Accept) prefers(wanted string) bool {
	var weight, ofJSON float64
	for one := range strings.SplitSeq(string(a), ",") {
		media, params, _ := strings.Cut(one, ";")
		switch media = strings.TrimSpace(media); {
		case strings.EqualFold(media, wanted):
			weight = max(weight, weightOf(params))
		case strings.EqualFold(media, mediaJSON):
			ofJSON = max(ofJSON, weightOf(params))
		}
	}
	return weight > 0 && weight >= ofJSON
}

// weightOf returns the weight among the parameters of a media type (RFC 9110, 12.4.2), which is 1 if there is none.
func weightOf(params string) float64 {
	for one := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(one, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			return weight
		}
	}
	return 1
}

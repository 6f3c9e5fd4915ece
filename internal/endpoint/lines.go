package endpoint

import "strings"

// mediaJSON is the type of a body where nothing else is said.
const mediaJSON = "application/json"

// mediaMergePatch is the type of a merge patch (RFC 7396), which a PATCH takes besides mediaJSON.
const mediaMergePatch = "application/merge-patch+json"

// MediaLines is the type of a list that is sent as one JSON value a line.
const MediaLines = "application/x-ndjson"

// Accept is the header Accept, as an operation declares it that can answer in lines:
//
//	Accept endpoint.Accept `header:"Accept"`
type Accept string

// Lines reports whether the caller asks for lines by their name. Whoever takes anything gets JSON.
func (a Accept) Lines() bool {
	for one := range strings.SplitSeq(string(a), ",") {
		media, params, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(media), MediaLines) {
			continue
		}
		weight, weighted := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		return !weighted || strings.Trim(weight, "0.") != ""
	}
	return false
}

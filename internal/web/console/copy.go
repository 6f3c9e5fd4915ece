package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"keepsake/internal/web/api"
)

// copySubject downloads a person's memories with their history, as the export operation returns them.
func copySubject(v *visit) response {
	id := v.PathValue("subject")
	var lines bytes.Buffer
	if err := v.api().ExportSubject(v.Context(), id, &lines); err != nil {
		if errors.Is(err, api.ErrTooLong) {
			return v.failed(http.StatusRequestEntityTooLarge, "These memories are too long for a page. Download them with: keepsake memories export --subject "+id)
		}
		return v.failSubject(id, err)
	}
	return attachment("memories-"+fileName(id)+".ndjson", lines.Bytes())
}

// maxAccesses is how many entries of an access log a page downloads.
const maxAccesses = 5000

// copyAccessLog downloads the access log of a person: one entry a line, newest first. It returns all of it or an error, because
// a part of it could be taken for all.
func copyAccessLog(v *visit) response {
	id := v.PathValue("subject")
	var lines bytes.Buffer
	write := json.NewEncoder(&lines)
	n := 0
	for entry, err := range v.api().EachAccess(v.Context(), id) {
		if err != nil {
			return v.failSubject(id, err)
		}
		if n++; n > maxAccesses {
			return v.failed(http.StatusRequestEntityTooLarge, "This access log has more than "+count(maxAccesses)+" entries, too many for a page. Read it with the API: GET /api/v1/memories/subjects/{subjectId}/access-log.")
		}
		if err := write.Encode(entry); err != nil {
			return v.fail(err)
		}
	}
	return attachment("access-log-"+fileName(id)+".ndjson", lines.Bytes())
}

// attachment returns lines of JSON, which the browser stores as a file.
func attachment(name string, lines []byte) response {
	return response{raw: &api.WebResponse{Status: http.StatusOK, Body: lines, Header: http.Header{
		"Content-Type": {"application/x-ndjson"}, "Content-Disposition": {`attachment; filename="` + name + `"`},
		"Content-Security-Policy": {policy}, "Cache-Control": {"no-store"},
	}}}
}

// fileName returns the ID of a person as a part of the name of a file.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
}

package client

import (
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// Error is an error response of the server.
type Error struct {
	Status    int     `json:"-"`     // of HTTP
	Code      string  `json:"error"` // for programs: validation_error, rate_limit_exceeded, …
	Message   string  `json:"message"`
	Details   Details `json:"details"`
	RequestID string  `json:"requestId"` // identifies the request in the server's log

	// For a version of the API that has ended: its replacement, and the migration guide if it is sunset.
	ReplacementVersion string `json:"replacementVersion"`
	MigrationGuideURL  string `json:"migrationGuideUrl"`

	// RetryAfter is how long the server asks to wait, or 0.
	RetryAfter time.Duration `json:"-"`

	// Attempts is how often the call was sent. If it is more than 1 and an earlier response was lost, an earlier attempt
	// can have had the effect: then a DELETE finds nothing, and a change of a revision finds the next one.
	Attempts int `json:"-"`
}

// Details contains details of an Error. An empty field was not sent.
type Details struct {
	Field         string `json:"field"` // the invalid field or parameter: rateLimit.requestsPerMinute
	Issue         string `json:"issue"` // the problem: required, too_long, …
	RequiredScope string `json:"requiredScope"`
	Limit         string `json:"limit"`  // the limit that was reached: keys, documents, …
	Policy        string `json:"policy"` // the rate limit or quota that was exceeded: tier_minute, daily_quota, …
}

func (e *Error) Error() string {
	text := e.Message
	if e.Details.Field != "" {
		text += " (" + e.Details.Field + ": " + e.Details.Issue + ")"
	}
	return text
}

// errorOf reads an error response. One that is not Keepsake's JSON, such as a proxy's page, still has its status.
func errorOf(res *http.Response, now time.Time) *Error {
	e := &Error{}
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if json.Unmarshal(body, e) != nil || e.Code == "" {
		*e = Error{Message: "the server answered " + res.Status}
	}
	e.Status = res.StatusCode
	if e.Code == "version_not_found" {
		e.ReplacementVersion = res.Header.Get("X-API-Version") // the current one
	}
	e.RetryAfter = retryAfter(res.Header.Get("Retry-After"), now)
	return e
}

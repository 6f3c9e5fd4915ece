package client

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Error is an answer that is not a success.
type Error struct {
	Status    int     `json:"-"`     // of HTTP
	Code      string  `json:"error"` // what programs compare: validation_error, rate_limit_exceeded, …
	Message   string  `json:"message"`
	Details   Details `json:"details"`
	RequestID string  `json:"requestId"` // names the request in the server's log

	// Of a version of the API that is served no more: where to go, and of a sunset one what differs there.
	ReplacementVersion string `json:"replacementVersion"`
	MigrationGuideURL  string `json:"migrationGuideUrl"`

	// RetryAfter is how long the server asks to wait, 0 where it does not say.
	RetryAfter time.Duration `json:"-"`
}

// Details says more where there is more to say; empty members were not sent.
type Details struct {
	Field         string `json:"field"` // the offending parameter: rateLimit.requestsPerMinute
	Issue         string `json:"issue"` // what is wrong with it: required, too_long, …
	RequiredScope string `json:"requiredScope"`
	Limit         string `json:"limit"`  // which count was reached: keys, documents, …
	Policy        string `json:"policy"` // which budget was used up: tier_minute, daily_quota, …
}

func (e *Error) Error() string {
	text := e.Message
	if e.Details.Field != "" {
		text += " (" + e.Details.Field + ": " + e.Details.Issue + ")"
	}
	return text
}

// worthRepeating: a 429 did nothing; a 503 may have begun, which matters only where once is said.
func (e *Error) worthRepeating(once bool) bool {
	return e.Status == http.StatusTooManyRequests || (e.Status == http.StatusServiceUnavailable && !once)
}

// errorOf reads an error answer. What is not Keepsake's JSON, a proxy's page for instance, still gives its status.
func errorOf(res *http.Response) *Error {
	e := &Error{}
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if json.Unmarshal(body, e) != nil || e.Code == "" {
		*e = Error{Message: "the server answered " + res.Status}
	}
	e.Status = res.StatusCode
	if e.Code == "version_not_found" {
		e.ReplacementVersion = res.Header.Get("X-API-Version") // the current one
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

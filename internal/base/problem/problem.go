// Package problem contains the only error type that callers of the API see, for people and for programs.
//
// It is independent of HTTP; internal/web/api maps a Kind to a status. Any other error becomes a fixed 500, and its cause
// only goes to the log.
package problem

import (
	"context"
	"errors"
	"time"
)

// Kind is the category of a problem. A table in internal/web/api maps it to a status.
type Kind uint8

// The kinds, in the order of the specification's status table (§7).
const (
	Internal         Kind = iota // an internal error: 500
	Invalid                      // the request is wrong: 400
	Unauthenticated              // no valid credential: 401
	Forbidden                    // a valid credential without the permission: 403
	NotFound                     // absent, or invisible to the caller: 404
	MethodNotAllowed             // the path exists, the method does not: 405
	Conflict                     // the state of the resource prevents the operation: 409
	Gone                         // an API version that has been sunset: 410
	Mismatch                     // If-Match names another revision: 412
	TooLarge                     // the body exceeds the limit of its class: 413
	UnsupportedMedia             // a media type that the operation does not accept: 415
	RateLimited                  // a limit or quota is exhausted: 429
	Unavailable                  // a required component is temporarily unavailable: 503
)

// The codes (docs/spec/errors.md). They are stable, because clients compare them.
const (
	CodeValidation         = "validation_error"
	CodeMissingCredentials = "missing_credentials"
	CodeInvalidAPIKey      = "invalid_api_key"
	CodeAPIKeyExpired      = "api_key_expired"
	CodeAPIKeyRevoked      = "api_key_revoked"
	CodeAPIKeyDisabled     = "api_key_disabled"
	CodeInvalidToken       = "invalid_token"
	CodeTokenExpired       = "token_expired"
	CodeTokenReused        = "token_reused"
	CodeInvalidCredentials = "invalid_credentials"
	CodeInsufficientScope  = "insufficient_scope"
	CodeIPNotAllowed       = "ip_not_allowed"
	CodeOriginNotAllowed   = "origin_not_allowed"
	CodeSuspended          = "workspace_suspended"
	CodeNotFound           = "not_found"
	CodeVersionNotFound    = "version_not_found"
	CodeMethodNotAllowed   = "method_not_allowed"
	CodeConflict           = "conflict"
	CodeLimitReached       = "limit_reached"
	CodeRotationInProgress = "rotation_in_progress"
	CodeIdempotencyRunning = "idempotency_in_progress"
	CodeVersionSunset      = "version_sunset"
	CodeRevisionMismatch   = "revision_mismatch"
	CodePayloadTooLarge    = "payload_too_large"
	CodeUnsupportedMedia   = "unsupported_media_type"
	CodeRateLimited        = "rate_limit_exceeded"
	CodeInternal           = "internal_error"
	CodeUnavailable        = "unavailable"
)

// Issue is the machine-readable reason of a validation error: what is wrong with the field (docs/spec/conventions.md).
type Issue string

// The issues.
const (
	Required    Issue = "required"
	Unknown     Issue = "unknown"
	Duplicate   Issue = "duplicate"
	Type        Issue = "type"
	Format      Issue = "format"
	TooShort    Issue = "too_short"
	TooLong     Issue = "too_long"
	TooSmall    Issue = "too_small"
	TooLargeVal Issue = "too_large"
	NotAllowed  Issue = "not_allowed"
	Unsupported Issue = "unsupported"
	Reused      Issue = "reused"
	Conflicting Issue = "conflict"
	Expired     Issue = "expired"
	InvalidVal  Issue = "invalid"
)

// Details is the optional object of an error body (§2.3). Empty members are omitted.
type Details struct {
	Field         string `json:"field,omitempty"`
	Issue         Issue  `json:"issue,omitempty"`
	RequiredScope string `json:"requiredScope,omitempty"`
	Limit         string `json:"limit,omitempty"`  // which count was reached: keys, users, documents, memories
	Policy        string `json:"policy,omitempty"` // which limit was exhausted, on a 429
}

// Problem is an error that a caller can see. Message is for people and never contains a secret or data that a user
// stored.
type Problem struct {
	Kind       Kind
	Code       string
	Message    string
	Details    Details
	RetryAfter time.Duration // for RateLimited and Unavailable: when to retry
	cause      error
}

func (p *Problem) Error() string {
	if p.cause != nil {
		return p.Code + ": " + p.Message + ": " + p.cause.Error()
	}
	return p.Code + ": " + p.Message
}

// Unwrap returns the cause, which is only for the log.
func (p *Problem) Unwrap() error { return p.cause }

// Because returns a copy of p with a cause for the log.
func (p *Problem) Because(cause error) *Problem {
	q := *p
	q.cause = cause
	return &q
}

// As finds the Problem in err's chain.
func As(err error) (*Problem, bool) {
	var p *Problem
	ok := errors.As(err, &p)
	return p, ok
}

// New creates a problem of any kind.
func New(kind Kind, code, message string) *Problem {
	return &Problem{Kind: kind, Code: code, Message: message}
}

// Validation is a 400. field names the invalid parameter, such as `rateLimit.requestsPerMinute` or `items[3].text`.
func Validation(field string, issue Issue, message string) *Problem {
	return &Problem{Kind: Invalid, Code: CodeValidation, Message: message, Details: Details{Field: field, Issue: issue}}
}

// Missing is the 404 for a resource that does not exist or belongs to another workspace, so that callers cannot
// distinguish the two. The API names the kind of resource, which follows from the path alone.
func Missing() *Problem { return New(NotFound, CodeNotFound, MissingMessage) }

// MissingMessage is the message of Missing.
const MissingMessage = "There is nothing with this ID."

// Conflicts is a 409 whose message names the conflict.
func Conflicts(message string) *Problem { return New(Conflict, CodeConflict, message) }

// LimitReached is a 409 for a limit of the tier: keys, users, documents, memories, storage.
func LimitReached(limit, message string) *Problem {
	return &Problem{Kind: Conflict, Code: CodeLimitReached, Message: message, Details: Details{Limit: limit}}
}

// StorageFull is the LimitReached of a write that would exceed the max storage of a workspace.
func StorageFull() *Problem {
	return LimitReached("storage", "The workspace would exceed the stored bytes that its tier allows. Delete something first.")
}

// RevisionMismatch is a 412.
func RevisionMismatch() *Problem {
	return New(Mismatch, CodeRevisionMismatch, "The resource has changed since the revision in If-Match. Read it again and repeat the change.")
}

// ScopeMissing is a 403 that names the missing scope.
func ScopeMissing(scope string) *Problem {
	return &Problem{
		Kind: Forbidden, Code: CodeInsufficientScope,
		Message: "This credential lacks the scope " + scope + ". Use one that has it.",
		Details: Details{RequiredScope: scope},
	}
}

// Exceeds is a 403 that names the field in which a request asks for more than its own credential has.
func Exceeds(field, message string) *Problem {
	return &Problem{Kind: Forbidden, Code: CodeInsufficientScope, Message: message, Details: Details{Field: field}}
}

// NotAvailable is a 503 with the time after which a retry makes sense.
func NotAvailable(message string, retryAfter time.Duration) *Problem {
	return &Problem{Kind: Unavailable, Code: CodeUnavailable, Message: message, RetryAfter: retryAfter}
}

// Busy returns the error of a request whose time ended while it waited for the database or for a slot. ended is the
// error of its context. If the context was canceled, Busy returns ended, because the client has disconnected.
func Busy(ended error) error {
	if !errors.Is(ended, context.DeadlineExceeded) {
		return ended
	}
	return NotAvailable("The service is too busy to answer in time. Nothing was saved; try again later.", 2*time.Second).Because(ended)
}

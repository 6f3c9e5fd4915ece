// Package problem is the one error type that reaches a caller: what went wrong, in words for people and for programs.
//
// It knows nothing of HTTP; internal/api maps a Kind to a status. An error that is not a *Problem is, at the rim, a
// fixed 500 whose cause goes to the log and nowhere else.
package problem

import (
	"context"
	"errors"
	"time"
)

// Kind says what sort of problem it is. One table in internal/api turns it into a status.
type Kind uint8

// The kinds, in the order of the specification's status table (§7).
const (
	Internal         Kind = iota // a defect or a fault of ours
	Invalid                      // the request is wrong: 400
	Unauthenticated              // no credential, or one that is not valid: 401
	Forbidden                    // a valid credential that may not: 403
	NotFound                     // absent, or not the caller's to see: 404
	MethodNotAllowed             // the path exists, the method does not: 405
	Conflict                     // the state of the resource forbids it: 409
	Gone                         // an API version that is sunset: 410
	Mismatch                     // If-Match names another revision: 412
	TooLarge                     // the body is over its class's limit: 413
	UnsupportedMedia             // a media type the operation does not take: 415
	RateLimited                  // a limit or quota is used up: 429
	Unavailable                  // a part that is needed is missing for now: 503
)

// The codes (decisions.md, M). A code is a promise: clients compare it.
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

// Issue is the machine-readable half of a validation error: what is wrong with the field (decisions.md, A).
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

// Details is the optional object of an error body (§2.3). Empty members are left out.
type Details struct {
	Field         string `json:"field,omitempty"`
	Issue         Issue  `json:"issue,omitempty"`
	RequiredScope string `json:"requiredScope,omitempty"`
	Limit         string `json:"limit,omitempty"`  // which count was reached: keys, users, documents, memories
	Policy        string `json:"policy,omitempty"` // which budget was used up, on a 429
}

// Problem is an error a caller may see. Message is for people and never holds a secret or anything a user stored.
type Problem struct {
	Kind       Kind
	Code       string
	Message    string
	Details    Details
	RetryAfter time.Duration // for RateLimited and Unavailable: when to try again
	cause      error
}

func (p *Problem) Error() string {
	if p.cause != nil {
		return p.Code + ": " + p.Message + ": " + p.cause.Error()
	}
	return p.Code + ": " + p.Message
}

// Unwrap gives the cause, which is for the log alone.
func (p *Problem) Unwrap() error { return p.cause }

// Because returns a copy of p that carries cause for the log.
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

// New makes a problem of any kind.
func New(kind Kind, code, message string) *Problem {
	return &Problem{Kind: kind, Code: code, Message: message}
}

// Validation is a 400: field names the offending parameter, `rateLimit.requestsPerMinute` and `items[3].text` style.
func Validation(field string, issue Issue, message string) *Problem {
	return &Problem{Kind: Invalid, Code: CodeValidation, Message: message, Details: Details{Field: field, Issue: issue}}
}

// Missing is the 404 for a resource that does not exist and for one that belongs to another workspace, so that they cannot
// be told apart. The API names the kind of resource, which follows from the path alone.
func Missing() *Problem { return New(NotFound, CodeNotFound, MissingMessage) }

// MissingMessage is the message of Missing.
const MissingMessage = "There is nothing with this ID."

// Conflicts is a 409 that says what stands in the way.
func Conflicts(message string) *Problem { return New(Conflict, CodeConflict, message) }

// LimitReached is a 409 for a count of the tier: keys, users, documents, memories, storage.
func LimitReached(limit, message string) *Problem {
	return &Problem{Kind: Conflict, Code: CodeLimitReached, Message: message, Details: Details{Limit: limit}}
}

// StorageFull is the LimitReached of a write that would pass the bytes that a workspace may store.
func StorageFull() *Problem {
	return LimitReached("storage", "The workspace would exceed the stored bytes that its tier allows. Delete something first.")
}

// RevisionMismatch is a 412.
func RevisionMismatch() *Problem {
	return New(Mismatch, CodeRevisionMismatch, "The resource has changed since the revision in If-Match. Read it again and repeat the change.")
}

// ScopeMissing is a 403 that names the scope a credential lacks.
func ScopeMissing(scope string) *Problem {
	return &Problem{
		Kind: Forbidden, Code: CodeInsufficientScope,
		Message: "This credential lacks the scope " + scope + ".",
		Details: Details{RequiredScope: scope},
	}
}

// Exceeds is a 403 that names the field in which a request asks for more than the calling credential has itself.
func Exceeds(field, message string) *Problem {
	return &Problem{Kind: Forbidden, Code: CodeInsufficientScope, Message: message, Details: Details{Field: field}}
}

// NotAvailable is a 503 with the time after which another try makes sense.
func NotAvailable(message string, retryAfter time.Duration) *Problem {
	return &Problem{Kind: Unavailable, Code: CodeUnavailable, Message: message, RetryAfter: retryAfter}
}

// Busy is the error of a request whose time ended while it waited for the database or for a slot. ended is the error of its
// context. It is returned as it is if the context was canceled, because the client has disconnected.
func Busy(ended error) error {
	if !errors.Is(ended, context.DeadlineExceeded) {
		return ended
	}
	return NotAvailable("The service is too busy to answer in time. Nothing was saved; try again later.", 2*time.Second).Because(ended)
}

package endpoint

import (
	"net/http"

	"keepsake/internal/base/problem"
)

// statuses is the specification's table of error codes (docs/spec/errors.md).
var statuses = map[string]int{
	problem.CodeValidation:         http.StatusBadRequest,
	problem.CodeMissingCredentials: http.StatusUnauthorized,
	problem.CodeInvalidAPIKey:      http.StatusUnauthorized,
	problem.CodeAPIKeyExpired:      http.StatusUnauthorized,
	problem.CodeAPIKeyRevoked:      http.StatusUnauthorized,
	problem.CodeAPIKeyDisabled:     http.StatusUnauthorized,
	problem.CodeInvalidToken:       http.StatusUnauthorized,
	problem.CodeTokenExpired:       http.StatusUnauthorized,
	problem.CodeTokenReused:        http.StatusUnauthorized,
	problem.CodeInvalidCredentials: http.StatusUnauthorized,
	problem.CodeInsufficientScope:  http.StatusForbidden,
	problem.CodeIPNotAllowed:       http.StatusForbidden,
	problem.CodeOriginNotAllowed:   http.StatusForbidden,
	problem.CodeSuspended:          http.StatusForbidden,
	problem.CodeNotFound:           http.StatusNotFound,
	problem.CodeVersionNotFound:    http.StatusNotFound,
	problem.CodeMethodNotAllowed:   http.StatusMethodNotAllowed,
	problem.CodeConflict:           http.StatusConflict,
	problem.CodeLimitReached:       http.StatusConflict,
	problem.CodeRotationInProgress: http.StatusConflict,
	problem.CodeIdempotencyRunning: http.StatusConflict,
	problem.CodeVersionSunset:      http.StatusGone,
	problem.CodeRevisionMismatch:   http.StatusPreconditionFailed,
	problem.CodePayloadTooLarge:    http.StatusRequestEntityTooLarge,
	problem.CodeUnsupportedMedia:   http.StatusUnsupportedMediaType,
	problem.CodeRateLimited:        http.StatusTooManyRequests,
	problem.CodeInternal:           http.StatusInternalServerError,
	problem.CodeUnavailable:        http.StatusServiceUnavailable,
}

// StatusOf returns the status of an error code, or 0 for an unknown code.
func StatusOf(code string) int { return statuses[code] }

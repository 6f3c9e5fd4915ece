package api

import (
	"net/http"

	"keepsake/internal/base/problem"
)

// statuses is the only mapping of problems to statuses (§7).
var statuses = [...]int{
	problem.Internal:         http.StatusInternalServerError,
	problem.Invalid:          http.StatusBadRequest,
	problem.Unauthenticated:  http.StatusUnauthorized,
	problem.Forbidden:        http.StatusForbidden,
	problem.NotFound:         http.StatusNotFound,
	problem.MethodNotAllowed: http.StatusMethodNotAllowed,
	problem.Conflict:         http.StatusConflict,
	problem.Gone:             http.StatusGone,
	problem.Mismatch:         http.StatusPreconditionFailed,
	problem.TooLarge:         http.StatusRequestEntityTooLarge,
	problem.UnsupportedMedia: http.StatusUnsupportedMediaType,
	problem.RateLimited:      http.StatusTooManyRequests,
	problem.Unavailable:      http.StatusServiceUnavailable,
}

// errorBody is §2.3 with the request ID.
type errorBody struct {
	Error     string          `json:"error"`
	Message   string          `json:"message"`
	Details   problem.Details `json:"details,omitzero"`
	RequestID string          `json:"requestId"`
}

// limitBody is §2.4 with the exceeded limit and the request ID.
type limitBody struct {
	Error       string          `json:"error"`
	Message     string          `json:"message"`
	Remaining   int64           `json:"remaining"`
	ResetTimeMs int64           `json:"resetTimeMs"`
	Details     problem.Details `json:"details,omitzero"`
	RequestID   string          `json:"requestId"`
}

// goneBody is the body of a response for a sunset version.
type goneBody struct {
	Error              string `json:"error"`
	Message            string `json:"message"`
	MigrationGuideURL  string `json:"migrationGuideUrl"`
	ReplacementVersion string `json:"replacementVersion,omitempty"`
	SunsetAt           string `json:"sunsetAt"`
	RequestID          string `json:"requestId"`
}

var (
	errNotFound        = problem.New(problem.NotFound, problem.CodeNotFound, "There is no such path at this address. /openapi.json and, in a browser, /docs of the API list all paths.")
	errVersionNotFound = problem.New(problem.NotFound, problem.CodeVersionNotFound, "There is no such API version.")
	errMethod          = problem.New(problem.MethodNotAllowed, problem.CodeMethodNotAllowed,
		"This path does not support this method. The header Allow lists the methods it supports.")
	errOrigin = problem.New(problem.Forbidden, problem.CodeOriginNotAllowed,
		"Pages of this origin cannot call this path. The setting cors.origins lists those that can.")
	errAcceptVersion = problem.Validation("Accept-Version", problem.Unsupported,
		"Accept-Version names no API version that is served. /api/versions lists the versions.")
	errTooLarge = problem.New(problem.TooLarge, problem.CodePayloadTooLarge, "The body is larger than 64 MiB.")
	errBusy     = problem.NotAvailable("The service is handling too many requests; try again.", retrySoon)
	errNoMemory = problem.NotAvailable("The service has no memory for another large body right now; try again.", retrySoon)
	errInTime   = problem.NotAvailable("The request took too long; try again.", retrySoon)
	errInternal = problem.New(problem.Internal, problem.CodeInternal, "An internal error occurred. The request ID identifies it in the log.")
)

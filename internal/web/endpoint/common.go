package endpoint

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"keepsake/internal/base/problem"
)

// This file describes what all responses and errors have in common. The pipeline in internal/web/api writes them.

type errorBody struct {
	Error     string        `json:"error" doc:"The machine-readable code of the error."`
	Message   string        `json:"message"`
	Details   *errorDetails `json:"details,omitempty" doc:"What exactly is wrong. Each member is there only if it says something."`
	RequestID string        `json:"requestId"`
}

type errorDetails struct {
	Field         string        `json:"field,omitempty" doc:"The parameter or field with the problem, such as rateLimit.requestsPerMinute or items[3].text."`
	Issue         problem.Issue `json:"issue,omitempty" doc:"The kind of problem with the field." enum:"required,unknown,duplicate,type,format,too_short,too_long,too_small,too_large,not_allowed,unsupported,reused,conflict,expired,invalid"`
	RequiredScope string        `json:"requiredScope,omitempty" doc:"The scope that the credential lacks."`
	Limit         string        `json:"limit,omitempty" doc:"The limit of the tier that is reached, such as documents or storage."`
	Policy        string        `json:"policy,omitempty" doc:"The limit or quota that is used up, such as tier_minute or daily_quota."`
}

type rateLimitBody struct {
	Error       string        `json:"error" enum:"rate_limit_exceeded" doc:"The machine-readable code of the error."`
	Message     string        `json:"message"`
	Remaining   int64         `json:"remaining" doc:"The number of requests left, which is 0 or less than the request costs."`
	ResetTimeMs int64         `json:"resetTimeMs" doc:"The number of milliseconds until the limit resets."`
	Details     *errorDetails `json:"details,omitempty" doc:"What exactly is used up: policy names the limit or quota."`
	RequestID   string        `json:"requestId"`
}

type versionSunsetBody struct {
	Error              string `json:"error" enum:"version_sunset" doc:"The machine-readable code of the error."`
	Message            string `json:"message"`
	MigrationGuideURL  string `json:"migrationGuideUrl" doc:"The address of the guide from this version to the next."`
	ReplacementVersion string `json:"replacementVersion,omitempty" doc:"The oldest later version that is still available, if there is one."`
	SunsetAt           string `json:"sunsetAt" doc:"The time at which the version was sunset, in RFC 3339."`
	// Details is never sent. Without it, clients that are generated for TypeScript could not read details of an error whose
	// status they have not checked.
	Details   *errorDetails `json:"details,omitempty" doc:"The field is always absent from this error."`
	RequestID string        `json:"requestId"`
}

func errorBodyOf(status int) reflect.Type {
	switch status {
	case http.StatusTooManyRequests:
		return reflect.TypeFor[rateLimitBody]()
	case http.StatusGone:
		return reflect.TypeFor[versionSunsetBody]()
	default:
		return reflect.TypeFor[errorBody]()
	}
}

// fieldDocs describe the fields of responses that mean the same wherever they appear. A doc tag takes precedence.
var fieldDocs = map[string]string{
	"createdAt":  "The time of creation. Later changes do not move it.",
	"updatedAt":  "The time of the last change, or of creation if there was none.",
	"revision":   "The number of the revision, which grows with every change. ETag and If-Match have it in quotes.",
	"items":      "The items of this page, at most limit. The list is empty if there are none.",
	"nextCursor": "The value of the parameter cursor for the next page. It is null on the last page.",
	"requestId":  "The ID of the request, as in X-Request-Id.",
	"issue":      "The kind of problem with the field, such as required, format or too_long.",
	"message":    "The message for people. Its wording can change.",
}

// paramDocs describe the parameters that mean the same wherever they appear. A doc tag takes precedence.
var paramDocs = map[string]string{
	"limit":    "The maximum number of items in the response.",
	"cursor":   "The nextCursor of the page before. Without it, the response is the first page. The other parameters must stay the same, except limit.",
	"If-Match": "The ETag of the revision that the request is meant for. If the current revision is another one, the request is refused with 412. Without it, the request applies to any revision.",
}

// errorResponse is the response that every operation shares for one status.
type errorResponse struct{ name, doc string }

var errorResponses = map[int]errorResponse{
	http.StatusBadRequest:            {"BadRequest", "The request is invalid. details.field and details.issue name the problem."},
	http.StatusUnauthorized:          {"Unauthorized", "The request has no valid credential, or the email or password is wrong."},
	http.StatusForbidden:             {"Forbidden", "The credential is valid but does not allow this request."},
	http.StatusNotFound:              {"NotFound", "The resource or the version of the API does not exist, or the caller cannot see it."},
	http.StatusConflict:              {"Conflict", "The request conflicts with the state of the resource or with a limit of the tier."},
	http.StatusGone:                  {"Gone", "This version of the API is sunset. The body names its replacement."},
	http.StatusPreconditionFailed:    {"PreconditionFailed", "The resource has another revision than the one in If-Match, or exists although If-None-Match says that it must not."},
	http.StatusRequestEntityTooLarge: {"PayloadTooLarge", "The body is larger than the limit of this operation."},
	http.StatusUnsupportedMediaType:  {"UnsupportedMediaType", "The operation does not accept the Content-Type of the request."},
	http.StatusTooManyRequests:       {"TooManyRequests", "A rate limit or a quota is used up. Retry-After says when to try again."},
	http.StatusInternalServerError:   {"InternalServerError", "The server failed. The response does not say why; the server's log does."},
	http.StatusServiceUnavailable:    {"ServiceUnavailable", "The server cannot handle the request right now. Retry-After says when to try again."},
}

// successes describes the responses of operations that did what they were asked.
var successes = map[int]string{
	http.StatusOK:        "The request succeeded.",
	http.StatusCreated:   "The resource was created.",
	http.StatusAccepted:  "The change is in force on this instance and is stored as soon as possible.",
	http.StatusNoContent: "The request succeeded. The response has no body.",
}

// notModified is the response to a GET whose If-None-Match names the current revision.
func notModified() *huma.Response {
	return &huma.Response{
		Description: "The resource still has the revision in If-None-Match. The response has no body.",
		Headers:     headers("ETag"),
	}
}

// sharedHeader is a response header. One that can be on every response is in x-every-response of the document and not repeated
// at each response: repeating them made a client by ogen 540,000 lines long instead of 115,000, and this document 518 KB
// instead of 355. It is no component, because linters warn of a component that nothing refers to.
type sharedHeader struct {
	name       string
	schema     huma.Schema
	doc        string
	everywhere bool
}

var sharedHeaderTable = []sharedHeader{
	{"X-API-Version", huma.Schema{Type: "string"}, "The version of the API that handled the request.", true},
	{"X-RateLimit-Limit", huma.Schema{Type: "integer"}, "The number of requests per minute that the tier allows.", true},
	{"X-RateLimit-Remaining", huma.Schema{Type: "integer"}, "The number of requests left in the current minute.", true},
	{"X-RateLimit-Reset", huma.Schema{Type: "integer"}, "The Unix time in seconds at which the current minute ends.", true},
	{"X-RateLimit-Daily-Remaining", huma.Schema{Type: "integer"}, "The number of requests left in the daily quota.", true},
	{"X-RateLimit-Monthly-Remaining", huma.Schema{Type: "integer"}, "The number of requests left in the monthly quota.", true},
	{"X-RateLimit-Key-Limit", huma.Schema{Type: "integer"}, "The number of requests per minute that the API key allows. Only responses to a valid key have this header.", true},
	{"X-RateLimit-Key-Remaining", huma.Schema{Type: "integer"}, "The number of requests left to the API key in the current minute. Only responses to a valid key have this header.", true},
	{"X-Request-Id", huma.Schema{Type: "string"}, "The ID of the request, from the caller or generated.", true},
	{"X-Content-Type-Options", huma.Schema{Type: "string"}, "The value is always nosniff.", true},
	{"Cache-Control", huma.Schema{Type: "string"}, "Says whether the response can be cached. The value is no-store on authenticated responses and on errors.", true},
	{"Deprecation", huma.Schema{Type: "string"}, "The value is true if the version of the API is deprecated.", true},
	{"Sunset", huma.Schema{Type: "string"}, "The HTTP date after which a deprecated version is no longer available.", true},
	{"X-API-Replacement-Version", huma.Schema{Type: "string"}, "The version that replaces a deprecated one.", true},
	{"Link", huma.Schema{Type: "string"}, "Links to the migration guide of a deprecated version and to the same path in its successor.", true},
	{"X-API-Key-Rotate-By", huma.Schema{Type: "string"}, "The HTTP date at which the older of two secrets stops working. Only responses to that secret have this header.", true},
	{"X-API-Key-Expires", huma.Schema{Type: "string"}, "The HTTP date at which the API key expires. Only responses within 14 days of it have this header.", true},
	{"Vary", huma.Schema{Type: "string"}, "The headers of the request that the response depends on: Accept-Encoding if it can be compressed, Origin if origins of browsers are configured.", true},
	{"Content-Encoding", huma.Schema{Type: "string"}, "The value is gzip if the response is compressed. Only responses over 1 KiB to clients that accept it are.", true},
	{"Idempotent-Replayed", huma.Schema{Type: "string"}, "The value is true if this is the stored response to an earlier request with the same Idempotency-Key.", false},
	{"Retry-After", huma.Schema{Type: "integer"}, "The number of seconds to wait before trying again.", false},
	{"WWW-Authenticate", huma.Schema{Type: "string"}, "The credentials that the operation accepts.", false},
	{"ETag", huma.Schema{Type: "string"}, "The revision in quotes, for If-Match and If-None-Match.", false},
	{"Location", huma.Schema{Type: "string"}, "The path of the new resource.", false},
	{"X-Keepsake-Key-Id", huma.Schema{Type: "string"}, "The ID of the API key that forward authentication has judged.", false},
	{"X-Keepsake-User-Id", huma.Schema{Type: "string"}, "The ID of the user whose access token forward authentication has judged; else empty.", false},
	{"X-Keepsake-Workspace-Id", huma.Schema{Type: "string"}, "The workspace of the credential that forward authentication has judged.", false},
	{"X-Keepsake-Scopes", huma.Schema{Type: "string"}, "The scopes of the credential that forward authentication has judged, separated by spaces.", false},
	{"X-Keepsake-Error", huma.Schema{Type: "string"}, "The code of the error. Only refusals of forward authentication have this header.", false},
	{"X-Keepsake-Status", huma.Schema{Type: "string"}, "The value is 429 if forward authentication sends that refusal as 403.", false},
	{"X-Next-Cursor", huma.Schema{Type: "string"}, "The cursor of the next page of a list that was sent as CSV. The last page has none.", false},
}

const (
	headerPrefix   = "#/components/headers/"
	responsePrefix = "#/components/responses/"
)

// sharedHeaders returns the headers that can be on every response, or all others.
func sharedHeaders(everywhere bool) map[string]*huma.Header {
	list := map[string]*huma.Header{}
	for _, h := range sharedHeaderTable {
		if h.everywhere == everywhere {
			list[h.name] = &huma.Header{Description: h.doc, Schema: &h.schema}
		}
	}
	return list
}

// onEveryResponse reports whether a header can be on every response.
func onEveryResponse(name string) bool {
	return slices.ContainsFunc(sharedHeaderTable, func(h sharedHeader) bool { return h.everywhere && h.name == name })
}

// headers refers to the named headers.
func headers(names ...string) map[string]*huma.Param {
	refs := map[string]*huma.Param{}
	for _, name := range names {
		refs[name] = &huma.Param{Ref: headerPrefix + name}
	}
	return refs
}

// headersOf refers to the headers of op's success.
func headersOf(op *Operation) map[string]*huma.Param {
	switch {
	case op.Judging:
		return headers("X-Keepsake-Key-Id", "X-Keepsake-User-Id", "X-Keepsake-Workspace-Id", "X-Keepsake-Scopes")
	case op.Idempotent:
		return headers("Idempotent-Replayed")
	default:
		return headers()
	}
}

// errorHeaders refers to the headers of an error. Those that only forward authentication sends are among them, because it shares
// the responses of all operations.
func errorHeaders(status int) map[string]*huma.Param {
	switch status {
	case http.StatusUnauthorized:
		return headers("WWW-Authenticate", "X-Keepsake-Error")
	case http.StatusForbidden:
		return headers("Retry-After", "X-Keepsake-Error", "X-Keepsake-Status")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return headers("Retry-After", "X-Keepsake-Error")
	default:
		return headers("X-Keepsake-Error")
	}
}

// sharedParameters are headers of requests that the pipeline reads for many operations.
func sharedParameters() map[string]*huma.Param {
	text := func(pattern string) *huma.Schema { return &huma.Schema{Type: "string", Pattern: pattern} }
	return map[string]*huma.Param{
		"RequestId": {
			Name: "X-Request-Id", In: "header", Schema: &huma.Schema{Type: "string"},
			Description: "The ID of the request. An ID that does not match `^[A-Za-z0-9_-]{8,64}$` is replaced by a generated one.",
		},
		"AcceptVersion": {
			Name: "Accept-Version", In: "header", Schema: text("^v?[1-9][0-9]*$"),
			Description: "The version of the API to use. The default is the current version.",
		},
		"IdempotencyKey": {
			Name: "Idempotency-Key", In: "header", Schema: text("^[\\x20-\\x7e]{8,255}$"),
			Description: "A key that makes the request safe to retry. The same request with the same key within 24 hours returns the stored response and has no further effect.",
		},
		"IfNoneMatch": {
			Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: "string"},
			Description: "An entity tag. If it names the current revision, the response is 304.",
		},
	}
}

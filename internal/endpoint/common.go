package endpoint

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"keepsake/internal/problem"
)

// What every answer and every error has in common, as the document tells it. The pipeline of internal/api writes these.

type errorBody struct {
	Error     string        `json:"error" doc:"Machine-readable code."`
	Message   string        `json:"message" doc:"For people; its words may change."`
	Details   *errorDetails `json:"details,omitempty"`
	RequestID string        `json:"requestId"`
}

type errorDetails struct {
	Field         string        `json:"field,omitempty" doc:"The offending parameter: rateLimit.requestsPerMinute, items[3].text."`
	Issue         problem.Issue `json:"issue,omitempty" enum:"required,unknown,duplicate,type,format,too_short,too_long,too_small,too_large,not_allowed,unsupported,reused,conflict,expired,invalid"`
	RequiredScope string        `json:"requiredScope,omitempty"`
	Limit         string        `json:"limit,omitempty" doc:"The count of the tier that is reached."`
	Policy        string        `json:"policy,omitempty" doc:"The budget that is used up."`
}

type rateLimitBody struct {
	Error       string        `json:"error" enum:"rate_limit_exceeded"`
	Message     string        `json:"message"`
	Remaining   int64         `json:"remaining"`
	ResetTimeMs int64         `json:"resetTimeMs" doc:"Milliseconds until the limit resets."`
	Details     *errorDetails `json:"details,omitempty"`
	RequestID   string        `json:"requestId"`
}

type versionSunsetBody struct {
	Error              string `json:"error" enum:"version_sunset"`
	Message            string `json:"message"`
	MigrationGuideURL  string `json:"migrationGuideUrl"`
	ReplacementVersion string `json:"replacementVersion,omitempty" doc:"The oldest version after it that is served, if there is one."`
	SunsetAt           string `json:"sunsetAt" doc:"When it was sunset, RFC 3339."`
	RequestID          string `json:"requestId"`
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

// sharedHeader is a response header. everywhere says that each answer has it or, like Deprecation, may have it.
type sharedHeader struct {
	name       string
	schema     huma.Schema
	doc        string
	everywhere bool
}

var sharedHeaderTable = []sharedHeader{
	{"X-API-Version", huma.Schema{Type: "string"}, "The version that served the request.", true},
	{"X-RateLimit-Limit", huma.Schema{Type: "integer"}, "Requests per minute of the tier.", true},
	{"X-RateLimit-Remaining", huma.Schema{Type: "integer"}, "Requests left in the current window.", true},
	{"X-RateLimit-Reset", huma.Schema{Type: "integer"}, "Unix second at which the window ends.", true},
	{"X-RateLimit-Daily-Remaining", huma.Schema{Type: "integer"}, "What is left of the daily quota.", true},
	{"X-RateLimit-Monthly-Remaining", huma.Schema{Type: "integer"}, "What is left of the monthly quota.", true},
	{"X-RateLimit-Key-Limit", huma.Schema{Type: "integer"}, "Requests per minute of the key; on answers to a valid key.", true},
	{"X-RateLimit-Key-Remaining", huma.Schema{Type: "integer"}, "Requests left to the key in its window.", true},
	{"X-Request-Id", huma.Schema{Type: "string"}, "The caller's, or one made for the request.", true},
	{"X-Content-Type-Options", huma.Schema{Type: "string"}, "nosniff", true},
	{"Cache-Control", huma.Schema{Type: "string"}, "no-store on authenticated answers and on errors.", true},
	{"Deprecation", huma.Schema{Type: "string"}, "true, where the version is deprecated.", true},
	{"Sunset", huma.Schema{Type: "string"}, "HTTP date after which a deprecated version is gone.", true},
	{"X-API-Replacement-Version", huma.Schema{Type: "string"}, "The version that replaces a deprecated one.", true},
	{"Link", huma.Schema{Type: "string"}, "A deprecated version's guide and the same path in its successor.", true},
	{"X-API-Key-Rotate-By", huma.Schema{Type: "string"}, "HTTP date at which the older of two secrets dies; on calls with it.", true},
	{"X-API-Key-Expires", huma.Schema{Type: "string"}, "HTTP date at which the key expires; in its last 14 days.", true},
	{"Idempotent-Replayed", huma.Schema{Type: "string"}, "true, where the answer is that of an earlier request with the same Idempotency-Key.", false},
	{"Retry-After", huma.Schema{Type: "integer"}, "Seconds to wait.", false},
	{"WWW-Authenticate", huma.Schema{Type: "string"}, "The credential that is wanted.", false},
}

// ownHeaders says what the headers are that operations set themselves, where they do not say it.
var ownHeaders = map[string]string{
	"ETag":     "The revision in quotes, for If-Match and If-None-Match.",
	"Location": "Where the resource is.",
}

const headerPrefix = "#/components/headers/"

func sharedHeaders() map[string]*huma.Header {
	headers := map[string]*huma.Header{}
	for _, h := range sharedHeaderTable {
		schema := h.schema
		headers[h.name] = &huma.Header{Description: h.doc, Schema: &schema}
	}
	return headers
}

func headers(also ...string) map[string]*huma.Param {
	refs := map[string]*huma.Param{}
	for _, h := range sharedHeaderTable {
		if h.everywhere || slices.Contains(also, h.name) {
			refs[h.name] = &huma.Param{Ref: headerPrefix + h.name}
		}
	}
	return refs
}

// headersOf refers to the headers of op's success.
func headersOf(op *Operation) map[string]*huma.Param {
	if op.Idempotent {
		return headers("Idempotent-Replayed")
	}
	return headers()
}

func errorHeaders(status int) map[string]*huma.Param {
	switch status {
	case http.StatusUnauthorized:
		return headers("WWW-Authenticate")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return headers("Retry-After")
	default:
		return headers()
	}
}

// sharedParameters are headers of requests that the pipeline reads for many operations.
func sharedParameters() map[string]*huma.Param {
	text := func(pattern string) *huma.Schema { return &huma.Schema{Type: "string", Pattern: pattern} }
	return map[string]*huma.Param{
		"RequestId": {
			Name: "X-Request-Id", In: "header", Schema: &huma.Schema{Type: "string"},
			Description: "Names the request; taken if it matches ^[A-Za-z0-9_-]{8,64}$, else one is made.",
		},
		"AcceptVersion": {
			Name: "Accept-Version", In: "header", Schema: text("^v?[1-9][0-9]*$"),
			Description: "The API version wanted; the current one where it is absent.",
		},
		"IdempotencyKey": {
			Name: "Idempotency-Key", In: "header", Schema: text("^[\\x20-\\x7e]{8,255}$"),
			Description: "Repeating the request with the same key within 24 hours repeats the answer, not the effect.",
		},
		"IfNoneMatch": {
			Name: "If-None-Match", In: "header", Schema: &huma.Schema{Type: "string"},
			Description: "An entity tag; the answer is 304 while it is current.",
		},
	}
}

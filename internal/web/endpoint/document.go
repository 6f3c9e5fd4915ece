package endpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/problem"
)

const about = `Keepsake is search and long-term memory behind a governed API. Callers use API keys or access tokens, which have scopes, rate limits and quotas. Versions of the API have a lifecycle.

Every path that supports GET also supports HEAD. OPTIONS returns the methods of a path in Allow. Any other method of a path is refused with 405 method_not_allowed, and a path that does not exist with 404 not_found. Both responses have the body and the headers of every error. Responses can gain fields at any time. A request with an unknown field is refused.

The headers in x-every-response can be on every response. The responses list only their other headers. An operation that accepts no credential has an empty list of security requirements. Each operation lists the codes of its errors in x-error-codes.`

// Surface is a surface of the program that the document describes beside the API.
type Surface struct {
	Name        string // ai or backend. It is x-surface of its operations, and their IDs begin with it.
	Tag         string // of all its operations
	Description string // of the tag
	Server      string // base address; empty: that of the API
	Operations  *Registry
}

// id returns the ID of an operation of the surface in the document. Operations of several surfaces can share theirs.
func (s *Surface) id(op *Operation) string {
	if s == nil {
		return op.ID
	}
	return s.Name + capitalised(op.ID)
}

// described is an operation of the document, and the surface that it belongs to; nil for the API.
type described struct {
	*Operation
	surface *Surface
	to      *huma.Operation
}

// Document returns the OpenAPI 3.1 description of API version n with the unversioned operations and other surfaces. It is
// deterministic. server is the base address of the paths, or "/" if it is unknown.
func Document(r *Registry, n int, server string, surfaces ...Surface) ([]byte, error) {
	d := &document{
		registry: r, version: n,
		answers: newSchemas(answered, nil),
		api: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Keepsake API",
				Description: about,
				Version:     r.DocumentVersion(n),
				Contact:     &huma.Contact{Name: "The operator of this instance"},
				License:     &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
				Extensions:  map[string]any{"x-api-version": n},
			},
			Servers:    []*huma.Server{{URL: server}},
			Tags:       slices.Clone(r.tags),
			Paths:      map[string]*huma.PathItem{},
			Extensions: map[string]any{"x-every-response": map[string]any{"headers": sharedHeaders(true)}},
			Components: &huma.Components{
				Responses:  map[string]*huma.Response{"NotModified": notModified()},
				Parameters: sharedParameters(),
				Headers:    sharedHeaders(false),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"apiKey": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key, which identifies a program."},
					"bearer": {
						Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "An access token from POST /api/auth/login, which identifies a user.",
					},
				},
			},
		},
	}
	operations := of(r, n, nil)
	for i := range surfaces {
		s := &surfaces[i]
		d.api.Tags = append(d.api.Tags, &huma.Tag{Name: s.Tag, Description: s.Description})
		operations = append(operations, of(s.Operations, n, s)...)
	}
	for i := range operations {
		d.declare(&operations[i])
	}
	schemas := maps.Clone(d.answers.components())
	d.requests = newSchemas(asked, schemas)
	for _, op := range operations {
		d.describeRequest(op.Operation, op.to)
	}
	maps.Copy(schemas, d.requests.components())
	d.api.Components.Schemas = components{schemas: schemas}
	text, err := json.Marshal(d.api)
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document of version %d: %w", n, err)
	}
	formatted := jsontext.Value(text)
	if err := formatted.Format(jsontext.WithIndent("  "), jsontext.EscapeForHTML(false)); err != nil {
		return nil, fmt.Errorf("format the OpenAPI document of version %d: %w", n, err)
	}
	return append(formatted, '\n'), nil
}

// of lists the operations of a surface in version n of the API.
func of(r *Registry, n int, s *Surface) (list []described) {
	for _, op := range append(r.At(n), r.Unversioned()...) {
		list = append(list, described{Operation: op, surface: s})
	}
	return list
}

// components implements huma.Registry with the merged schemas of requests and responses.
type components struct {
	huma.Registry
	schemas map[string]*huma.Schema
}

// MarshalJSON writes the schemas by name.
func (c components) MarshalJSON() ([]byte, error) { return json.Marshal(c.schemas) }

type document struct {
	registry *Registry
	version  int
	api      *huma.OpenAPI
	answers  *schemas
	requests *schemas
}

// declare adds op without its request.
func (d *document) declare(op *described) {
	h := &huma.Operation{
		OperationID: op.surface.id(op.Operation),
		Summary:     op.Summary,
		Description: op.Description,
		Tags:        []string{op.Tag},
		Security:    []map[string][]string{}, // written even if it is empty: this operation needs no credential
		Responses:   map[string]*huma.Response{},
		Extensions:  map[string]any{},
	}
	op.to = h
	if op.Credentials&Key != 0 || op.Judging {
		h.Security = append(h.Security, map[string][]string{"apiKey": {}})
	}
	if op.Credentials&Bearer != 0 || op.Judging {
		h.Security = append(h.Security, map[string][]string{"bearer": {}})
	}
	if op.Credentials&Backend != 0 {
		h.Security = append(h.Security, map[string][]string{"backendSecret": {}})
		d.api.Components.SecuritySchemes["backendSecret"] = &huma.SecurityScheme{
			Type: "apiKey", In: "header", Name: "X-Keepsake-Backend", Description: "The backend secret, which identifies a service of the operator.",
		}
	}
	if op.Scope != 0 {
		h.Extensions["x-required-scope"] = op.Scope.String()
	}
	d.describeAnswer(op.Operation, h)
	d.describeErrors(op.Operation, h)
	path := op.Route(d.version)
	item := d.api.Paths[path]
	if item == nil {
		item = &huma.PathItem{}
		d.api.Paths[path] = item
	}
	if s := op.surface; s != nil {
		h.Tags, h.Extensions["x-surface"] = []string{s.Tag}, s.Name
		if s.Server != "" {
			h.Servers = []*huma.Server{{URL: s.Server}}
		}
	}
	switch op.Method {
	case http.MethodGet:
		item.Get = h
	case http.MethodPost:
		item.Post = h
	case http.MethodPut:
		item.Put = h
	case http.MethodPatch:
		item.Patch = h
	case http.MethodDelete:
		item.Delete = h
	}
}

func (d *document) describeAnswer(op *Operation, h *huma.Operation) {
	headers := headersOf(op)
	for _, own := range op.output.headers {
		if onEveryResponse(own.name) {
			continue
		}
		headers[own.name] = &huma.Param{Ref: headerPrefix + own.name}
		if own.name == "ETag" && op.Method == http.MethodGet {
			h.Responses["304"] = &huma.Response{Ref: responsePrefix + "NotModified"}
		}
	}
	var content map[string]*huma.MediaType
	if op.output.body != nil || op.output.line != nil || op.output.rawMedia != "" {
		content = map[string]*huma.MediaType{}
	}
	if op.output.body != nil {
		field := op.output.typ.FieldByIndex(op.output.bodyIndex)
		content[mediaJSON] = &huma.MediaType{Schema: d.answers.body(field.Type, capitalised(op.ID)+"Answer")}
	}
	if op.output.line != nil {
		content[MediaLines] = &huma.MediaType{Schema: d.answers.body(op.output.line.typ, capitalised(op.ID)+"Line")}
	}
	if op.output.rawMedia != "" {
		media, _, _ := strings.Cut(op.output.rawMedia, ";")
		content[media] = &huma.MediaType{Schema: &huma.Schema{}}
		if strings.HasPrefix(media, "text/") {
			content[media].Schema.Type = "string"
		}
	}
	if op.output.csvIndex != nil {
		content[MediaCSV] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
	}
	for _, status := range op.output.statuses {
		if status >= http.StatusBadRequest {
			continue // describeErrors
		}
		h.Responses[strconv.Itoa(status)] = &huma.Response{Description: successes[status], Headers: headers, Content: content}
	}
}

// codes lists every error code that op can return.
func (op *Operation) codes(d *input) []string {
	codes := []string{problem.CodeValidation, problem.CodeInternal, problem.CodeUnavailable}
	add := func(when bool, more ...string) {
		if when {
			codes = append(codes, more...)
		}
	}
	add(op.Since > 0, problem.CodeVersionSunset, problem.CodeVersionNotFound)
	add(op.Credentials != NoCredential, problem.CodeMissingCredentials, problem.CodeSuspended)
	add(op.Credentials&Key != 0,
		problem.CodeInvalidAPIKey, problem.CodeAPIKeyExpired, problem.CodeAPIKeyRevoked, problem.CodeAPIKeyDisabled,
		problem.CodeIPNotAllowed)
	add(op.Credentials&Bearer != 0, problem.CodeInvalidToken, problem.CodeTokenExpired)
	add(op.SignIn, problem.CodeInvalidCredentials, problem.CodeSuspended)
	add(op.Scope != 0, problem.CodeInsufficientScope)
	add(!op.Uncharged || op.Credentials != NoCredential, problem.CodeRateLimited)
	add(op.Idempotent, problem.CodeIdempotencyRunning)
	add(d.body != nil || d.streamIndex != nil, problem.CodePayloadTooLarge, problem.CodeUnsupportedMedia)
	for i := range d.params {
		add(d.params[i].place == inPath, problem.CodeNotFound)
		add(d.params[i].header == "If-Match", problem.CodeRevisionMismatch)
	}
	codes = append(codes, op.Errors...)
	slices.Sort(codes)
	return slices.Compact(codes)
}

// describeErrors refers to one shared response for each status. The codes that op can return are listed with op itself.
func (d *document) describeErrors(op *Operation, h *huma.Operation) {
	codes := op.codes(op.input)
	h.Extensions["x-error-codes"] = codes
	for _, code := range codes {
		status := StatusOf(code)
		shared := errorResponses[status]
		h.Responses[strconv.Itoa(status)] = &huma.Response{Ref: responsePrefix + shared.name}
		if d.api.Components.Responses[shared.name] != nil {
			continue
		}
		d.api.Components.Responses[shared.name] = &huma.Response{
			Description: shared.doc,
			Headers:     errorHeaders(status),
			Content: map[string]*huma.MediaType{
				mediaJSON: {Schema: d.answers.body(errorBodyOf(status), "")},
			},
		}
	}
}

func (d *document) describeRequest(op *Operation, h *huma.Operation) {
	in := op.input
	named := map[string]bool{}
	for i := range in.params {
		p := &in.params[i]
		if p.unsupported || p.header == "Accept" { // the response's content says what is accepted
			continue
		}
		named[p.name] = true
		schema := d.requests.field(&p.member, "")
		schema.Nullable = false // a pointer only shows that it was omitted
		param := &huma.Param{Name: p.name, In: string(p.place), Required: p.required, Schema: schema, Description: cmp.Or(schema.Description, paramDocs[p.name])}
		schema.Description = ""
		h.Parameters = append(h.Parameters, param)
	}
	shared := []string{"RequestId"}
	if op.Since == 0 || op.mounted {
		shared = append(shared, "AcceptVersion")
	}
	if op.Idempotent && !named["Idempotency-Key"] {
		shared = append(shared, "IdempotencyKey")
	}
	if h.Responses["304"] != nil {
		shared = append(shared, "IfNoneMatch")
	}
	for _, name := range shared {
		h.Parameters = append(h.Parameters, &huma.Param{Ref: "#/components/parameters/" + name})
	}
	var schema *huma.Schema
	switch {
	case in.streamIndex != nil:
		schema = &huma.Schema{Type: "string", Format: "binary"}
	case in.rawIndex != nil:
		schema = &huma.Schema{}
	case in.body != nil:
		schema = d.requests.body(reflect.TypeOf(op.newIn()).Elem().FieldByIndex(in.bodyIndex).Type, capitalised(op.ID)+"Body")
	default:
		return
	}
	h.RequestBody = &huma.RequestBody{
		Required: in.body != nil && !in.bodyOptional,
		Content:  map[string]*huma.MediaType{cmp.Or(in.media, mediaJSON): {Schema: schema}},
	}
	if len(op.Lines) > 0 {
		h.RequestBody.Content[in.media].Example = strings.Join(op.Lines, "\n") + "\n"
	}
	if in.patch {
		h.RequestBody.Content[mediaMergePatch] = h.RequestBody.Content[in.media]
	}
	if in.media == MediaLines {
		for _, alias := range linesAliases {
			h.RequestBody.Content[alias] = h.RequestBody.Content[in.media]
		}
	}
	if in.tableIndex != nil {
		h.RequestBody.Content[MediaCSV] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}, Example: op.Table}
	}
	if in.arrayIndex != nil {
		array := &huma.MediaType{Schema: &huma.Schema{Type: "array", Items: &huma.Schema{Type: "object"}}}
		if len(op.Lines) > 0 {
			array.Example = json.RawMessage("[" + strings.Join(op.Lines, ",") + "]")
		}
		h.RequestBody.Content[mediaJSON] = array
	}
}

func capitalised(s string) string {
	return strings.ToUpper(s[:1]) + s[1:]
}

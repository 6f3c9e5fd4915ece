// Package mcp is the Model Context Protocol (modelcontextprotocol.io): a surface on which agents find tools and call them.
// Each tool runs operations of the API for its caller, so scopes, bindings, validation, Idempotency-Key and the access log
// are those of the same calls over HTTP.
//
// The server keeps no session and opens no stream. A message is one POST, and its response is JSON.
package mcp

import (
	"context"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/endpoint"
)

// Path is the path of the endpoint. Below MetadataPrefix is the description for clients that look for its authorization (RFC
// 9728): at the endpoint's public path.
const (
	Path           = "/ai/mcp"
	MetadataPrefix = "/.well-known/oauth-protected-resource/"
)

// Options is what the endpoint says about the instance.
type Options struct {
	Release string // of the program
	// API and Agents are the addresses of the API and of the AI services, without a slash at their end. What agents get must
	// be absolute. They are empty for a process that only serves the folder's socket.
	API, Agents string
	BasePath    api.BasePath // of these addresses
}

// metadataPath returns the path of the metadata, which is not below the base path.
func (o *Options) metadataPath() string {
	return strings.TrimSuffix(MetadataPrefix, "/") + o.BasePath.Path(Path)
}

type server struct {
	Options
	tools []*tool
}

// Add declares the endpoint and its metadata.
func Add(r *endpoint.Registry, o Options) {
	s := &server{Options: o}
	s.tools = newTools(s)
	endpoint.Add(r, endpoint.Operation{
		ID: "callTools", Method: "POST", Path: Path, Tag: "mcp", Summary: "Send a message of the Model Context Protocol",
		Description: "The response of a request is 200 with a JSON-RPC response; a tool that fails says so in its result. Notifications " +
			"are 202. A call of a tool that the scopes of the credential do not allow is 403.",
		Credentials: endpoint.Key | endpoint.Bearer, Class: endpoint.Batch, Status: 200, Calls: true, CheckOrigin: true, TrailingSlash: true,
		Metadata: s.metadataPath(),
		Errors:   []string{problem.CodeInsufficientScope},
	}, s.handle)
	endpoint.Add(r, endpoint.Operation{
		ID: "getToolsMetadata", Method: "GET", Path: s.metadataPath(), Tag: "mcp", Summary: "Get the metadata of the tools' endpoint",
		Description: "The metadata of a protected resource (RFC 9728). It names no authorization server, because credentials are API keys.",
		Status:      200, Uncharged: true,
	}, s.metadata)
}

// handleMessage is a request to the endpoint.
type handleMessage struct {
	Revision       string `header:"MCP-Protocol-Version" doc:"The revision of the protocol."`
	Method         string `header:"Mcp-Method" doc:"The method of the message, since revision 2026-07-28."`
	Name           string `header:"Mcp-Name" doc:"The tool that is called, since revision 2026-07-28."`
	IdempotencyKey string `header:"Idempotency-Key" doc:"As in the operation that the tool runs, if it supports one."`
	Raw            []byte
}

type handledMessage struct {
	Status int `enum:"200,202,400,404"`
	Raw    []byte
}

// handle answers a body: one message, or a batch, which only early revisions have.
func (s *server) handle(ctx context.Context, in *handleMessage) (*handledMessage, error) {
	texts, batch, failed := split(in.Raw)
	headers := sent{revision: in.Revision, method: in.Method, name: in.Name}
	if batch && failed == nil && in.Revision > lastBatches {
		failed = &rpcError{Code: codeInvalidRequest, Message: "Since revision 2025-06-18, a body is one message.", status: 400}
	}
	if failed != nil {
		return answer(respond(onlyID(in.Raw), nil, failed))
	}
	x := &exchange{server: s, ctx: ctx, headers: headers, onceKey: in.IdempotencyKey}
	if !batch {
		r, err := x.message(texts[0])
		if err != nil || r == nil {
			return &handledMessage{Status: 202}, err
		}
		return answer(r)
	}
	return x.batch(texts)
}

// answer encodes the response to one message.
func answer(r *response) (*handledMessage, error) {
	body, err := wire.Encode(r)
	if err != nil {
		return nil, err
	}
	out := &handledMessage{Raw: append(body, '\n')}
	if r.Error != nil {
		out.Status = r.Error.status
	}
	return out, nil
}

// exchange is a body that is answered.
type exchange struct {
	*server
	ctx     context.Context
	headers sent
	onceKey string
	batched bool
	called  bool // a tool
}

// maxBatch is the max number of messages in a batch.
const maxBatch = 100

// batch answers the messages of a batch in their order. It can call one tool: each call is charged, and a body is charged as
// one request.
func (x *exchange) batch(texts []wire.Value) (*handledMessage, error) {
	if len(texts) > maxBatch {
		return answer(respond(nil, nil, &rpcError{Code: codeInvalidRequest, Message: "A batch has at most 100 messages.", status: 400}))
	}
	x.batched = true
	var responses []*response
	for _, text := range texts {
		r, err := x.message(text)
		if err != nil {
			return nil, err
		}
		if r != nil {
			responses = append(responses, r)
		}
	}
	if responses == nil {
		return &handledMessage{Status: 202}, nil
	}
	body, err := wire.Encode(responses)
	if err != nil {
		return nil, err
	}
	return &handledMessage{Raw: append(body, '\n')}, nil
}

// message answers a message; nil if it needs no response. An error is a response of HTTP.
func (x *exchange) message(text []byte) (*response, error) {
	m, failed := parse(text)
	if failed != nil {
		return respond(m.id, nil, failed), nil
	}
	revision, failed := revisionOf(x.headers, m)
	if failed != nil {
		return respond(m.id, nil, failed), nil
	}
	if !m.isRequest() {
		return nil, nil
	}
	result, failed, err := x.dispatch(m, revision)
	if err != nil {
		return nil, err
	}
	return respond(m.id, result, failed), nil
}

// metadataAnswer is the metadata of a protected resource (RFC 9728).
type metadataAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Resource      string   `json:"resource" doc:"The absolute address of the endpoint for tools."`
		Name          string   `json:"resource_name" doc:"The name of the service."`
		Scopes        []string `json:"scopes_supported" doc:"The scopes that let a credential call tools."`
		BearerMethods []string `json:"bearer_methods_supported" doc:"The ways to send a credential as a bearer token. The only one is the header Authorization."`
	}
}

func (s *server) metadata(context.Context, *struct{}) (*metadataAnswer, error) {
	out := &metadataAnswer{CacheControl: "public, max-age=300"}
	out.Body.Resource, out.Body.Name, out.Body.BearerMethods = s.Agents+Path, "Keepsake", []string{"header"}
	out.Body.Scopes = strings.Fields((auth.Read | auth.MemoryRead | auth.MemoryWrite).String())
	return out, nil
}

package mcp

import (
	"bytes"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

// The error codes of JSON-RPC, and those that the protocol adds.
const (
	codeParse               = -32700
	codeInvalidRequest      = -32600
	codeMethodNotFound      = -32601
	codeInvalidParams       = -32602
	codeHeaderMismatch      = -32020
	codeUnsupportedProtocol = -32022
)

// rpcError is an error of JSON-RPC. A tool that fails is a result, not such an error.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitzero"`

	status int // of the HTTP response; 0: 200
}

func invalidParams(message string) *rpcError {
	return &rpcError{Code: codeInvalidParams, Message: message}
}

// message is a JSON-RPC message from a client.
type message struct {
	id     wire.Value // nil for a notification or a response
	method string     // empty for a response
	params map[string]wire.Value
	meta   map[string]wire.Value // params._meta
}

// isRequest reports whether the message needs a response.
func (m *message) isRequest() bool { return m.id != nil && m.method != "" }

// split returns the messages of a body: one, or those of a batch.
func split(body []byte) (texts []wire.Value, batch bool, failed *rpcError) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '[' {
		return []wire.Value{body}, false, nil
	}
	if err := wire.Decode(body, &texts); err != nil {
		return nil, true, malformed(err)
	}
	if len(texts) == 0 {
		return nil, true, &rpcError{Code: codeInvalidRequest, Message: "The batch is empty.", status: 400}
	}
	return texts, true, nil
}

// parse decodes one message. Members that the protocol does not define are ignored, because later revisions add some. The
// message is not nil: after an error, it has the ID if one can be found in the text.
func parse(text []byte) (*message, *rpcError) {
	m := &message{}
	var members map[string]wire.Value
	if err := wire.Decode(text, &members); err != nil {
		m.id = onlyID(text)
		return m, malformed(err)
	}
	invalid := func(message string) (*message, *rpcError) {
		return m, &rpcError{Code: codeInvalidRequest, Message: message, status: 400}
	}
	if id, ok := members["id"]; ok {
		if !validID(id) {
			m.id = onlyID(text)
			return invalid("id must be a string or an integer.")
		}
		m.id = id
	}
	if version, _ := stringOf(members["jsonrpc"]); version != "2.0" {
		return invalid(`jsonrpc must be "2.0".`)
	}
	method, ok := members["method"]
	if !ok {
		if members["result"] == nil && members["error"] == nil {
			return invalid("method is required.")
		}
		return m, nil // a response: this server sends no requests, so nothing waits for it
	}
	if m.method, ok = stringOf(method); !ok || m.method == "" {
		m.method = ""
		return invalid("method must be a string that is not empty.")
	}
	if m.params, ok = objectOf(members["params"]); !ok {
		return m, &rpcError{Code: codeInvalidParams, Message: "params must be an object.", status: 400}
	}
	if m.meta, ok = objectOf(m.params["_meta"]); !ok {
		return m, &rpcError{Code: codeInvalidParams, Message: "_meta must be an object.", status: 400}
	}
	return m, nil
}

// onlyID returns the id in a text that is not a valid message; nil if there is none or more than one.
func onlyID(text []byte) wire.Value {
	if ids := FindIDs(text); len(ids) == 1 {
		return ids[0]
	}
	return nil
}

// malformed returns the error for a text that is not a JSON object.
func malformed(err error) *rpcError {
	e := &rpcError{Code: codeParse, Message: "The body is not valid JSON.", status: 400}
	if p, ok := problem.As(err); ok {
		e.Message = p.Message
		if p.Details.Issue == problem.Type {
			e.Code = codeInvalidRequest
		}
	}
	return e
}

// validID reports whether an ID is a string or an integer, as the protocol requires.
func validID(id wire.Value) bool {
	return id.Kind() == '"' || id.Kind() == '0' && !strings.ContainsAny(string(id), ".eE")
}

// stringOf decodes a JSON string.
func stringOf(v wire.Value) (text string, ok bool) {
	if v.Kind() != '"' {
		return "", false
	}
	return text, wire.Decode(v, &text) == nil
}

// objectOf decodes the members of a JSON object. An absent value and null have none.
func objectOf(v wire.Value) (members map[string]wire.Value, ok bool) {
	if len(v) == 0 || v.Kind() == 'n' {
		return nil, true
	}
	return members, wire.Decode(v, &members) == nil
}

// response is a JSON-RPC response.
type response struct {
	JSONRPC string     `json:"jsonrpc"`
	ID      wire.Value `json:"id"`
	Result  any        `json:"result,omitzero"`
	Error   *rpcError  `json:"error,omitzero"`
}

// respond returns the response to a message: a result, or an error.
func respond(id wire.Value, result any, failed *rpcError) *response {
	if id == nil {
		id = wire.Value("null")
	}
	if failed != nil {
		return &response{JSONRPC: "2.0", ID: id, Error: failed}
	}
	return &response{JSONRPC: "2.0", ID: id, Result: result}
}

package mcp

import (
	"encoding/base64"
	"slices"
	"strings"
)

// The protocol's revisions. Since the newest one, each request says its revision and capabilities in _meta, and there is no
// handshake. Before, a client sends initialize first. This server keeps no session in either case.
const (
	stateless     = "2026-07-28"
	lastHandshake = "2025-11-25"
	lastBatches   = "2025-03-26" // also the revision of requests without a header, as the protocol says
)

// revisions are all that are supported, newest first. They are dates, so they compare as texts.
var revisions = []string{stateless, lastHandshake, "2025-06-18", lastBatches, "2024-11-05"}

// The keys of _meta, and the request headers.
const (
	metaRevision     = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"

	headerRevision = "MCP-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
)

// sent are the headers of a request that belong to the protocol.
type sent struct {
	revision string
	method   string
	name     string
}

// unsupported returns the error for a revision that is not supported.
func unsupported(requested string) *rpcError {
	return &rpcError{
		Code: codeUnsupportedProtocol, Message: "Unsupported protocol version", status: 400,
		Data: map[string]any{"supported": revisions, "requested": requested},
	}
}

func mismatch(message string) *rpcError {
	return &rpcError{Code: codeHeaderMismatch, Message: "Header mismatch: " + message, status: 400}
}

// revisionOf returns the revision of a message.
func revisionOf(h sent, m *message) (string, *rpcError) {
	if h.revision != "" && !slices.Contains(revisions, h.revision) {
		return "", unsupported(h.revision)
	}
	declared, _ := stringOf(m.meta[metaRevision])
	switch {
	case h.revision == "" && declared == stateless:
		return "", mismatch("the header " + headerRevision + " is required.")
	case h.revision == "" && declared != "" && !slices.Contains(revisions, declared):
		return "", unsupported(declared)
	case h.revision == "":
		return lastBatches, nil
	case declared != "" && declared != h.revision:
		return "", mismatch(headerRevision + " differs from _meta.")
	case h.revision == stateless && m.isRequest():
		return stateless, checkStateless(h, m, declared)
	default:
		return h.revision, nil
	}
}

// checkStateless checks what a request of the newest revision must say in _meta and repeat in its headers.
func checkStateless(h sent, m *message, declared string) *rpcError {
	missing := func(name string) *rpcError {
		return &rpcError{Code: codeInvalidParams, Message: "_meta must have " + name + ".", status: 400}
	}
	if declared == "" {
		return missing(metaRevision)
	}
	if m.meta[metaCapabilities].Kind() != '{' {
		return missing(metaCapabilities)
	}
	if h.method != m.method {
		return mismatch(headerMethod + " must be the method.")
	}
	if m.method == "tools/call" {
		name, _ := stringOf(m.params["name"])
		if got, ok := headerValue(h.name); !ok || got == "" || got != name {
			return mismatch(headerName + " must be the name of the tool.")
		}
	}
	return nil
}

// headerValue decodes the value of a header, which clients encode if it is not plain ASCII.
func headerValue(value string) (string, bool) {
	const prefix, suffix = "=?base64?", "?="
	inner, ok := strings.CutPrefix(value, prefix)
	if !ok || !strings.HasSuffix(inner, suffix) {
		return value, true
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, suffix))
	return string(text), err == nil
}

// negotiated returns the revision for a client that asks for one with initialize: that one, or the newest one that has a
// handshake.
func negotiated(requested string) string {
	if requested != stateless && slices.Contains(revisions, requested) {
		return requested
	}
	return lastHandshake
}

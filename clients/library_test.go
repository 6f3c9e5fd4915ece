package clients_test

import (
	"os/exec"
	"testing"
)

// library is a client in another language than Go.
type library struct {
	language string
	// file is the file, from the root of the checkout, that contains the methods for operations with a tag.
	file func(tag string) string
	// calls returns the IDs of the operations that the methods call, as the text of the files says. A client
	// that is not complete has none.
	calls func(t *testing.T) map[string]bool
	// generated is the file with the types, and generate the command that writes it.
	generated, generate string
	// stamped is the generated file, in this folder, that has the hash of the document it was generated from.
	stamped string
	// fields returns what the types contain: Schema.property, and operation.parameter for queries.
	fields func(t *testing.T) map[string]bool
	// suite returns the command that runs the client's own tests. Its environment names the program to test; see environment.
	suite func(t *testing.T) *exec.Cmd
}

// libraries are the clients that the tests of this package test. A client in another language adds itself here and has a file
// of its own, such as typescript_test.go.
var libraries = []library{typescript, python}

// uncalled are operations that no client has a method for, with the reason.
var uncalled = map[string]string{
	"search":             "searchPost sends the query in a body, so that no proxy logs it",
	"aiCallTools":        "clients of the Model Context Protocol call it",
	"aiGetToolsMetadata": "clients of the Model Context Protocol call it",
	"backendForwardAuth": "proxies call it",
	"backendLivez":       "orchestrators call it",
	"backendReadyz":      "load balancers call it",
	"backendMetrics":     "Prometheus calls it",
}

package endpoint_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
)

func TestABriefOperationWritesItsOwnAnswer(t *testing.T) {
	t.Parallel()
	failed := errors.New("it failed")
	var fail error
	r := endpoint.NewRegistry()
	endpoint.AddBrief[struct {
		Body struct {
			Says string `json:"says"`
		}
	}](r, endpoint.Operation{
		ID: "brief", Method: "GET", Path: "/brief", Since: 1, Tag: "notes", Summary: "Test", Credentials: endpoint.Key, Scope: auth.None, Status: 200,
	}, func(_ context.Context, dst []byte) ([]byte, error) { return append(dst, `{"says":"this"}`...), fail })
	op := r.Operations()[0]
	if !op.Brief() {
		t.Error("it is not brief")
	}

	_, err := op.Bind(httptest.NewRequest("GET", "/api/v1/brief?more=1", nil), nil)
	wants(t, err, 400, "more", "unknown")
	in, err := op.Bind(httptest.NewRequest("GET", "/api/v1/brief", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	var resp endpoint.Response
	if err := op.Answer(t.Context(), in, &resp, []byte("before")); err != nil || resp.Status != 200 || string(resp.Body) != `{"says":"this"}` {
		t.Errorf("got %d %s, %v", resp.Status, resp.Body, err)
	}
	fail = failed
	if err := op.Answer(t.Context(), in, &resp, nil); !errors.Is(err, failed) {
		t.Errorf("got %v, want what its function answers", err)
	}
	if _, err := op.Run(t.Context(), in); err == nil {
		t.Error("Run runs what has no answer to encode")
	}
}

package api_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/api"
	"keepsake/internal/api/apitest"
	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
)

type numbersIn struct {
	Accept endpoint.Accept `header:"Accept"`
	Count  int             `query:"count"`
	Fail   string          `query:"fail"`
}

type numberLine struct {
	N int `json:"n"`
}

type numbersOut struct {
	Body  struct{}
	Lines iter.Seq2[*numberLine, error]
}

// numbers answers with Count lines, and then fails if it is told to.
func numbers(_ context.Context, in *numbersIn) (*numbersOut, error) {
	out := &numbersOut{}
	if !in.Accept.Lines() {
		return out, nil
	}
	out.Lines = func(yield func(*numberLine, error) bool) {
		for n := range in.Count {
			if !yield(&numberLine{n}, nil) {
				return
			}
		}
		switch in.Fail {
		case "unavailable":
			yield(nil, problem.NotAvailable("Come back.", 1))
		case "broken":
			yield(nil, errors.New("secret of the failure"))
		}
	}
	return out, nil
}

func TestAnAnswerInLines(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) {
		endpoint.Add(o.Operations, endpoint.Operation{
			ID: "numbers", Method: "GET", Path: "/numbers", Since: 1, Tag: "notes", Summary: "Test", Credentials: endpoint.Key,
			Class: endpoint.Stream, Status: 200,
		}, numbers)
	})
	key := b.Key(apitest.Operator, auth.All, nil)
	addr := "http://" + b.listen()
	get := func(method, query string) (*http.Response, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, addr+"/api/v1/numbers?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", key)
		r.Header.Set("Accept", endpoint.MediaLines)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp, string(body), err
	}

	resp, body, err := get("GET", "count=100000")
	if err != nil || strings.Count(body, "\n") != 100_000 || !strings.HasSuffix(body, "\n{\"n\":99999}\n") {
		t.Errorf("100,000 lines: got %d, %v", strings.Count(body, "\n"), err)
	}
	for name, want := range map[string]string{"Content-Type": endpoint.MediaLines, "X-API-Version": "1", "Cache-Control": "no-store"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if resp, body, err := get("GET", "count=0"); err != nil || resp.StatusCode != 200 || body != "" {
		t.Errorf("no lines: %d %q %v", resp.StatusCode, body, err)
	}
	if resp, body, err := get("HEAD", "count=10"); err != nil || resp.StatusCode != 200 || body != "" {
		t.Errorf("HEAD: %d %q %v", resp.StatusCode, body, err)
	}
	// What fails at once has its status, what fails later is not taken for whole.
	if resp, body, _ := get("GET", "count=10&fail=unavailable"); resp.StatusCode != 503 || !strings.Contains(body, `"unavailable"`) {
		t.Errorf("unavailable after 10 lines: %d %s", resp.StatusCode, body)
	}
	if resp, body, _ := get("GET", "count=10&fail=broken"); resp.StatusCode != 500 || strings.Contains(body, "secret") {
		t.Errorf("broken after 10 lines: %d %s", resp.StatusCode, body)
	}
	if resp, body, err := get("GET", "count=100000&fail=broken"); err == nil || resp.StatusCode != 200 || strings.Contains(body, "secret") {
		t.Errorf("broken after 100,000 lines: %d, %d bytes, %v; want the connection cut", resp.StatusCode, len(body), err)
	}
}

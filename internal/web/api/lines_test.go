package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
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
	Lines endpoint.Sequence[numberLine]
}

// numbers answers with Count lines, and then fails if the request asks for it.
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

type countIn struct {
	Body struct {
		Count int    `json:"count" required:"false"`
		Fail  string `json:"fail" required:"false"`
	}
}

type countOut struct {
	Status int `enum:"200,201"`
	Body   struct {
		Count   int                           `json:"count"`
		Numbers endpoint.Sequence[numberLine] `json:"numbers"`
	}
}

// TestAnAnswerInPieces holds that a list that is encoded as it is sent is in an answer like any other, large or small.
func TestAnAnswerInPieces(t *testing.T) {
	t.Parallel()
	ran := 0
	b := setup(t, func(o *api.Options) {
		endpoint.Add(o.Operations, endpoint.Operation{
			ID: "count", Method: "POST", Path: "/count", Since: 1, Tag: "notes", Summary: "Test", Credentials: endpoint.Key,
			Class: endpoint.Batch, Status: 200, Idempotent: true,
		}, func(ctx context.Context, in *countIn) (*countOut, error) {
			ran++
			counted, err := numbers(ctx, &numbersIn{Accept: endpoint.MediaLines, Count: in.Body.Count, Fail: in.Body.Fail})
			out := &countOut{Status: 201}
			out.Body.Count, out.Body.Numbers = in.Body.Count, counted.Lines
			return out, err
		})
	})
	key := b.Key(apitest.Operator, auth.All, nil)
	addr := "http://" + b.listen()
	post := func(body string, headers ...string) (*http.Response, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, addr+"/api/v1/count", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", key)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return resp, string(text), err
	}
	list := func(n int) string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf(`{"n":%d}`, i)
		}
		return fmt.Sprintf(`{"count":%d,"numbers":[%s]}`+"\n", n, strings.Join(lines, ","))
	}
	// An answer of a chunk at most has its length, as any other.
	for n, hasLength := range map[int]bool{0: true, 1: true, 500: true, 100_000: false} {
		body := fmt.Sprintf(`{"count":%d}`, n)
		for _, headers := range [][]string{nil, {"Idempotency-Key", body + "--"}, {"Idempotency-Key", body + "--"}} {
			resp, text, err := post(body, headers...)
			if err != nil || resp.StatusCode != 201 || text != list(n) {
				t.Errorf("%d numbers, %v: got %d %.80s, %v", n, headers, resp.StatusCode, text, err)
			}
			if known := resp.ContentLength == int64(len(text)); known != (hasLength || headers != nil) {
				t.Errorf("%d numbers, %v: a length of %d for %d bytes", n, headers, resp.ContentLength, len(text))
			}
			for name, want := range map[string]string{"Content-Type": "application/json", "X-API-Version": "1", "Cache-Control": "no-store"} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%d numbers: %s is %q, want %q", n, name, got, want)
				}
			}
			if resp.Header.Get("X-RateLimit-Remaining") == "" || resp.Header.Get("X-Request-Id") == "" {
				t.Errorf("%d numbers: the headers are %v", n, resp.Header)
			}
		}
	}
	if ran != 8 {
		t.Errorf("it ran %d times, want 8: once for each kept answer", ran)
	}
	if resp, text, _ := post(`{"count":10,"fail":"unavailable"}`); resp.StatusCode != 503 || !strings.Contains(text, `"unavailable"`) {
		t.Errorf("unavailable after 10: %d %s", resp.StatusCode, text)
	}
	if resp, text, _ := post(`{"count":10,"fail":"broken"}`); resp.StatusCode != 500 || strings.Contains(text, "secret") {
		t.Errorf("broken after 10: %d %s", resp.StatusCode, text)
	}
	if resp, text, err := post(`{"count":100000,"fail":"broken"}`); err == nil || resp.StatusCode != 201 || strings.Contains(text, "secret") {
		t.Errorf("broken after 100,000: %d, %d bytes, %v; want the connection cut", resp.StatusCode, len(text), err)
	}
	if resp, text, err := post(`{"count":100000,"fail":"broken"}`, "Idempotency-Key", "a-broken-one"); err != nil || resp.StatusCode != 500 {
		t.Errorf("broken and kept: %d, %.80s, %v; want it refused", resp.StatusCode, text, err)
	}
}

// A list whose client has gone is made no further, and a HEAD of it says how long it is.
func TestAListEndsWithItsClient(t *testing.T) {
	t.Parallel()
	type item struct {
		Text string `json:"text"`
	}
	type list struct {
		Body struct {
			Items endpoint.Sequence[item] `json:"items"`
		}
	}
	const items, gone = 1_000, 100
	made, leave := 0, func() {}
	b := setup(t, func(o *api.Options) {
		op := endpoint.Operation{ID: "list", Method: "GET", Path: "/list", Since: 1, Tag: "notes", Summary: "Test", Credentials: endpoint.Key, Status: 200}
		endpoint.Add(o.Operations, op, func(context.Context, *struct{}) (*list, error) {
			out := &list{}
			out.Body.Items = func(yield func(*item, error) bool) {
				for made = 1; made <= items; made++ {
					if made == gone {
						leave()
					}
					if !yield(&item{Text: strings.Repeat("x", 10_000)}, nil) {
						return
					}
				}
			}
			return out, nil
		})
	})
	key := b.Key(apitest.Operator, auth.All, nil)
	whole := b.do("GET", "/api/v1/list", "", "X-API-Key", key).want(t, 200, "")
	if head := b.do("HEAD", "/api/v1/list", "", "X-API-Key", key); head.Header.Get("Content-Length") != strconv.Itoa(len(whole.text)) {
		t.Errorf("a HEAD says %s, want %d", head.Header.Get("Content-Length"), len(whole.text))
	}
	ctx, cancel := context.WithCancel(t.Context())
	leave = cancel
	defer func() {
		if fault := recover(); fault != http.ErrAbortHandler || made > gone+10 {
			t.Errorf("%d items were made after the client had gone, %v", made-gone, fault)
		}
	}()
	b.send(request("GET", "/api/v1/list", "", "X-API-Key", key).WithContext(ctx))
}

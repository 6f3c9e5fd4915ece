package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/client"
)

// The limits of a part of an import.
const (
	partLines = 5_000
	partBytes = 4 << 20
)

// scripted answers requests one after the other from a list and remembers them.
type scripted struct {
	answers  []answer
	requests []received
	slept    []time.Duration
	now      time.Time
}

type answer struct {
	status     int // or lost, or cut
	retryAfter string
	body       string
}

const (
	lost = -1 // the connection ends before the answer
	cut  = -2 // the connection ends within the answer
)

type received struct {
	Line, Key, Idempotency, IfMatch, Media, Body string
}

func serve(t *testing.T, s *scripted, options ...client.Option) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.requests = append(s.requests, received{
			r.Method + " " + r.URL.RequestURI(), r.Header.Get("X-API-Key"), r.Header.Get("Idempotency-Key"),
			r.Header.Get("If-Match"), r.Header.Get("Content-Type"), string(body),
		})
		a := s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
		switch {
		case a.status == lost:
			panic(http.ErrAbortHandler)
		case a.status == cut:
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, a.body)
			panic(http.ErrAbortHandler)
		case a.retryAfter != "":
			w.Header().Set("Retry-After", a.retryAfter)
		}
		w.WriteHeader(a.status)
		io.WriteString(w, a.body)
	}))
	t.Cleanup(server.Close)
	clock := client.Clock(func() time.Time { return s.now }, func(_ context.Context, d time.Duration) error {
		s.slept, s.now = append(s.slept, d), s.now.Add(d)
		return nil
	})
	options = append([]client.Option{clock, client.Jitter(func() float64 { return 1 })}, options...)
	c, err := client.New(server.URL+"/", "kpsk_test", options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const limited = `{"error":"rate_limit_exceeded","message":"Wait 7 seconds.","details":{"policy":"key_minute"},"requestId":"req_1"}`

func TestARefusalIsATypedError(t *testing.T) {
	t.Parallel()
	s := &scripted{answers: []answer{{
		400, "",
		`{"error":"validation_error","message":"A scope is unknown.","details":{"field":"scopes[1]","issue":"not_allowed"},"requestId":"req_1","later":1}`,
	}}}
	_, err := serve(t, s).CreateAPIKey(t.Context(), client.NewAPIKey{Name: "x"})
	var got *client.Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want an *Error", err)
	}
	want := &client.Error{
		Status: 400, Code: "validation_error", Message: "A scope is unknown.", RequestID: "req_1",
		Details: client.Details{Field: "scopes[1]", Issue: "not_allowed"}, Attempts: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err.Error() != "A scope is unknown. (scopes[1]: not_allowed)" {
		t.Errorf("text: %q", err.Error())
	}
	if len(s.requests) != 1 {
		t.Errorf("a 400 was repeated: %d requests", len(s.requests))
	}
}

func TestAProxysPageStillGivesItsStatus(t *testing.T) {
	t.Parallel()
	s := &scripted{answers: []answer{{502, "", "<html>Bad gateway</html>"}}}
	_, err := serve(t, s).Health(t.Context())
	var got *client.Error
	if !errors.As(err, &got) || got.Status != 502 || got.Code != "" || !strings.Contains(got.Message, "502") {
		t.Errorf("got %#v", err)
	}
}

func TestAChangeSendsWhatItNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	s := &scripted{answers: []answer{{200, "", `{}`}}}
	revision := int64(3)
	_, err := serve(t, s).ChangeAPIKey(t.Context(), "key_1", client.APIKeyChange{
		Name: client.To("crawler"), ExpiresAt: client.Cleared[time.Time](), Disabled: client.To(false),
	}, &revision)
	if err != nil {
		t.Fatal(err)
	}
	got := s.requests[0]
	if got.Body != `{"name":"crawler","expiresAt":null,"disabled":false}` || got.IfMatch != `"3"` {
		t.Errorf("sent %+v", got)
	}
}

func TestAServerThatDoesNotAnswerIsNamedAndTheQueryIsNot(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := client.New(server.URL, "", client.Retries(0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ListDocuments(t.Context(), client.DocumentQuery{Collection: "canary"})
	if want := "GET " + server.URL + "/api/v1/documents: dial tcp"; err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v, want %s…", err, want)
	}
}

func TestIDsAreEscapedInPaths(t *testing.T) {
	t.Parallel()
	s := &scripted{answers: []answer{{200, "", `{}`}}}
	if _, err := serve(t, s).Document(t.Context(), "a/b?c"); err != nil {
		t.Fatal(err)
	}
	if got := s.requests[0].Line; got != "GET /api/v1/documents/a%2Fb%3Fc" {
		t.Errorf("got %s", got)
	}
}

func TestEachReadsAllPagesAndStopsWhenAskedTo(t *testing.T) {
	t.Parallel()
	pages := []answer{
		{200, "", `{"items":[{"id":"a"},{"id":"b"}],"nextCursor":"next"}`},
		{200, "", `{"items":[{"id":"c"}],"nextCursor":null}`},
	}
	s := &scripted{answers: pages}
	var ids []string
	for d, err := range serve(t, s).EachDocument(t.Context(), client.DocumentQuery{Tags: []string{"x", "y"}}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, ids); diff != "" {
		t.Error(diff)
	}
	if got := s.requests[1].Line; got != "GET /api/v1/documents?cursor=next&tag=x&tag=y" {
		t.Errorf("second page: %s", got)
	}
	s = &scripted{answers: pages}
	for range serve(t, s).EachDocument(t.Context(), client.DocumentQuery{}) {
		break
	}
	if len(s.requests) != 1 {
		t.Errorf("%d requests after a break", len(s.requests))
	}
}

func TestAddressesAndKeysThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"localhost:8080", ""}, {"", ""}, {"ftp://x", ""}, {"http://", ""}, {"http://x", "kpsk_a\nb"}} {
		if _, err := client.New(c[0], c[1]); err == nil {
			t.Errorf("New(%q, %q): no error", c[0], c[1])
		}
	}
}

// imports is a server that takes imports: it counts lines, refuses those whose text is "bad", and remembers the rest.
type imports struct {
	parts int
	texts []string
}

func (i *imports) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.parts++
	body, _ := io.ReadAll(r.Body)
	out := client.Import{}
	n := int64(0)
	for line := range strings.Lines(string(body)) {
		n++
		if strings.TrimSpace(line) == "" {
			continue
		}
		out.Received++
		text := strings.TrimSuffix(line, "\n")
		if text == "bad" {
			out.Failed++
			out.Errors = append(out.Errors, client.ImportError{Line: n, Issue: "format"})
			continue
		}
		out.Created++
		i.texts = append(i.texts, text)
	}
	json.NewEncoder(w).Encode(out)
}

func TestAnImportIsCutAtLineEndsAndItsPartsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		many := rapid.IntRange(0, 3).Draw(t, "thousands of lines") * partLines
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "bad", "a", `{"x":1}`}), 0, 20).Draw(t, "lines")
		for range many {
			lines = append(lines, "z")
		}
		lines = append(lines, rapid.SliceOfN(rapid.SampledFrom([]string{"", "bad", "b"}), 0, 20).Draw(t, "more lines")...)
		text := strings.Join(lines, "\n")
		if rapid.Bool().Draw(t, "ends with a newline") && text != "" {
			text += "\n"
		}
		server := &imports{}
		listening := httptest.NewServer(server)
		defer listening.Close()
		c, _ := client.New(listening.URL, "")
		var done int64
		got, err := c.ImportDocuments(context.Background(), strings.NewReader(text), func(n int64) { done = n })
		if err != nil {
			t.Fatal(err)
		}
		want := client.Import{Errors: []client.ImportError{}, Issues: []client.ImportIssue{}}
		var texts []string
		for i, line := range lines {
			switch line {
			case "":
			case "bad":
				want.Received++
				want.Failed++
				want.Errors = append(want.Errors, client.ImportError{Line: int64(i + 1), Issue: "format"})
			default:
				want.Received++
				want.Created++
				texts = append(texts, line)
			}
		}
		if diff := cmp.Diff(&want, &got.Import); diff != "" {
			t.Fatal(diff)
		}
		if !slices.Equal(texts, server.texts) { // cmp takes long to find thousands of lines equal
			t.Fatal(cmp.Diff(texts, server.texts))
		}
		if done != int64(len(text)) {
			t.Fatalf("progress ended at %d of %d bytes", done, len(text))
		}
	})
}

func TestAPartOfAnImportIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	server := &imports{}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	c, _ := client.New(listening.URL, "")
	line := strings.Repeat("x", partBytes/3) + "\n"
	got, err := c.ImportDocuments(t.Context(), strings.NewReader(strings.Repeat(line, 7)), nil)
	if err != nil || got.Created != 7 || server.parts != 4 {
		t.Errorf("got %+v in %d parts, %v", got, server.parts, err)
	}
	_, err = c.ImportDocuments(t.Context(), strings.NewReader("a\n"+strings.Repeat("x", 4<<20+1)), nil)
	if !errors.Is(err, client.ErrLineTooLong) || !strings.Contains(err.Error(), "line 2:") {
		t.Errorf("got %v", err)
	}
}

func TestArraysAreImportedAsLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		texts []string
		err   string
	}{
		{"[]", nil, ""},
		{"\ufeff[{\"id\":\"a\"}]", []string{`{"id":"a"}`}, ""},
		{" \n[\n  {\n    \"id\": \"a\"\n  },\n  7 ]\n", []string{`{"id":"a"}`, "7"}, ""},
		{`[{"id":"a"},{"id":`, []string{`{"id":"a"}`}, "element 2"},
		{`[{"id":"a"}] {}`, []string{`{"id":"a"}`}, "after the JSON array"},
		{`[{"id":"a"}`, []string{`{"id":"a"}`}, "unexpected EOF"},
	} {
		server := &imports{}
		listening := httptest.NewServer(server)
		importer, _ := client.New(listening.URL, "")
		var done int64
		got, err := importer.ImportDocuments(t.Context(), strings.NewReader(c.text), func(n int64) { done = n })
		listening.Close()
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, want %q", c.text, err, c.err)
		}
		if diff := cmp.Diff(c.texts, server.texts); diff != "" || got.Created != int64(len(c.texts)) {
			t.Errorf("%q: created %d (-want +got):\n%s", c.text, got.Created, diff)
		}
		if len(c.texts) > 0 && (done == 0 || done > int64(len(c.text))) {
			t.Errorf("%q: progress ended at %d of %d bytes", c.text, done, len(c.text))
		}
	}
}

func TestAFailedPartIsTheEndAndSaysFromWhichLine(t *testing.T) {
	t.Parallel()
	s := &scripted{answers: []answer{
		{200, "", fmt.Sprintf(`{"received":%d,"created":%[1]d}`, partLines)},
		{401, "", `{"error":"api_key_revoked","message":"This API key has been revoked."}`},
	}}
	got, err := serve(t, s).ImportDocuments(t.Context(), strings.NewReader(strings.Repeat("{}\n", partLines+1)), nil)
	want := fmt.Sprintf("the lines before line %d were sent, and the rest was not: This API key has been revoked.", partLines+1)
	if err == nil || err.Error() != want || got.Created != partLines {
		t.Errorf("got %+v, %v", got, err)
	}
}

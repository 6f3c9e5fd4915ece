package api_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
)

const onceKey = "once-and-only-once"

func (b *bundle) post(body, key string, headers ...string) answer {
	b.t.Helper()
	return b.do("POST", "/api/v1/notes", body, append([]string{"X-API-Key", key, "Idempotency-Key", onceKey}, headers...)...)
}

func TestARepeatedPostIsAnsweredWithoutAnEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	first := b.post(`{"text":"a"}`, key).want(t, 201, "")
	if first.object["secret"] != "shown once" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("the first answer is %s with %v", first.text, first.Header)
	}
	again := b.post(`{"text":"a"}`, key).want(t, 201, "")
	if b.notes.created != 1 || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("created %d times, header %q", b.notes.created, again.Header.Get("Idempotent-Replayed"))
	}
	if secret, there := again.object["secret"]; !there || secret != nil || again.object["id"] != first.object["id"] {
		t.Errorf("the repeated answer is %s, want the first with a null secret", again.text)
	}
	for _, name := range []string{"Location", "ETag"} {
		if again.Header.Get(name) != first.Header.Get(name) || first.Header.Get(name) == "" {
			t.Errorf("%s is %q, was %q", name, again.Header.Get(name), first.Header.Get(name))
		}
	}
	other := b.post(`{"text":"b"}`, key).want(t, 400, "validation_error")
	if other.details("field") != "Idempotency-Key" || other.details("issue") != "reused" {
		t.Errorf("another body is answered %s", other.text)
	}
	b.post(`{"text":1}`, key).want(t, 400, "validation_error")

	// The same key text belongs to each credential alone, and ends after a day.
	b.post(`{"text":"a"}`, b.Key(apitest.Operator, auth.All, nil)).want(t, 201, "")
	b.clock.Move(24 * time.Hour)
	b.post(`{"text":"b"}`, key).want(t, 201, "")
	if b.notes.created != 3 {
		t.Errorf("created %d times, want 3", b.notes.created)
	}
}

func TestARefusalIsRepeatedAndAFaultIsNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	b.notes.fail = errors.New("a disk is gone")
	b.post(`{"text":"a"}`, key).want(t, 500, "internal_error")
	b.notes.fail = problem.NotAvailable("Not now.", time.Second)
	b.post(`{"text":"a"}`, key).want(t, 503, "unavailable")
	b.notes.fail = problem.Conflicts("There is one already.")
	first := b.post(`{"text":"a"}`, key).want(t, 409, "conflict")
	b.notes.fail = nil
	again := b.post(`{"text":"a"}`, key).want(t, 409, "conflict")
	if again.text != first.text || again.Header.Get("Idempotent-Replayed") != "true" || b.notes.created != 0 {
		t.Errorf("got %s after %s, created %d", again.text, first.text, b.notes.created)
	}
}

func TestARetryWhileTheFirstRunsIsToldSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	b.notes.block, b.notes.entered = make(chan struct{}), make(chan struct{})
	done := make(chan answer)
	go func() { done <- b.post(`{"text":"a"}`, key) }()
	<-b.notes.entered
	b.post(`{"text":"a"}`, key).want(t, 409, "idempotency_in_progress")
	close(b.notes.block)
	(<-done).want(t, 201, "")
	if a := b.post(`{"text":"a"}`, key).want(t, 201, ""); a.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("after the first has ended its answer is not repeated")
	}
}

func TestALargeAnswerIsRebuiltFromWhatItCreated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	body := `{"text":"` + strings.Repeat("a", 100_000) + `"}`
	first := b.post(body, key).want(t, 201, "")
	again := b.post(body, key).want(t, 201, "")
	if again.object["text"] != first.object["text"] || again.object["secret"] != nil || b.notes.created != 1 {
		t.Errorf("rebuilt %d bytes, want the text of %d, created %d times", len(again.text), len(first.text), b.notes.created)
	}
	clear(b.notes.text)
	b.post(body, key).want(t, 404, "not_found")
}

func TestARepeatedStreamIsComparedByItsHash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	load := func(body string) answer {
		return b.do("POST", "/api/v1/notes/import", body, "X-API-Key", key, "Idempotency-Key", onceKey, "Content-Type", "application/x-ndjson")
	}
	lines := strings.Repeat(`{"id":"a"}`+"\n", 10_000)
	first := load(lines).want(t, 200, "")
	again := load(lines).want(t, 200, "")
	if again.text != first.text || again.Header.Get("Idempotent-Replayed") != "true" || b.notes.created != 1 {
		t.Errorf("got %s after %s, ran %d times", again.text, first.text, b.notes.created)
	}
	if a := load(lines+" ").want(t, 400, "validation_error"); a.details("issue") != "reused" {
		t.Errorf("another body is answered %s", a.text)
	}
}

func TestAnIdempotencyKeyIsPrintable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, func(*apikey.APIKey) {})
	for text, issue := range map[string]string{
		"short": "too_short", strings.Repeat("a", 256): "too_long", "tab\tinside it": "format", "ümlaut-key": "format",
	} {
		a := b.do("POST", "/api/v1/notes", `{"text":"a"}`, "X-API-Key", key, "Idempotency-Key", text).want(t, 400, "validation_error")
		if a.details("field") != "Idempotency-Key" || a.details("issue") != issue {
			t.Errorf("%q: got %s, want %s", text, a.text, issue)
		}
	}
}

func TestARequestThatChangesNothingIsNoRetry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.Key(apitest.Operator, auth.All, nil)
	for range 2 {
		if a := b.post(`{"text":"harmless"}`, key).want(t, 201, ""); a.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("it was answered by an older answer: %s", a.text)
		}
	}
	b.do("POST", "/api/v1/notes", `{"text":"harmless"}`, "X-API-Key", key, "Idempotency-Key", "short").want(t, 201, "")
	b.post(`{"text":"a"}`, key).want(t, 201, "")
	b.post(`{"text":"b"}`, key).want(t, 400, "validation_error")
	if b.notes.created != 4 {
		t.Errorf("created %d times, want 4", b.notes.created)
	}
}

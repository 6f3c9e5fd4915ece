package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/memory/seal"
)

// vault is the keys of the bundle's instance.
type vault struct{ *seal.Subjects }

func (v vault) AnswerKey(ctx context.Context, name idempotency.KeyName) (idempotency.Key, error) {
	if name == (idempotency.KeyName{}) {
		return seal.InstanceKey([]byte(strings.Repeat("i", 32)))
	}
	key, err := v.Find(ctx, name.WorkspaceID, name.Subject, name.Generation)
	if err != nil {
		return nil, err
	}
	return key, nil
}

func (b *bundle) vault(t *testing.T) vault {
	t.Helper()
	secrets, err := seal.Open(t.Context(), b.store.Secrets, seal.MasterKey{1}, true)
	if err != nil {
		t.Fatal(err)
	}
	v := vault{seal.NewSubjects(seal.SubjectsOptions{Store: b.store.SubjectKeys, Secrets: secrets, Now: b.now})}
	b.SealBy(v)
	return v
}

func person(n byte) idempotency.KeyName {
	return idempotency.KeyName{WorkspaceID: "wsp_a", Subject: [16]byte{n}, Generation: 1}
}

func (v vault) make(t *testing.T, names ...idempotency.KeyName) {
	t.Helper()
	for _, n := range names {
		if n.Subject == ([16]byte{}) {
			continue
		}
		if _, err := v.Ensure(t.Context(), n.WorkspaceID, []seal.SubjectGeneration{{Subject: n.Subject, Generation: n.Generation}}); err != nil {
			t.Fatal(err)
		}
	}
}

// told returns a response with a text that must be sealed with some keys.
func told(location, text string, names ...idempotency.KeyName) idempotency.Work {
	return idempotency.Work{
		Run: func(ctx context.Context) (idempotency.Outcome, error) {
			for _, n := range names {
				idempotency.SealWith(ctx, n)
			}
			return idempotency.Outcome{Status: 200, Location: location, Body: []byte(text)}, nil
		},
		Refused: func(*problem.Problem) idempotency.Outcome { return idempotency.Outcome{Status: 500} },
	}
}

func asked(key string) idempotency.Request {
	return idempotency.Request{Credential: "key_1", Method: "POST", Path: "/things", Key: key}
}

const canary = "the canary sings of a person"

func TestStoredAnswerAboutSubjectsIsSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := setupIn(t, dir)
	v := b.vault(t)
	v.make(t, person(1), person(2))
	texts := map[string]string{"small": canary, "large": canary + strings.Repeat(" la", 1<<20)}
	for key, names := range map[string][]idempotency.KeyName{
		"of one person": {person(1), person(1)}, "of two persons": {person(2), person(1)}, "of the instance": {{}},
		"of all of them": {person(1), {}, person(2)},
	} {
		for size, text := range texts {
			request := asked(size + " " + key)
			if kept, err := b.Do(t.Context(), request, b.hashed(""), told("", text, names...)); kept != nil || err != nil {
				t.Fatalf("%s: %v, %v", key, kept, err)
			}
			kept, err := b.Do(t.Context(), request, b.hashed(""), told("", "another", names...))
			if err != nil || kept == nil || string(kept.Body) != text {
				t.Errorf("%s: the retry got %v, %v", key, kept, err)
			}
		}
	}
	streamed := asked("a stream of a person")
	run := func(ctx context.Context, _ io.Reader) (idempotency.Outcome, error) {
		return told("", canary, person(1)).Run(ctx)
	}
	for i := range 2 {
		kept, err := b.DoStream(t.Context(), streamed, strings.NewReader("x"), run, nil)
		if err != nil || (kept != nil) != (i == 1) || (kept != nil && string(kept.Body) != canary) {
			t.Errorf("a stream: %v, %v", kept, err)
		}
	}
	if _, err := b.Do(t.Context(), asked("one in the clear"), b.hashed(""), told("", "a text in the clear")); err != nil {
		t.Fatal(err)
	}
	if in := filesWith(t, dir, "a text in the clear"); len(in) == 0 {
		t.Error("an answer in the clear is in no file, so the test proves nothing")
	}
	if in := filesWith(t, dir, canary); len(in) != 0 {
		t.Errorf("the text is in %v", in)
	}
}

func filesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			names = append(names, filepath.Base(file))
		}
	}
	return names
}

func TestRetryAfterAnErasureHasNoEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.vault(t)
	v.make(t, person(1), person(2))
	both, one := asked("of two persons"), asked("of one person")
	for request, names := range map[idempotency.Request][]idempotency.KeyName{both: {person(1), person(2)}, one: {person(2)}} {
		if _, err := b.Do(t.Context(), request, b.hashed(""), told("", canary, names...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Destroy(t.Context(), "wsp_a", person(1).Subject, 1); err != nil {
		t.Fatal(err)
	}
	ran := idempotency.Work{Run: func(context.Context) (idempotency.Outcome, error) {
		t.Error("it ran again")
		return idempotency.Outcome{}, errors.New("ran")
	}}
	if kept, err := b.Do(t.Context(), both, b.hashed(""), ran); !is(err, problem.CodeNotFound) {
		t.Errorf("got %v, %v", kept, err)
	}
	if _, err := b.Do(t.Context(), both, b.hashed("another"), ran); !is(err, problem.CodeValidation) {
		t.Errorf("with another body: %v", err)
	}
	if kept, err := b.Do(t.Context(), one, b.hashed(""), ran); err != nil || string(kept.Body) != canary {
		t.Errorf("the other person's: %v, %v", kept, err)
	}
	// If a subject is erased while the response is created, nothing about the subject is stored.
	late := asked("of a person who goes")
	if kept, err := b.Do(t.Context(), late, b.hashed(""), told("", canary, person(1))); kept != nil || err != nil {
		t.Fatalf("got %v, %v", kept, err)
	}
	if kept, err := b.Do(t.Context(), late, b.hashed(""), ran); !is(err, problem.CodeNotFound) {
		t.Errorf("got %v, %v", kept, err)
	}
}

func TestDroppedAnswerIsRebuiltOrNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.vault(t)
	v.make(t, person(1), person(2))
	named, nameless, other := asked("with a location"), asked("without a location"), asked("of somebody else")
	for request, w := range map[idempotency.Request]idempotency.Work{
		named: told("/1", canary, person(1)), nameless: told("", canary, person(1), person(2)), other: told("", canary, person(2)),
	} {
		if _, err := b.Do(t.Context(), request, b.hashed(""), w); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.store.Idempotency.DropAnswers(t.Context(), "wsp_b", person(2).Subject); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Idempotency.DropAnswers(t.Context(), "wsp_a", person(1).Subject); err != nil {
		t.Fatal(err)
	}
	if kept, err := b.Do(t.Context(), named, b.hashed(""), idempotency.Work{}); err != nil || kept.Body != nil || kept.Location != "/1" {
		t.Errorf("with a location: %v, %v", kept, err)
	}
	if kept, err := b.Do(t.Context(), nameless, b.hashed(""), idempotency.Work{}); !is(err, problem.CodeNotFound) {
		t.Errorf("without: %v, %v", kept, err)
	}
	if kept, err := b.Do(t.Context(), other, b.hashed(""), idempotency.Work{}); err != nil || string(kept.Body) != canary {
		t.Errorf("somebody else's: %v, %v", kept, err)
	}
}

func TestOnlyTheLastRunChoosesTheSealingKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.vault(t) // without data keys
	idempotency.SealWith(t.Context(), person(1))
	refused := idempotency.Work{
		Run: func(ctx context.Context) (idempotency.Outcome, error) {
			idempotency.SealWith(ctx, person(1))
			return idempotency.Outcome{}, problem.Conflicts("no")
		},
		Refused: func(*problem.Problem) idempotency.Outcome {
			return idempotency.Outcome{Status: 409, Body: []byte("refused")}
		},
	}
	for range 2 {
		kept, err := b.Do(t.Context(), request, b.hashed(""), refused)
		if kept == nil && !is(err, problem.CodeConflict) || kept != nil && string(kept.Body) != "refused" {
			t.Errorf("got %v, %v", kept, err)
		}
	}
}

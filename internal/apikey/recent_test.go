package apikey

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"keepsake/internal/problem"
)

func TestARememberedTextIsComparedInFull(t *testing.T) {
	t.Parallel()
	text := Generate(rand.Reader)
	var r Recent
	if r.is(text) {
		t.Error("nothing is remembered, and it is the same")
	}
	r.keep(text, [32]byte{1})
	if !r.is(text) {
		t.Error("it is not the same as itself")
	}
	for i := range textLen {
		for bit := range 8 {
			other := []byte(text)
			other[i] ^= 1 << bit
			if r.is(string(other)) {
				t.Errorf("a difference in bit %d of character %d is not seen", bit, i)
			}
		}
	}
}

// Who remembers where a secret lies hears of every change of the index: the secret that leaves it, and the place that is
// given to another one.
func TestARememberedPlaceIsForgottenWithTheIndex(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	b.Put(k)
	text := b.texts[k.ID]
	var recent Recent
	ask := func(text string) string {
		t.Helper()
		var live Live
		err := b.RecogniseAgain(text, &recent, b.now, &live)
		if errors.Is(err, ErrNotInMemory) {
			err = b.RecogniseStored(t.Context(), text, b.now, &live)
		}
		if err == nil && live.Principal.KeyID() != k.ID {
			t.Errorf("it is taken for %s", live.Principal.KeyID())
		}
		return codeOf(t, err)
	}
	for range 3 {
		if code := ask(text); code != "" {
			t.Fatalf("a live key is refused: %s", code)
		}
	}
	if recent.changes == 0 {
		t.Error("the place is not remembered")
	}

	replaced, next := *k, Generate(rand.Reader)
	replaced.Revision, replaced.Secrets = 2, []Secret{{Hash: b.hasher.Hash(next), Hint: hintOf(next), CreatedAt: b.now}}
	b.keys.mu.Lock()
	delete(b.keys.keys, k.Secrets[0].Hash)
	b.keys.mu.Unlock()
	b.keep(&replaced)
	b.Put(&replaced)
	if code := ask(text); code != problem.CodeInvalidAPIKey {
		t.Errorf("a secret that was replaced got %q", code)
	}
	for range 2 {
		if code := ask(next); code != "" {
			t.Errorf("the secret in its place got %q", code)
		}
	}

	revoked := replaced
	revoked.Revision, revoked.RevokedAt = 3, &b.now
	b.keep(&revoked)
	b.Put(&revoked)
	if code := ask(next); code != problem.CodeAPIKeyRevoked {
		t.Errorf("a revoked key got %q", code)
	}
	b.now = b.now.Add(quarantine + time.Minute)
	b.Put(b.add(nil)) // sweeps
	if code := ask(next); code != problem.CodeAPIKeyRevoked {
		t.Errorf("a key that was forgotten got %q", code)
	}
}

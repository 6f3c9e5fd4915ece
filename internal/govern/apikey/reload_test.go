package apikey

import (
	"context"
	"testing"
	"time"

	"keepsake/internal/base/id"
)

// APIKeys implements Reader.
func (s *fakeReader) APIKeysByID(_ context.Context, ids []string, fn func(k *APIKey) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, keyID := range ids {
		for hash, k := range s.keys {
			if k.ID == keyID && hash == k.Secrets[0].Hash {
				read := *k
				if err := fn(&read); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func TestReloadAppliesChangesOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	revoked, disabled, left := b.add(nil), b.add(nil), b.add(nil)
	if err := b.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	elsewhere := func(k *APIKey, change func(k *APIKey)) {
		changed := *k
		change(&changed)
		changed.Revision++
		b.keep(&changed)
	}
	elsewhere(revoked, func(k *APIKey) { k.RevokedAt = &b.now })
	elsewhere(disabled, func(k *APIKey) { k.DisabledAt = &b.now })
	created := b.add(nil)
	check := func(when string, k *APIKey, want string) {
		t.Helper()
		if _, got := b.authenticate(t, k); got != want {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	check("before the reload", revoked, "")
	if err := b.Reload(t.Context(), []string{revoked.ID, disabled.ID, created.ID, id.New(id.APIKey)}); err != nil {
		t.Fatal(err)
	}
	check("revoked", revoked, "api_key_revoked")
	check("disabled", disabled, "api_key_disabled")
	b.keys.reads.Store(0)
	check("created", created, "")
	check("left alone", left, "")
	if n := b.keys.reads.Load(); n != 0 {
		t.Errorf("a reloaded key cost %d reads", n)
	}
	// Events come twice, and late.
	if err := b.Reload(t.Context(), []string{revoked.ID}); err != nil {
		t.Fatal(err)
	}
	check("revoked", revoked, "api_key_revoked")
}

func TestReloadAllFindsRevokedKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	revoked, changed, lost := b.add(nil), b.add(nil), b.add(nil)
	if err := b.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	other := *revoked
	other.RevokedAt, other.Revision = &b.now, 2
	b.keep(&other)
	expired := b.now.Add(-time.Hour)
	other = *changed
	other.ExpiresAt, other.Revision = &expired, 2
	b.keep(&other)
	created := b.add(nil)
	delete(b.keys.keys, lost.Secrets[0].Hash) // a backup was restored
	for range 2 {
		if err := b.ReloadAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		for k, want := range map[*APIKey]string{revoked: "api_key_revoked", changed: "api_key_expired", created: "", lost: "api_key_revoked"} {
			if _, got := b.authenticate(t, k); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

package seal_test

import (
	"bytes"
	"errors"
	"testing"

	"keepsake/internal/memory/seal"
)

func TestReloadFindsSecretsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	st, ctx := newStore(t), t.Context()
	a, err := seal.Open(ctx, st.Secrets, seal.MasterKey{1}, true)
	if err != nil {
		t.Fatal(err)
	}
	b, err := seal.Open(ctx, st.Secrets, seal.MasterKey{1}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Add(ctx, "signing/one", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := b.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if got, ok := b.Find("signing/one"); !ok || !bytes.Equal(got, []byte("one")) {
		t.Errorf("got %q, %v", got, ok)
	}
	if err := a.Remove(ctx, "signing/one"); err != nil {
		t.Fatal(err)
	}
	if err := b.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.Find("signing/one"); ok {
		t.Error("a secret that was removed is still there")
	}
}

// A process without the new master key keeps its secrets, and adds none that only the old key opens.
func TestMasterKeyReplacedByAnotherProcess(t *testing.T) {
	t.Parallel()
	st, ctx := newStore(t), t.Context()
	a, err := seal.Open(ctx, st.Secrets, seal.MasterKey{1}, true)
	if err != nil {
		t.Fatal(err)
	}
	b, err := seal.Open(ctx, st.Secrets, seal.MasterKey{1}, false)
	if err != nil {
		t.Fatal(err)
	}
	pepper := b.Get(seal.Pepper)
	if _, err := a.Rewrap(ctx, seal.MasterKey{2}); err != nil {
		t.Fatal(err)
	}
	if err := b.Reload(ctx); !errors.Is(err, seal.ErrMasterKeyReplaced) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(b.Get(seal.Pepper), pepper) {
		t.Error("what was opened is gone")
	}
	if err := b.Add(ctx, "signing/one", []byte("one")); !errors.Is(err, seal.ErrMasterKeyReplaced) {
		t.Errorf("got %v", err)
	}
	if _, err := seal.Open(ctx, st.Secrets, seal.MasterKey{2}, false); err != nil {
		t.Errorf("the next start with the new key: %v", err)
	}
}

package instance_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"keepsake/internal/app/instance"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/memory/seal"
)

func TestRevocationsAreKeptOverATornWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, err := seal.InstanceKey(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	open := func() *instance.PendingRevocations {
		r, err := instance.OpenPendingRevocations(dir, key)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := func(list ...apikey.PendingRevocation) {
		t.Helper()
		got, err := open().Load()
		if err != nil || !slices.Equal(got, list) {
			t.Errorf("%v, %v, want %v", got, err, list)
		}
	}
	want()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	one, two := apikey.PendingRevocation{KeyID: "key_1", Reason: "leaked", At: at}, apikey.PendingRevocation{KeyID: "key_2", At: at}
	r := open()
	for _, list := range [][]apikey.PendingRevocation{{one}, {one, two}} {
		if err := r.Save(list); err != nil {
			t.Fatal(err)
		}
		want(list...)
	}
	text, err := os.ReadFile(instance.RevocationsPath(dir))
	if err != nil || len(text) != 2*(64<<10) {
		t.Fatalf("the file has %d bytes, %v", len(text), err)
	}
	if info, err := os.Stat(instance.RevocationsPath(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	text[20] ^= 1 // in the newer half
	if err := os.WriteFile(instance.RevocationsPath(dir), text, 0o600); err != nil {
		t.Fatal(err)
	}
	want(one)
	next := open()
	if _, err := next.Load(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := next.Save(nil); err != nil {
			t.Fatal(err)
		}
		want()
	}
	if err := next.Save(make([]apikey.PendingRevocation, 1000)); err == nil {
		t.Error("there was room for 1,000 revocations")
	}
	if _, err := instance.OpenPendingRevocations(filepath.Join(dir, "none"), key); err == nil {
		t.Error("there was room in a folder that does not exist")
	}
}

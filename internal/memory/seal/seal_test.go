package seal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
)

func newStore(t *testing.T) *store.Store {
	t.Helper()
	e, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return store.New(e)
}

func TestSecretsAreCreatedOnce(t *testing.T) {
	t.Parallel()
	st, master := newStore(t), seal.MasterKey{1}
	made, err := seal.Open(t.Context(), st.Secrets, master, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{true, false} {
		again, err := seal.Open(t.Context(), st.Secrets, master, fresh)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, name := range []string{seal.Pepper, seal.Cursor, seal.Replay, seal.Check} {
			secret := again.Get(name)
			if len(secret) < 32 || !bytes.Equal(secret, made.Get(name)) {
				t.Errorf("fresh %v, %s: not what was made", fresh, name)
			}
			if seen[string(secret)] {
				t.Errorf("%s equals another secret", name)
			}
			seen[string(secret)] = true
		}
	}
}

func TestWrongMasterKeyIsNamedAndChangesNothing(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	if _, err := seal.Open(t.Context(), st.Secrets, seal.MasterKey{1}, true); err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{true, false} {
		_, err := seal.Open(t.Context(), st.Secrets, seal.MasterKey{2}, fresh)
		if !errors.Is(err, seal.ErrWrongMasterKey) || !strings.Contains(err.Error(), "masterKey") {
			t.Errorf("fresh %v: got %v, want the wrong master key named", fresh, err)
		}
	}
	if _, err := seal.Open(t.Context(), st.Secrets, seal.MasterKey{1}, false); err != nil {
		t.Errorf("the right key afterwards: %v", err)
	}
}

func TestDataWithoutItsSecretsGetsNoNewOnes(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	if _, err := seal.Open(t.Context(), st.Secrets, seal.MasterKey{1}, false); err == nil {
		t.Fatal("secrets were made although the place is not fresh")
	}
	if kept, err := st.Secrets.Secrets(t.Context()); err != nil || len(kept) != 0 {
		t.Errorf("afterwards: %d secrets, error %v; want none", len(kept), err)
	}
}

// moved is a store whose secrets were moved to another instance or exchanged for one another.
type moved struct {
	seal.Store
	instance string
	swap     bool
}

func (m moved) InstanceID(context.Context) (string, error) { return m.instance, nil }

func (m moved) Secrets(ctx context.Context) ([]seal.Wrapped, error) {
	list, err := m.Store.Secrets(ctx)
	for i, w := range list {
		if !m.swap || w.Name == seal.Check {
			continue
		}
		for j, v := range list[i+1:] {
			if v.Name != seal.Check {
				list[i].Sealed, list[i+1+j].Sealed = v.Sealed, w.Sealed
				return list, err
			}
		}
	}
	return list, err
}

func TestSecretsAreBoundToTheirNameAndInstance(t *testing.T) {
	t.Parallel()
	st, master := newStore(t), seal.MasterKey{1}
	if _, err := seal.Open(t.Context(), st.Secrets, master, true); err != nil {
		t.Fatal(err)
	}
	id, err := st.Secrets.InstanceID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Open(t.Context(), moved{Store: st.Secrets, instance: id}, master, false); err != nil {
		t.Fatalf("unmoved: %v", err)
	}
	if _, err := seal.Open(t.Context(), moved{Store: st.Secrets, instance: "other"}, master, false); err == nil {
		t.Error("secrets were unwrapped in another instance")
	}
	if _, err := seal.Open(t.Context(), moved{Store: st.Secrets, instance: id, swap: true}, master, false); err == nil {
		t.Error("exchanged secrets were unwrapped")
	}
}

func TestMasterKeyFileIsCreatedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	if _, err := seal.LoadMasterKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: got %v, want fs.ErrNotExist", err)
	}
	made, err := seal.CreateMasterKey(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v; want 0600", info.Mode(), err)
	}
	if _, err := seal.CreateMasterKey(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second time: got %v, want fs.ErrExist", err)
	}
	loaded, err := seal.LoadMasterKey(path)
	if err != nil || loaded != made || made == (seal.MasterKey{}) {
		t.Errorf("read back another key (error %v)", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files in the folder, want the key alone", len(left))
	}
}

func TestMasterKeyTextIsCheckedAndNeverShown(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	if k, err := seal.ParseMasterKey(" " + good + "\n"); err != nil || k[31] != 7 {
		t.Errorf("good text: error %v", err)
	}
	for _, text := range []string{"", "canary", good[:40], good + good, good + "!"} {
		_, err := seal.ParseMasterKey(text)
		if err == nil || !strings.Contains(err.Error(), "masterKey") {
			t.Errorf("text of %d bytes: got %v, want an error that names masterKey", len(text), err)
		}
		if err != nil && text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the error shows the text: %v", err)
		}
	}
	for _, shown := range []string{fmt.Sprint(seal.MasterKey{1}), fmt.Sprintf("%#v", seal.MasterKey{1}), fmt.Sprintf("%x", seal.MasterKey{1})} {
		if strings.Contains(shown, "01") || strings.Contains(shown, "0x1") {
			t.Errorf("a printed key shows itself: %s", shown)
		}
	}
}

package backup_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	"pgregory.net/rapid"

	"keepsake/internal/govern/backup"
)

var madeAt = time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)

// folder makes a folder with what a snapshot has.
func folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func noise(seed uint64, n int) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func header(kind backup.Kind) backup.Header {
	return backup.Header{Kind: kind, Instance: "INSTANCE", Snapshot: "SNAPSHOT", MadeAt: madeAt, Build: "test"}
}

func identity(t testing.TB) *age.X25519Identity {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestArchiveIsReadBack(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"main.db": noise(1, 300_000), "usage.db": noise(2, 10), "audit.checkpoints": []byte("{}\n"), "keys.db": noise(3, 5_000)}
	dir := folder(t, files)
	who := identity(t)
	for name, to := range map[string][]age.Recipient{"plain": nil, "encrypted": {who.Recipient()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			path := filepath.Join(out, "backup")
			read := 0
			w, err := backup.Write(backup.Archive{
				Path: path, Header: header(backup.Data), Dir: dir, Recipients: to,
				Progress: func(n int) error { read += n; return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(whole); w.SHA256 != hex.EncodeToString(sum[:]) || w.Bytes != int64(len(whole)) {
				t.Errorf("written %+v, and the file has %d bytes and the sum %x", w, len(whole), sum)
			}
			if want := 300_000 + 10 + 3; read != want {
				t.Errorf("progress told of %d bytes, want %d", read, want)
			}
			if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
				t.Errorf("the file has mode %v", info.Mode())
			}
			if to != nil && bytes.Contains(whole, []byte("INSTANCE")) {
				t.Error("the header can be read in a file that is encrypted")
			}
			into := t.TempDir()
			h, err := backup.Extract(backup.Source{Path: path, Kind: backup.Data, Identities: []age.Identity{who}}, into)
			if err != nil {
				t.Fatal(err)
			}
			want := header(backup.Data)
			want.Format = 1
			if *h != want {
				t.Errorf("header %+v, want %+v", *h, want)
			}
			for _, name := range []string{"main.db", "usage.db", "audit.checkpoints"} {
				if got, err := os.ReadFile(filepath.Join(into, name)); err != nil || !bytes.Equal(got, files[name]) {
					t.Errorf("%s came back as %d bytes, %v", name, len(got), err)
				}
			}
			if _, err := os.Stat(filepath.Join(into, "keys.db")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the data file holds the keys: %v", err)
			}
		})
	}
}

// Whatever is cut off an archive or changed in it, it is refused; a file that is read back whole is what was written.
func TestDamagedArchiveIsRefused(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"main.db": append(noise(1, 3_000), make([]byte, 3_000)...), "usage.db": noise(2, 100)}
	dir := folder(t, files)
	who := identity(t)
	out := t.TempDir()
	for name, to := range map[string][]age.Recipient{"plain": nil, "encrypted": {who.Recipient()}} {
		path := filepath.Join(out, name)
		if _, err := backup.Write(backup.Archive{Path: path, Header: header(backup.Data), Dir: dir, Recipients: to}); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			harmed := bytes.Clone(whole)
			if rapid.Bool().Draw(t, "cut") {
				harmed = harmed[:rapid.IntRange(0, len(whole)-1).Draw(t, "length")]
			} else {
				at := rapid.IntRange(0, len(whole)-1).Draw(t, "at")
				harmed[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "change"))
			}
			into, err := os.MkdirTemp(out, "into")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(into, "harmed")
			if err := os.WriteFile(path, harmed, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = backup.Extract(backup.Source{Path: path, Kind: backup.Data, Identities: []age.Identity{who}}, into)
			if err != nil {
				return
			}
			// Bytes of gzip's header that mean nothing may differ.
			for name, want := range files {
				if got, err := os.ReadFile(filepath.Join(into, name)); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("it was taken for whole, and %s is not what was written: %v", name, err)
				}
			}
		}))
	}
}

func TestExistingFileIsReplacedOnlyOnRequest(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string][]byte{"keys.db": noise(3, 100)})
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := backup.Archive{Path: path, Header: header(backup.Keys), Dir: dir}
	if _, err := backup.Write(a); !errors.Is(err, fs.ErrExist) {
		t.Errorf("writing over a file: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "older" {
		t.Errorf("the file that was there is %q now", got)
	}
	a.Replace = true
	if _, err := backup.Write(a); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Extract(backup.Source{Path: path, Kind: backup.Keys}, t.TempDir()); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWritingThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string][]byte{"main.db": noise(1, 300_000), "usage.db": noise(2, 10)})
	out := t.TempDir()
	stop := errors.New("stop")
	_, err := backup.Write(backup.Archive{
		Path: filepath.Join(out, "data"), Header: header(backup.Data), Dir: dir, Progress: func(int) error { return stop },
	})
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWrongArchiveIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string][]byte{"keys.db": noise(3, 100)})
	path := filepath.Join(t.TempDir(), "keys")
	who := identity(t)
	if _, err := backup.Write(backup.Archive{Path: path, Header: header(backup.Keys), Dir: dir, Recipients: []age.Recipient{who.Recipient()}}); err != nil {
		t.Fatal(err)
	}
	read := func(kind backup.Kind, by ...age.Identity) error {
		_, err := backup.Extract(backup.Source{Path: path, Kind: kind, Identities: by}, t.TempDir())
		return err
	}
	if err := read(backup.Data, who); !errors.Is(err, backup.ErrNotBackup) {
		t.Errorf("keys as data: %v", err)
	}
	if err := read(backup.Keys, identity(t)); !errors.Is(err, backup.ErrEncrypted) {
		t.Errorf("for somebody else: %v", err)
	}
	if err := read(backup.Keys); err == nil {
		t.Error("read without any identity")
	}
	if err := read(backup.Keys, who); err != nil {
		t.Error(err)
	}
}

func TestMismatchedFilesAreRefused(t *testing.T) {
	t.Parallel()
	data, keys := header(backup.Data), header(backup.Keys)
	for _, c := range []struct {
		name  string
		shift time.Duration
		other bool
		older bool
		ok    bool
	}{
		{name: "made together", ok: true},
		{name: "newer keys", shift: time.Hour, ok: true},
		{name: "older keys", shift: -time.Millisecond},
		{name: "older keys, said so", shift: -time.Hour, older: true, ok: true},
		{name: "of another instance", other: true, older: true},
	} {
		k := keys
		k.MadeAt = k.MadeAt.Add(c.shift)
		if c.other {
			k.Instance = "OTHER"
		}
		if err := backup.Together(&data, &k, c.older); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

package seal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// remains returns the files of a folder that contain one of these texts.
func remains(t *testing.T, dir string, texts []seal.Wrapped) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(texts, func(w seal.Wrapped) bool { return bytes.Contains(data, w.Sealed) }) {
			files = append(files, filepath.Base(file))
		}
	}
	return files
}

func TestNoFileHoldsSecretsUnderTheOldMasterKey(t *testing.T) {
	t.Parallel()
	dir := sqlitetest.Dir(t)
	e, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	v := newVaultOn(t, store.New(e))
	v.Subjects = seal.NewSubjects(seal.SubjectsOptions{Store: v.store.SubjectKeys, Secrets: v.Secrets, Now: v.Now}) // no subject keys
	// More than one database page of secrets.
	for n := range 40 {
		if err := v.Secrets.Add(t.Context(), fmt.Sprintf("more/%d", n), v.mine); err != nil {
			t.Fatal(err)
		}
	}
	old, err := v.store.Secrets.Secrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if in := remains(t, dir, old); len(in) == 0 {
		t.Fatal("they are in no file before, so the test proves nothing")
	}
	if _, err := v.Rotate(t.Context(), "local", ""); err != nil {
		t.Fatal(err)
	}
	if in := remains(t, dir, old); len(in) != 0 {
		t.Errorf("they are still in %v", in)
	}
	now, err := v.store.Secrets.Secrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if in := remains(t, dir, now); len(in) == 0 {
		t.Error("those under the new key are in no file")
	}
}

func TestStartAfterAKillScrubsOldSecrets(t *testing.T) {
	t.Parallel()
	dir, killed := sqlitetest.Dir(t), t.TempDir()
	e, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	v := newVaultOn(t, store.New(e))
	old, err := v.store.Secrets.Secrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Secrets.Rewrap(t.Context(), seal.MasterKey{9}); err != nil { // then the process ends
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(killed, filepath.Base(file)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if in := remains(t, killed, old); len(in) == 0 {
		t.Fatal("they are in no file before the start, so the test proves nothing")
	}
	again, err := sqlite.Open(t.Context(), sqlite.Options{Dir: killed})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if in := remains(t, killed, old); len(in) != 0 {
		t.Errorf("they are still in %v", in)
	}
}

// vault is an instance whose master key is in a file, with one additional secret.
type vault struct {
	*seal.Keeper
	store   *store.Store
	log     *audittest.Recorder
	fault   *faulty
	mine    []byte
	secrets map[string][]byte
}

// faulty is a store whose resealing fails as configured: before the commit, after it, or without an answer.
type faulty struct {
	seal.Store
	before, after error
}

func (f *faulty) ResealSecrets(ctx context.Context, w []seal.Wrapped) error {
	if f.before != nil {
		return f.before
	}
	return errors.Join(f.Store.ResealSecrets(ctx, w), f.after)
}

func newVault(t *testing.T) *vault {
	t.Helper()
	return newVaultOn(t, newStore(t))
}

func newVaultOn(t *testing.T, st *store.Store) *vault {
	t.Helper()
	v := &vault{store: st, log: &audittest.Recorder{}, mine: bytes.Repeat([]byte{7}, 64)}
	v.fault = &faulty{Store: v.store.Secrets}
	file := seal.KeyFile(filepath.Join(t.TempDir(), "master.key"))
	master, err := seal.CreateMasterKey(string(file))
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := seal.Open(t.Context(), v.fault, master, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := secrets.Add(t.Context(), "signing/one", v.mine); err != nil {
		t.Fatal(err)
	}
	v.Keeper = &seal.Keeper{Secrets: secrets, File: file, Audit: v.log, Now: func() time.Time { return noon }}
	v.secrets = map[string][]byte{}
	for _, name := range secrets.Names("") {
		v.secrets[name] = bytes.Clone(secrets.Get(name))
	}
	return v
}

// start does what the next start of the program does, and checks that every secret is unchanged.
func (v *vault) start(t *testing.T) (recovered bool) {
	t.Helper()
	key, recovered, err := v.File.Recover(t.Context(), v.store.Secrets, noon.Add(time.Hour))
	if err != nil {
		t.Fatalf("recover the master key: %v", err)
	}
	secrets, err := seal.Open(t.Context(), v.store.Secrets, key, false)
	if err != nil {
		t.Fatalf("open the secrets: %v", err)
	}
	if len(secrets.Names("")) != len(v.secrets) {
		t.Errorf("there are %v", secrets.Names(""))
	}
	for name, want := range v.secrets {
		if !bytes.Equal(secrets.Get(name), want) {
			t.Errorf("%s is another secret than before", name)
		}
	}
	if left, _ := filepath.Glob(string(v.File) + ".next*"); len(left) != 0 {
		t.Errorf("a start leaves %v", left)
	}
	return recovered
}

func keyIn(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(text))
}

func TestNewMasterKeyOpensAllSecrets(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	before := keyIn(t, string(v.File))
	done, err := v.Rotate(t.Context(), "local", "")
	if err != nil || done.Secrets != len(v.secrets) || done.File != string(v.File) {
		t.Fatalf("rotate: %+v, %v", done, err)
	}
	if now := keyIn(t, done.File); now == before || keyIn(t, done.OldFile) != before {
		t.Error("the files do not hold the new key and the old one")
	}
	if info, err := os.Stat(done.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new key has mode %v, %v", info.Mode(), err)
	}
	if v.start(t) {
		t.Error("a change that was completed is completed again")
	}
	// Secrets added afterwards are sealed with the new key.
	if err := v.Secrets.Add(t.Context(), "signing/two", v.mine); err != nil {
		t.Fatal(err)
	}
	v.secrets["signing/two"] = v.mine
	v.start(t)
	// The old key no longer opens anything.
	old, err := seal.LoadMasterKey(done.OldFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Open(t.Context(), v.store.Secrets, old, false); !errors.Is(err, seal.ErrWrongMasterKey) {
		t.Errorf("with the old key: %v", err)
	}
	if log := v.log.Entries(); len(log) != 2 || log[0].Actor != "local" || log[1].Action != audit.MasterKeyRotated {
		t.Errorf("the log has %+v", log)
	}
}

func TestRotateToAGivenKey(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	given := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32))
	for text, want := range map[string]string{
		"":                           "", // created
		given:                        "",
		"not a key":                  problem.CodeValidation,
		keyIn(t, string(v.File))[:9]: problem.CodeValidation,
	} {
		if _, err := v.Rotate(t.Context(), "local", text); codeOf(err) != want {
			t.Errorf("a key of %d characters: %v, want %q", len(text), err, want)
		}
	}
	if _, err := v.Rotate(t.Context(), "local", keyIn(t, string(v.File))); codeOf(err) != problem.CodeConflict {
		t.Errorf("the key in use: %v", err)
	}

	// If a setting provides the key, the file belongs to the operator.
	elsewhere := v.File
	v.File = ""
	if _, err := v.Rotate(t.Context(), "local", ""); codeOf(err) != problem.CodeConflict {
		t.Errorf("a random key that nobody keeps: %v", err)
	}
	next := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{11}, 32))
	done, err := v.Rotate(t.Context(), "local", next)
	if err != nil || done.File != "" || done.OldFile != "" {
		t.Errorf("with a given key: %+v, %v", done, err)
	}
	key, err := seal.ParseMasterKey(next)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Open(t.Context(), v.store.Secrets, key, false); err != nil {
		t.Errorf("the given key does not open: %v", err)
	}
	v.File = elsewhere
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if p, ok := problem.As(err); ok {
		return p.Code
	}
	return err.Error()
}

// Cut off a change after each step. The next start must recover from the folder as that step left it.
func TestNextStartRecoversAnInterruptedRotation(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut off")
	fail := func(t *testing.T, v *vault, f faulty) {
		f.Store = v.store.Secrets
		*v.fault = f
		if _, err := v.Rotate(t.Context(), "local", ""); !errors.Is(err, cut) {
			t.Fatalf("the change that was cut off: %v", err)
		}
	}
	for name, c := range map[string]struct {
		cut       func(t *testing.T, v *vault)
		recovered bool
	}{
		"while the new key was written": {func(_ *testing.T, v *vault) {
			must(os.WriteFile(string(v.File)+".next.123", []byte("half a k"), 0o600))
		}, false},
		"before the secrets were sealed": {func(t *testing.T, v *vault) { fail(t, v, faulty{before: cut}) }, false},
		"after the secrets were sealed":  {func(t *testing.T, v *vault) { fail(t, v, faulty{after: cut}) }, true},
		"after the old key was kept": {func(t *testing.T, v *vault) {
			fail(t, v, faulty{after: cut})
			must(os.Link(string(v.File), string(v.File)+".replaced-20261121T130000.000Z"))
		}, true},
		"when the old key was carried away": {func(t *testing.T, v *vault) {
			fail(t, v, faulty{after: cut})
			must(os.Rename(string(v.File), string(v.File)+".elsewhere"))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			c.cut(t, v)
			found, err := v.File.Find(t.Context(), v.store.Secrets)
			if err != nil {
				t.Fatal(err)
			}
			if opens, err := seal.Opens(t.Context(), v.store.Secrets, found); !opens || err != nil {
				t.Errorf("who only looks finds a key that does not open: %v", err)
			}
			if recovered := v.start(t); recovered != c.recovered {
				t.Errorf("the start completed the change: %v, want %v", recovered, c.recovered)
			}
			if v.start(t) {
				t.Error("the second start found something to complete")
			}
		})
	}
}

// After a commit with an unknown outcome, the process continues, adds secrets, tries again and never mixes keys.
func TestProcessContinuesAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(f *faulty, err error){
		"it had happened":     func(f *faulty, err error) { f.after = err },
		"it had not happened": func(f *faulty, err error) { f.before = err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			lost := problem.NotAvailable("The disk is away.", time.Second)
			set(v.fault, lost)
			if _, err := v.Rotate(t.Context(), "local", ""); !errors.Is(err, lost) {
				t.Fatalf("a commit without an answer: %v", err)
			}
			*v.fault = faulty{Store: v.store.Secrets}
			if err := v.Secrets.Add(t.Context(), "signing/two", v.mine); err != nil {
				t.Fatal(err)
			}
			v.secrets["signing/two"] = v.mine
			if _, err := v.Rotate(t.Context(), "local", ""); err != nil {
				t.Fatalf("the second try: %v", err)
			}
			if v.start(t) {
				t.Error("the second try left something to complete")
			}
		})
	}
}

func TestSecretsCanBeAddedDuringARotation(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	var running sync.WaitGroup
	names := []string{"a", "b", "c", "d", "e", "f"}
	running.Go(func() {
		for range 5 {
			if _, err := v.Rotate(context.Background(), "local", ""); err != nil {
				t.Error(err)
			}
		}
	})
	for _, name := range names {
		running.Go(func() {
			if err := v.Secrets.Add(context.Background(), "signing/"+name, []byte(name)); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() {
			secret, err := v.Secrets.Ensure(context.Background(), "shared")
			if err != nil || len(secret) != 32 {
				t.Errorf("ensure: %d bytes, %v", len(secret), err)
			}
		})
	}
	running.Wait()
	for _, name := range names {
		v.secrets["signing/"+name] = []byte(name)
	}
	v.secrets["shared"] = bytes.Clone(v.Secrets.Get("shared"))
	v.start(t)
	if err := v.Secrets.Remove(t.Context(), "signing/a"); err != nil {
		t.Fatal(err)
	}
	if _, there := v.Secrets.Find("signing/a"); there || slices.Contains(v.Secrets.Names("signing/"), "signing/a") {
		t.Error("a secret that was removed is still there")
	}
	delete(v.secrets, "signing/a")
	v.start(t)
}

func TestUnloggableRotationDoesNotHappen(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	before := keyIn(t, string(v.File))
	v.Audit = broken{}
	if _, err := v.Rotate(t.Context(), "local", ""); !errors.Is(err, errFull) {
		t.Errorf("without a log: %v", err)
	}
	if keyIn(t, string(v.File)) != before {
		t.Error("the key was changed although the log could not be told")
	}
	v.start(t)
}

var errFull = errors.New("no room for the log")

type broken struct{}

func (broken) Record(context.Context, audit.Entry) error { return errFull }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

package seal_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/testing/await"
)

// ring is the data keys of an instance, as one process has them.
type ring struct {
	*seal.Subjects
	store   *store.Store
	secrets *seal.Secrets
}

func newRing(t *testing.T, st *store.Store) *ring {
	t.Helper()
	return openRing(t, st, st.SubjectKeys, true)
}

// openRing opens the same store as another process.
func openRing(t *testing.T, st *store.Store, keys seal.SubjectStore, fresh bool) *ring {
	t.Helper()
	secrets, err := seal.Open(t.Context(), st.Secrets, seal.MasterKey{1}, fresh)
	if err != nil {
		t.Fatal(err)
	}
	return &ring{seal.NewSubjects(seal.SubjectsOptions{
		Store: keys, Secrets: secrets, Now: func() time.Time { return noon }, CacheSize: 4,
	}), st, secrets}
}

func generation(subject byte, n int64) seal.SubjectGeneration {
	return seal.SubjectGeneration{Subject: seal.SubjectHash{subject}, Generation: n}
}

func (r *ring) ensure(t *testing.T, want ...seal.SubjectGeneration) []*seal.DataKey {
	t.Helper()
	keys, err := r.Ensure(t.Context(), "wsp_a", want)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// opens checks that a key of this ring opens sealed.
func (r *ring) opens(t *testing.T, g seal.SubjectGeneration, sealed []byte, want string) {
	t.Helper()
	key, err := r.Find(t.Context(), "wsp_a", g.Subject, g.Generation)
	if err != nil {
		t.Errorf("find the key of %d: %v", g.Subject[0], err)
		return
	}
	if plain, err := key.Open(sealed, []byte("about")); err != nil || string(plain) != want {
		t.Errorf("opened %q, %v, want %q", plain, err, want)
	}
}

func TestDataKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	r := newRing(t, newStore(t))
	one, two := generation(1, 1), generation(2, 1)
	keys := r.ensure(t, one, two, one)
	if keys[0] != keys[2] || keys[0] == keys[1] {
		t.Error("the keys are not those of their subjects")
	}
	sealed := keys[0].Seal([]byte("a text"), []byte("about"))
	if bytes.Contains(sealed, []byte("a text")) {
		t.Error("it is not sealed")
	}
	if _, err := keys[1].Open(sealed, []byte("about")); err == nil {
		t.Error("another subject's key opens it")
	}
	if _, err := keys[0].Open(sealed, []byte("elsewhere")); err == nil {
		t.Error("it opens in another place")
	}
	other := openRing(t, r.store, r.store.SubjectKeys, false)
	if again := other.ensure(t, one); again[0].Hash("key", "x") != keys[0].Hash("key", "x") {
		t.Error("another process makes another key")
	}
	other.opens(t, one, sealed, "a text")
	if _, err := other.Find(t.Context(), "wsp_b", one.Subject, 1); !errors.Is(err, seal.ErrDestroyed) {
		t.Errorf("the same subject of another workspace: %v", err)
	}
	if _, err := other.Find(t.Context(), "wsp_a", one.Subject, 2); !errors.Is(err, seal.ErrDestroyed) {
		t.Errorf("a generation that there is not: %v", err)
	}
}

func TestHashesDependOnTextKindAndSubject(t *testing.T) {
	t.Parallel()
	keys := newRing(t, newStore(t)).ensure(t, generation(1, 1), generation(2, 1))
	seen := map[[16]byte]string{}
	for i, key := range keys {
		for _, of := range [][2]string{{"key", "a"}, {"key", "b"}, {"text", "a"}} {
			hash, name := key.Hash(of[0], of[1]), fmt.Sprint(i, of)
			if seen[hash] != "" {
				t.Errorf("%s and %s have one hash", seen[hash], name)
			}
			seen[hash] = name
			if key.Hash(of[0], of[1]) != hash {
				t.Errorf("%s has two hashes", name)
			}
		}
	}
	l, other := seal.NewLookup([]byte("one secret")), seal.NewLookup([]byte("another one"))
	for name, hash := range map[string][16]byte{
		"subject": l.Subject("wsp_a", "a"), "agent": l.Agent("wsp_a", "a"), "session": l.Session("wsp_a", "a"),
		"another workspace": l.Subject("wsp_b", "a"), "another secret": other.Subject("wsp_a", "a"), "another id": l.Subject("wsp_a", "b"),
	} {
		if seen[hash] != "" {
			t.Errorf("%s and %s have one hash", seen[hash], name)
		}
		seen[hash] = name
	}
}

func TestDestroyedKeyIsGoneForGood(t *testing.T) {
	t.Parallel()
	r := newRing(t, newStore(t))
	other := openRing(t, r.store, r.store.SubjectKeys, false)
	one, two := generation(1, 1), generation(2, 1)
	keys := r.ensure(t, one, two)
	sealed := keys[1].Seal([]byte("stays"), []byte("about"))
	other.opens(t, two, sealed, "stays")
	if _, err := other.Find(t.Context(), "wsp_a", one.Subject, 1); err != nil {
		t.Fatal(err)
	}
	for range 2 { // idempotent
		if err := r.Destroy(t.Context(), "wsp_a", one.Subject, 1); err != nil {
			t.Fatal(err)
		}
	}
	other.Forget("wsp_a", one.Subject)
	for name, r := range map[string]*ring{"here": r, "there": other, "later": openRing(t, r.store, r.store.SubjectKeys, false)} {
		if _, err := r.Find(t.Context(), "wsp_a", one.Subject, 1); !errors.Is(err, seal.ErrDestroyed) {
			t.Errorf("%s it is found: %v", name, err)
		}
		// A write that began before the erasure must not create a key again.
		if _, err := r.Ensure(t.Context(), "wsp_a", []seal.SubjectGeneration{two, one}); !errors.Is(err, seal.ErrDestroyed) {
			t.Errorf("%s it is made anew: %v", name, err)
		}
		r.opens(t, two, sealed, "stays")
	}
	if p, ok := problem.As(seal.ErrDestroyed); !ok || p.Code != problem.CodeNotFound {
		t.Error("it is not like nothing there")
	}
	next := r.ensure(t, generation(1, 2))[0]
	if next.Hash("key", "x") == keys[0].Hash("key", "x") {
		t.Error("the next generation has the same key")
	}
	// The next erasure destroys both, even though the first was not destroyed before.
	if err := r.Destroy(t.Context(), "wsp_a", one.Subject, 2); err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if _, err := r.Ensure(t.Context(), "wsp_a", []seal.SubjectGeneration{generation(1, n)}); !errors.Is(err, seal.ErrDestroyed) {
			t.Errorf("generation %d: %v", n, err)
		}
	}
}

// A stored key is useless anywhere else in the store.
func TestWrappedKeyOpensOnlyInItsPlace(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	r := newRing(t, st)
	r.ensure(t, generation(1, 1))
	rows, err := st.SubjectKeys.SubjectKeys(t.Context(), "wsp_a", []seal.SubjectHash{{1}})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for name, move := range map[string]func(k *seal.SubjectKey){
		"another subject":    func(k *seal.SubjectKey) { k.Subject = seal.SubjectHash{2} },
		"another generation": func(k *seal.SubjectKey) { k.Generation = 2 },
		"another workspace":  func(k *seal.SubjectKey) { k.WorkspaceID = "wsp_b" },
	} {
		moved := rows[0]
		move(&moved)
		if _, err := st.SubjectKeys.AddSubjectKeys(t.Context(), moved.WorkspaceID, []seal.SubjectKey{moved}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Find(t.Context(), moved.WorkspaceID, moved.Subject, moved.Generation); err == nil || errors.Is(err, seal.ErrDestroyed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeyCacheIsBounded(t *testing.T) {
	t.Parallel()
	r := newRing(t, newStore(t))
	var all []seal.SubjectGeneration
	for n := range byte(9) {
		all = append(all, generation(n+1, 1))
	}
	keys := r.ensure(t, all...)
	if n := r.Cached(); n != 4 {
		t.Errorf("%d keys are kept, want 4", n)
	}
	for i, g := range all {
		r.opens(t, g, keys[i].Seal([]byte("x"), []byte("about")), "x")
	}
	if n := r.Cached(); n != 4 {
		t.Errorf("%d keys are kept, want 4", n)
	}
}

// slow is a store whose reads pause in the middle, so that their results can be outdated.
type slow struct {
	seal.SubjectStore
	read, goOn chan struct{}
}

func (s *slow) SubjectKeys(ctx context.Context, workspaceID string, subjects []seal.SubjectHash) ([]seal.SubjectKey, error) {
	keys, err := s.SubjectStore.SubjectKeys(ctx, workspaceID, subjects)
	if s.read != nil {
		s.read <- struct{}{}
		<-s.goOn
	}
	return keys, err
}

func TestKeyDestroyedDuringAReadIsNotCached(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	newRing(t, st).ensure(t, generation(1, 1))
	s := &slow{st.SubjectKeys, make(chan struct{}), make(chan struct{})}
	r := openRing(t, st, s, false)
	found := make(chan error, 1)
	go func() {
		_, err := r.Find(t.Context(), "wsp_a", seal.SubjectHash{1}, 1)
		found <- err
	}()
	<-s.read
	if err := r.Destroy(t.Context(), "wsp_a", seal.SubjectHash{1}, 1); err != nil {
		t.Fatal(err)
	}
	s.goOn <- struct{}{}
	<-found // it began before the destruction
	s.read = nil
	if n := r.Cached(); n != 0 {
		t.Errorf("%d keys outlive the erasure", n)
	}
	if _, err := r.Find(t.Context(), "wsp_a", seal.SubjectHash{1}, 1); !errors.Is(err, seal.ErrDestroyed) {
		t.Errorf("got %v", err)
	}
}

func TestKeysAreNotCreatedInsideATransaction(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	r := newRing(t, st)
	err := st.Run(t.Context(), func(ctx context.Context) error {
		_, err := r.Ensure(ctx, "wsp_a", []seal.SubjectGeneration{generation(1, 1)})
		return err
	})
	if err == nil {
		t.Error("it was made")
	}
}

// No part of a destroyed key remains in a file of the folder, including the write-ahead log, while others read.
func TestDestroyedKeyIsInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	st := store.New(e)
	r := newRing(t, st)
	var all []seal.SubjectGeneration
	for n := range byte(40) {
		all = append(all, generation(n+1, 1))
	}
	r.ensure(t, all...)
	rows, err := st.SubjectKeys.SubjectKeysWith(t.Context(), "subject-keys/1", nil, 99)
	if err != nil || len(rows) != len(all) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows {
		if i%2 == 0 {
			if err := r.Destroy(t.Context(), "wsp_a", row.Subject, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.db*"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, filepath.Join(dir, "keys.db-wal")) {
		t.Error("there is no write-ahead log, so the test proves little")
	}
	for i, row := range rows {
		var in []string
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, row.Wrapped) {
				in = append(in, filepath.Base(file))
			}
		}
		if destroyed := i%2 == 0; destroyed && len(in) != 0 {
			t.Errorf("a destroyed key is still in %v", in)
		} else if !destroyed && len(in) == 0 {
			t.Error("a living key is in no file, so the test proves nothing")
		}
	}
}

// cut is a store that fails after some batches were rewrapped, as if the process had been killed there.
type cut struct {
	seal.SubjectStore
	batches int
}

var errCut = errors.New("cut off")

func (c *cut) RewrapSubjectKeys(ctx context.Context, old string, keys []seal.SubjectKey) error {
	if c.batches--; c.batches < 0 {
		return errCut
	}
	return c.SubjectStore.RewrapSubjectKeys(ctx, old, keys)
}

// wrapped counts the keys under each wrapping secret.
func (r *ring) wrapped(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	for n := range 9 {
		name := fmt.Sprintf("subject-keys/%d", n)
		rows, err := r.store.SubjectKeys.SubjectKeysWith(t.Context(), name, nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) > 0 {
			count[name] = len(rows)
		}
	}
	return count
}

func TestInterruptedRewrapContinues(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	r := newRing(t, st)
	const subjects = 700
	var all []seal.SubjectGeneration
	for n := range subjects {
		all = append(all, seal.SubjectGeneration{Subject: seal.SubjectHash{byte(n >> 8), byte(n)}, Generation: 1})
	}
	keys := r.ensure(t, all...)
	sealed := keys[subjects-1].Seal([]byte("x"), []byte("about"))

	broken := openRing(t, st, &cut{st.SubjectKeys, 1}, false)
	if err := broken.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := broken.Rewrap(t.Context()); !errors.Is(err, errCut) {
		t.Fatalf("the rewrapping that is cut off: %v", err)
	}
	if at := r.wrapped(t); at["subject-keys/2"] == 0 || at["subject-keys/1"] == 0 {
		t.Fatalf("it is cut off in the middle with %v", at)
	}
	// In between, every process can open every key.
	r.Forget("wsp_a", all[0].Subject)
	r.opens(t, all[0], keys[0].Seal([]byte("y"), []byte("about")), "y")
	// A process that does not know the new secret can still use the old one, and its keys are rewrapped too.
	r.ensure(t, generation(200, 1))

	next := openRing(t, st, st.SubjectKeys, false)
	if n, err := next.Rewrap(t.Context()); err != nil || n == 0 || n >= subjects+1 {
		t.Errorf("the next start wraps %d keys: %v", n, err)
	}
	if at := r.wrapped(t); len(at) != 1 || at["subject-keys/2"] != subjects+1 {
		t.Errorf("at the end there are %v", at)
	}
	if names := next.secrets.Names("subject-keys/"); !slices.Equal(names, []string{"subject-keys/2"}) {
		t.Errorf("the secrets are %v", names)
	}
	if n, err := next.Rewrap(t.Context()); n != 0 || err != nil {
		t.Errorf("there is more to do: %d, %v", n, err)
	}
	// The first process still has only the old secret in memory.
	for _, g := range all[:9] { // more than its cache holds
		if _, err := r.Find(t.Context(), "wsp_a", g.Subject, 1); err != nil {
			t.Fatal(err)
		}
	}
	r.opens(t, all[subjects-1], sealed, "x")
	late := openRing(t, st, st.SubjectKeys, false)
	if err := late.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Rewrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ensure(t, generation(201, 1)) // under a secret that no longer exists, until it reloads
	if at := r.wrapped(t); len(at) != 1 || at["subject-keys/3"] != subjects+2 {
		t.Errorf("at the end there are %v", at)
	}
}

// destroy is Destroy, repeated as long as other processes use the file too much to truncate its log. On a slow disk,
// that can take longer than Destroy waits.
func (r *ring) destroy(ctx context.Context, g seal.SubjectGeneration) (err error) {
	for range 20 {
		err = r.Destroy(ctx, "wsp_a", g.Subject, g.Generation)
		if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable {
			return err
		}
	}
	return err
}

func TestConcurrentRewrapsKeepEveryKey(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	rings := []*ring{newRing(t, st)}
	rings = append(rings, openRing(t, st, st.SubjectKeys, false), openRing(t, st, st.SubjectKeys, false))
	rings[0].ensure(t, generation(1, 1))
	var all sync.WaitGroup
	for i, r := range rings {
		all.Go(func() {
			for n := range 6 {
				g := generation(byte(10*i+n+10), 1)
				if _, err := r.Ensure(t.Context(), "wsp_a", []seal.SubjectGeneration{g}); err != nil {
					t.Error(err)
				}
				if i == 0 && n%2 == 0 {
					if err := r.Renew(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if _, err := r.Rewrap(t.Context()); err != nil {
					t.Error(err)
				}
				if n%3 == 0 {
					if err := r.destroy(t.Context(), g); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	last := openRing(t, st, st.SubjectKeys, false)
	if _, err := last.Rewrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at := last.wrapped(t); len(at) != 1 || at["subject-keys/4"] != 1+3*4 {
		t.Errorf("at the end there are %v", at)
	}
	for i := range rings {
		for n := range 6 {
			_, err := last.Find(t.Context(), "wsp_a", generation(byte(10*i+n+10), 1).Subject, 1)
			if destroyed := n%3 == 0; destroyed != errors.Is(err, seal.ErrDestroyed) || (!destroyed && err != nil) {
				t.Errorf("key %d of process %d: %v", n, i, err)
			}
		}
	}
}

func TestNumberOfARemovedWrappingSecretIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	first := newRing(t, st)
	late := openRing(t, st, st.SubjectKeys, false) // knows no wrapping secret
	first.ensure(t, generation(1, 1))
	stale := openRing(t, st, st.SubjectKeys, false) // knows the first one
	if err := first.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Rewrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	late.ensure(t, generation(2, 1))
	sealed := stale.ensure(t, generation(3, 1))[0].Seal([]byte("a text"), []byte("about"))
	if names := late.secrets.Names("subject-keys/"); !slices.Equal(names, []string{"subject-keys/2"}) {
		t.Errorf("the secrets are %v", names)
	}
	for _, r := range []*ring{first, late, openRing(t, st, st.SubjectKeys, false)} {
		r.opens(t, generation(3, 1), sealed, "a text")
	}
}

func TestRotationRenewsTheWrappingSecret(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	subjects := seal.NewSubjects(seal.SubjectsOptions{Store: v.store.SubjectKeys, Secrets: v.Secrets, Now: v.Now})
	v.Subjects = subjects
	if _, err := v.Rotate(t.Context(), "local", ""); err != nil {
		t.Fatal(err)
	}
	if names := v.Secrets.Names("subject-keys/"); len(names) != 0 {
		t.Errorf("without data keys there are %v", names)
	}
	keys, err := subjects.Ensure(t.Context(), "wsp_a", []seal.SubjectGeneration{generation(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Rotate(t.Context(), "local", ""); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		subjects.Run(running, slog.New(slog.DiscardHandler))
		close(ended)
	}()
	await.Until(t, "one secret is left", func() bool { return len(v.Secrets.Names("subject-keys/")) == 1 })
	stop()
	<-ended
	if names := v.Secrets.Names("subject-keys/"); !slices.Equal(names, []string{"subject-keys/2"}) {
		t.Fatalf("the secrets are %v", names)
	}
	again := seal.NewSubjects(seal.SubjectsOptions{Store: v.store.SubjectKeys, Secrets: v.Secrets, Now: v.Now})
	key, err := again.Find(t.Context(), "wsp_a", seal.SubjectHash{1}, 1)
	if err != nil || key.Hash("", "x") != keys[0].Hash("", "x") {
		t.Errorf("the key is another one: %v", err)
	}
	// A start that completes a change also renews the wrapping secret.
	if err := v.Recovered(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names := v.Secrets.Names("subject-keys/"); !slices.Equal(names, []string{"subject-keys/2", "subject-keys/3"}) {
		t.Errorf("the secrets are %v", names)
	}
}

// A process without the new master key reports that, and not that a subject does not exist.
func TestKeyUnderAReplacedMasterKey(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	r := newRing(t, st)
	old := openRing(t, st, st.SubjectKeys, false)
	r.ensure(t, generation(1, 1))
	if _, err := r.secrets.Rewrap(t.Context(), seal.MasterKey{2}); err != nil {
		t.Fatal(err)
	}
	if err := r.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Rewrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := old.Find(t.Context(), "wsp_a", seal.SubjectHash{1}, 1)
	if p, ok := problem.As(err); !ok || p.Code != problem.CodeUnavailable || !errors.Is(err, seal.ErrMasterKeyReplaced) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Find(t.Context(), "wsp_a", seal.SubjectHash{1}, 1); err != nil {
		t.Error(err)
	}
}

func TestDataKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	key := newRing(t, newStore(t)).ensure(t, generation(1, 1))[0]
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v %#v %x", key, key, key)} {
		if strings.Trim(text, "(datkey) ") != "" {
			t.Errorf("it is printed as %s", text)
		}
	}
}

// ringForBench is a ring on a disk.
func ringForBench(b *testing.B) *seal.Subjects {
	b.Helper()
	e, err := sqlite.Open(b.Context(), sqlite.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	secrets, err := seal.Open(b.Context(), store.New(e).Secrets, seal.MasterKey{1}, true)
	if err != nil {
		b.Fatal(err)
	}
	return seal.NewSubjects(seal.SubjectsOptions{Store: store.New(e).SubjectKeys, Secrets: secrets, Now: time.Now})
}

// numbered returns n subjects, beginning with a number.
func numbered(from, n int) (list []seal.SubjectGeneration) {
	for i := range n {
		g := seal.SubjectGeneration{Generation: 1}
		binary.BigEndian.PutUint64(g.Subject[:], uint64(from+i)*0x9e3779b97f4a7c15) // as scattered as hashes
		list = append(list, g)
	}
	return list
}

func BenchmarkDataKeysAtRest(b *testing.B) {
	const atOnce = 1000
	b.Run("Make1000", func(b *testing.B) {
		s, n := ringForBench(b), 0
		for b.Loop() {
			if _, err := s.Ensure(b.Context(), "wsp_a", numbered(n, atOnce)); err != nil {
				b.Fatal(err)
			}
			n += atOnce
		}
	})
	b.Run("MakeOneByOne64", func(b *testing.B) {
		s := ringForBench(b)
		var n atomic.Int64
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, err := s.Ensure(b.Context(), "wsp_a", numbered(int(n.Add(1)), 1)); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("FindCold", func(b *testing.B) {
		s := ringForBench(b)
		all := numbered(0, 1000)
		if _, err := s.Ensure(b.Context(), "wsp_a", all); err != nil {
			b.Fatal(err)
		}
		for i := 0; b.Loop(); i++ {
			g := all[i%len(all)]
			s.Forget("wsp_a", g.Subject)
			if _, err := s.Find(b.Context(), "wsp_a", g.Subject, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Destroy", func(b *testing.B) {
		s, n := ringForBench(b), 0
		for b.Loop() {
			if err := s.Destroy(b.Context(), "wsp_a", numbered(n, 1)[0].Subject, 1); err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
	b.Run("Rewrap20000", func(b *testing.B) {
		s := ringForBench(b)
		for n := 0; n < 20000; n += atOnce {
			if _, err := s.Ensure(b.Context(), "wsp_a", numbered(n, atOnce)); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if err := s.Renew(b.Context()); err != nil {
				b.Fatal(err)
			}
			if n, err := s.Rewrap(b.Context()); err != nil || n != 20000 {
				b.Fatal(n, err)
			}
		}
	})
}

func BenchmarkDataKey(b *testing.B) {
	s := ringForBench(b)
	keys, err := s.Ensure(b.Context(), "wsp_a", []seal.SubjectGeneration{generation(1, 1)})
	if err != nil {
		b.Fatal(err)
	}
	text, about := bytes.Repeat([]byte("x"), 500), []byte("about")
	sealed := keys[0].Seal(text, about)
	b.Run("Seal500", func(b *testing.B) {
		for b.Loop() {
			keys[0].Seal(text, about)
		}
	})
	b.Run("Open500", func(b *testing.B) {
		for b.Loop() {
			if _, err := keys[0].Open(sealed, about); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Hash", func(b *testing.B) {
		for b.Loop() {
			keys[0].Hash("key", "something")
		}
	})
	b.Run("Find", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Find(b.Context(), "wsp_a", seal.SubjectHash{1}, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

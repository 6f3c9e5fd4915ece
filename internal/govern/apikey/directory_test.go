package apikey

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fakeReader is the database of a directory.
type fakeReader struct {
	accountStore // for Workspaces; the other methods are not called
	mu           sync.Mutex
	keys         map[[32]byte]*APIKey
	reads        atomic.Int64  // of keys by their secret
	wait         chan struct{} // if set, such a read returns what it has read once this is closed
	err          error
}

func (s *fakeReader) EachAPIKey(_ context.Context, fn func(k *APIKey) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, k := range s.keys {
		if k.RevokedAt == nil && hash == k.Secrets[0].Hash {
			if err := fn(k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *fakeReader) APIKeyBySecret(_ context.Context, hash [32]byte) (*APIKey, error) {
	s.reads.Add(1)
	s.mu.Lock()
	k, err := s.keys[hash], s.err
	s.mu.Unlock()
	if s.wait != nil {
		<-s.wait
	}
	switch {
	case err != nil:
		return nil, err
	case k == nil:
		return nil, problem.Missing()
	default:
		read := *k
		return &read, nil
	}
}

func (s *fakeReader) Workspaces(context.Context) ([]account.Workspace, error) {
	return []account.Workspace{
		{ID: "wsp_operator", Name: "default", Tier: limit.TierUnlimited, Operator: true, Revision: 1},
		{ID: "wsp_free", Name: "tenant", Tier: limit.TierFree, Revision: 1},
	}, nil
}

type accountStore = account.Store

// handles is a Recorder that records the last touch.
type handles struct {
	next    atomic.Uint32
	touched atomic.Uint32
}

func (h *handles) Owner(string, string) usage.Owner        { return usage.Owner(h.next.Add(1)) }
func (h *handles) Secret(usage.Owner, string) usage.Secret { return usage.Secret(h.next.Add(1)) }
func (h *handles) Touch(s usage.Secret, _ time.Time)       { h.touched.Store(uint32(s)) }
func (h *handles) Charge(usage.Owner, time.Time, int64)    {}
func (h *handles) LastUsed(usage.Secret) time.Time         { return time.Time{} }

// bundle is a directory with its database.
type bundle struct {
	*Directory
	keys  *fakeReader
	now   time.Time
	texts map[string]string // by key ID
}

func setup(t testing.TB) *bundle {
	t.Helper()
	b := &bundle{keys: &fakeReader{keys: map[[32]byte]*APIKey{}}, now: noon, texts: map[string]string{}}
	clock := func() time.Time { return b.now }
	recorder := &handles{}
	accounts := account.NewDirectory(b.keys, limit.Tiers(), recorder, clock)
	if err := accounts.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	b.Directory = NewDirectory(b.keys, NewHasher([]byte("pepper")), accounts, recorder, clock)
	return b
}

// add creates and stores a key. The directory gets it by Load or Put.
func (b *bundle) add(change func(k *APIKey)) *APIKey {
	text := Generate(rand.Reader)
	k := &APIKey{
		ID: id.New(id.APIKey), WorkspaceID: "wsp_free", Name: "a key", Scopes: auth.Read, CreatedAt: b.now, Revision: 1,
		Secrets: []Secret{{Hash: b.hasher.Hash(text), Hint: hintOf(text), CreatedAt: b.now}},
	}
	if change != nil {
		change(k)
	}
	b.keep(k)
	b.texts[k.ID] = text
	return k
}

func (b *bundle) keep(k *APIKey) {
	b.keys.mu.Lock()
	defer b.keys.mu.Unlock()
	kept := *k
	for _, s := range k.Secrets {
		b.keys.keys[s.Hash] = &kept
	}
}

func (b *bundle) authenticate(t testing.TB, k *APIKey) (LiveKey, string) {
	t.Helper()
	live, err := b.Authenticate(t.Context(), b.texts[k.ID], b.now)
	return live, codeOf(t, err)
}

func codeOf(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	p, ok := problem.As(err)
	if !ok {
		t.Fatalf("got %v, want a problem", err)
	}
	return p.Code
}

func TestLoadedKeyNeedsNoDatabaseRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	expires, perMinute, monthly := b.now.Add(time.Hour), int64(7), int64(1000)
	plain := b.add(nil)
	full := b.add(func(k *APIKey) {
		k.WorkspaceID, k.Scopes, k.ExpiresAt = "wsp_operator", auth.MemoryRead|auth.Admin, &expires
		k.RequestsPerMinute, k.Monthly = &perMinute, &monthly
		k.SubjectID, k.AgentID = "person-7", "agent-1"
		k.AllowedIPs = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	})
	used := func(ownerID string) (day, month int64) {
		if ownerID == full.ID {
			return 10, 400
		}
		return 0, 0
	}
	if err := b.Load(t.Context(), used); err != nil {
		t.Fatal(err)
	}

	live, code := b.authenticate(t, plain)
	if code != "" {
		t.Fatalf("a live key is refused: %s", code)
	}
	if p := live.Principal; p.KeyID() != plain.ID || p.Kind != auth.APIKey || p.WorkspaceID != "wsp_free" || p.Operator || p.Scopes != auth.Read || p.Bound() {
		t.Errorf("the principal of a plain key is %+v", p)
	}
	if live.Account.Allowance != (limit.Allowance{PerMinute: 60}) {
		t.Errorf("a plain key has %+v, want the tier's 60 a minute", live.Account.Allowance)
	}
	if live.ExpiresAt != 0 || live.RotateBy != 0 || !live.AllowedFrom(netip.Addr{}) || live.Workspace.Name() != "tenant" {
		t.Errorf("a plain key is %+v", live)
	}

	live, _ = b.authenticate(t, full)
	if p := live.Principal; p.KeyID() != full.ID || !p.Operator || p.SubjectID != "person-7" || p.AgentID != "agent-1" || p.Scopes != full.Scopes {
		t.Errorf("the principal is %+v", p)
	}
	if live.Account.Allowance != (limit.Allowance{PerMinute: 7, Monthly: 1000}) || live.ExpiresAt != expires.Unix() {
		t.Errorf("the key is %+v", live)
	}
	if v := (limit.Local{}).Peek(b.now, 1, live.Account, limit.Account{}); v.MonthlyRemaining != 600 {
		t.Errorf("%d of 1000 remain in the month after a restart with 400 used, want 600", v.MonthlyRemaining)
	}
	for addr, want := range map[string]bool{
		"192.0.2.9": true, "::ffff:192.0.2.9": true, "192.0.3.1": false, "2001:db8::1": true, "2001:db8::1%eth0": true, "::1": false,
	} {
		if got := live.AllowedFrom(netip.MustParseAddr(addr)); got != want {
			t.Errorf("AllowedFrom(%s) = %v, want %v", addr, got, want)
		}
	}
	if live.AllowedFrom(netip.Addr{}) {
		t.Error("a key with allowed addresses can be used from an unknown one")
	}
	if n := b.keys.reads.Load(); n != 0 {
		t.Errorf("looking up loaded keys read the database %d times", n)
	}
	if s := b.Stats(); s.Entries != 2 || s.Hits != 2 || s.Misses != 0 || s.Bytes == 0 {
		t.Errorf("the statistics are %+v", s)
	}
}

func TestRefusalFollowsPrecedenceOfStates(t *testing.T) {
	t.Parallel()
	codes := map[State]string{
		Revoked: problem.CodeAPIKeyRevoked, Disabled: problem.CodeAPIKeyDisabled, Expired: problem.CodeAPIKeyExpired,
		Rotating: "", Active: "",
	}
	for row := range 16 {
		b := setup(t)
		second := Generate(rand.Reader)
		k := b.add(func(k *APIKey) {
			like := keyIn(b.now, row&8 != 0, row&4 != 0, row&2 != 0, row&1 != 0)
			k.RevokedAt, k.DisabledAt, k.ExpiresAt = like.RevokedAt, like.DisabledAt, like.ExpiresAt
			k.Secrets = append(k.Secrets, Secret{Hash: b.hasher.Hash(second), ValidUntil: like.Secrets[1].ValidUntil})
		})
		want := codes[k.StateAt(b.now)]
		// Load leaves revoked keys out, so the database answers for them; Put keeps them in memory.
		for name, learn := range map[string]func(){
			"load": func() {
				if err := b.Load(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			},
			"put": func() { b.Put(k) },
		} {
			learn()
			if _, code := b.authenticate(t, k); code != want {
				t.Errorf("after %s a key that is %s is refused with %q, want %q", name, k.StateAt(b.now), code, want)
			}
			live, err := b.Authenticate(t.Context(), second, b.now)
			wantOld := want
			if row&1 == 0 {
				wantOld = problem.CodeInvalidAPIKey // its grace period is over, whatever the key's state
			}
			if code := codeOf(t, err); code != wantOld {
				t.Errorf("after %s the older secret of a key that is %s is refused with %q, want %q", name, k.StateAt(b.now), code, wantOld)
			}
			if err == nil && live.RotateBy != k.Secrets[1].ValidUntil.Unix() {
				t.Errorf("the older secret must be rotated by %d, want %d", live.RotateBy, k.Secrets[1].ValidUntil.Unix())
			}
		}
	}
}

func TestUnknownTextIsReadOncePerTenSeconds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	unknown := Generate(rand.Reader)
	for range 5 {
		if _, err := b.Authenticate(t.Context(), unknown, b.now); codeOf(t, err) != problem.CodeInvalidAPIKey {
			t.Fatalf("an unknown key gets %v", err)
		}
	}
	if n := b.keys.reads.Load(); n != 1 {
		t.Errorf("five uses of one unknown text read the database %d times, want 1", n)
	}
	b.now = b.now.Add(refusalTTL)
	b.Authenticate(t.Context(), unknown, b.now)
	if n := b.keys.reads.Load(); n != 2 {
		t.Errorf("after %s the database was read %d times in all, want 2", refusalTTL, n)
	}
	wrong := unknown[:40] + "!"
	if _, err := b.Authenticate(t.Context(), wrong, b.now); codeOf(t, err) != problem.CodeInvalidAPIKey || b.keys.reads.Load() != 2 {
		t.Errorf("a bad checksum answers %v after %d reads; want invalid_api_key without one", err, b.keys.reads.Load())
	}
	if s := b.RefusalStats(); s.Entries != 1 || s.Hits != 4 || s.Misses != 2 {
		t.Errorf("the statistics are %+v", s)
	}
}

func TestLongerTextIsNotTheKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	b.Put(k)
	longer := b.texts[k.ID] + "x"
	if _, err := b.LookupStored(t.Context(), longer, b.now); codeOf(t, err) != problem.CodeInvalidAPIKey {
		t.Errorf("the text of a key with another character gets %v", err)
	}
	if b.hasher.Hash(longer) == k.Secrets[0].Hash {
		t.Error("a text and a longer one have the same hash")
	}
	if n := b.keys.reads.Load(); n != 0 {
		t.Errorf("a malformed text cost %d reads", n)
	}
}

func TestRefusalsInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range maxRefusals + 100 {
		b.Authenticate(t.Context(), Generate(rand.Reader), b.now)
	}
	if s := b.RefusalStats(); s.Entries != maxRefusals || s.Evictions != 100 {
		t.Errorf("the statistics are %+v, want %d entries and 100 evictions", s, maxRefusals)
	}
}

func TestConcurrentLookupsShareARead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		b.keys.wait = make(chan struct{})
		unknown := Generate(rand.Reader)
		first, cancel := context.WithCancel(t.Context())
		var asked sync.WaitGroup
		asked.Go(func() {
			if _, err := b.Authenticate(first, unknown, b.now); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller who went away got %v", err)
			}
		})
		synctest.Wait()
		for range 20 {
			asked.Go(func() {
				if _, err := b.Authenticate(t.Context(), unknown, b.now); codeOf(t, err) != problem.CodeInvalidAPIKey {
					t.Errorf("one of many callers got %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(b.keys.wait)
		asked.Wait()
		if n := b.keys.reads.Load(); n != 1 {
			t.Errorf("21 concurrent lookups read the database %d times, want 1", n)
		}
	})
}

func TestFailedReadIsNotARefusal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	b.keys.err = problem.NotAvailable("The database is away.", time.Second)
	if _, code := b.authenticate(t, k); code != problem.CodeUnavailable {
		t.Errorf("without the database an unknown text is refused with %q, want %q", code, problem.CodeUnavailable)
	}
	b.keys.err = nil
	if _, code := b.authenticate(t, k); code != "" {
		t.Errorf("when the database is back the key is refused with %q", code)
	}
}

func TestOlderRevisionPutLateChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	revoked := *k
	revoked.RevokedAt, revoked.Revision = &b.now, 2
	b.Put(&revoked)
	b.Put(k)
	if _, code := b.authenticate(t, k); code != problem.CodeAPIKeyRevoked {
		t.Errorf("a key whose revocation was put first gets %q, want %q", code, problem.CodeAPIKeyRevoked)
	}
}

func TestUnreadableRevocationIsInForce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	b.Put(k)
	revoked := *k
	revoked.RevokedAt, revoked.Revision, revoked.Secrets = &b.now, 3, nil // a key without secrets has no entry
	b.Put(&revoked)
	older := *k
	older.Revision = 2
	b.Put(&older)
	if _, code := b.authenticate(t, k); code != problem.CodeAPIKeyRevoked {
		t.Errorf("after its revocation the key gets %q", code)
	}
}

func TestChangedKeyKeepsItsCounters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	b.Put(k)
	live, _ := b.authenticate(t, k)
	limit.Local{}.Charge(b.now, 1, live.Workspace.Account(), live.Account)
	changed, perMinute := *k, int64(5)
	changed.Scopes, changed.RequestsPerMinute, changed.Revision = auth.Write, &perMinute, 2
	b.Put(&changed)
	live, _ = b.authenticate(t, k)
	if live.Principal.Scopes != auth.Write || live.Account.PerMinute != 5 {
		t.Errorf("after a change the key is %+v", live)
	}
	if v := (limit.Local{}).Peek(b.now, 1, live.Account, limit.Account{}); v.Remaining != 4 {
		t.Errorf("after one charge and a change to 5 a minute %d remain, want 4", v.Remaining)
	}
}

func TestTouchRecordsTheSecretThatWasSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	second := Generate(rand.Reader)
	k := b.add(func(k *APIKey) {
		until := b.now.Add(time.Hour)
		k.Secrets = append(k.Secrets, Secret{Hash: b.hasher.Hash(second), ValidUntil: &until})
	})
	b.Put(k)
	newer, _ := b.authenticate(t, k)
	older, _ := b.Authenticate(t.Context(), second, b.now)
	recorder := b.recorder.(*handles)
	newer.Touch(b.now)
	a := recorder.touched.Load()
	older.Touch(b.now)
	if o := recorder.touched.Load(); a == 0 || o == 0 || a == o {
		t.Errorf("the two secrets of a key are noted as %d and %d", a, o)
	}
}

func TestKeyCreatedElsewhereIsReadOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	for range 3 {
		if live, code := b.authenticate(t, k); code != "" || live.Principal.KeyID() != k.ID {
			t.Fatalf("a key in the database is refused with %q", code)
		}
	}
	if n := b.keys.reads.Load(); n != 1 {
		t.Errorf("three uses of one key read the database %d times, want 1", n)
	}
}

func TestRevocationDuringAReadCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		k := b.add(nil)
		b.keys.wait = make(chan struct{})
		var reader sync.WaitGroup
		reader.Go(func() {
			if _, code := b.authenticate(t, k); code != problem.CodeAPIKeyRevoked {
				t.Errorf("the key that was read before its revocation gets %q", code)
			}
		})
		synctest.Wait() // the read has the key as it was
		revoked := *k
		revoked.RevokedAt, revoked.Revision = &b.now, 2
		b.Put(&revoked)
		close(b.keys.wait)
		reader.Wait()
		if _, code := b.authenticate(t, k); code != problem.CodeAPIKeyRevoked {
			t.Errorf("after the read the key gets %q", code)
		}
	})
}

func TestRevokedKeyLeavesMemoryAfterAnHour(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	b.Put(k)
	revoked := *k
	revoked.RevokedAt, revoked.Revision = &b.now, 2
	b.keep(&revoked)
	b.Put(&revoked)
	for _, step := range []struct {
		after            time.Duration
		entries, evicted int64
	}{{0, 2, 0}, {forgetAfter, 3, 0}, {time.Second, 3, 1}} {
		b.now = b.now.Add(step.after)
		b.Put(b.add(nil))
		if _, code := b.authenticate(t, k); code != problem.CodeAPIKeyRevoked {
			t.Errorf("the revoked key gets %q", code)
		}
		if s := b.Stats(); s.Entries != step.entries || s.Evictions != step.evicted {
			t.Errorf("the statistics are %+v, want %d entries and %d evictions", s, step.entries, step.evicted)
		}
	}
	if n := b.keys.reads.Load(); n != 1 {
		t.Errorf("the database was read %d times, want once, after the hour", n)
	}
}

// A request can charge a key after its revocation.
func TestForgottenKeyKeepsItsCountersToItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	b.Put(k)
	held, _ := b.authenticate(t, k)
	revoked := *k
	revoked.RevokedAt, revoked.Revision = &b.now, 2
	b.Put(&revoked)
	b.now = b.now.Add(forgetAfter + time.Second)
	later := b.add(nil)
	b.Put(later)
	limit.Local{}.Charge(b.now, 1, held.Workspace.Account(), held.Account)
	live, _ := b.authenticate(t, later)
	if v := (limit.Local{}).Peek(b.now, 1, live.Account, limit.Account{}); v.Remaining != 60 {
		t.Errorf("a new key has %d requests left, want 60", v.Remaining)
	}
}

// Readers look keys up while others are created, changed and revoked. A key is refused from the moment its revocation was
// put, it is never missing before, and a reader sees one revision of it.
func TestRevocationIsInForceAtOnceUnderLoad(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const keys, readers = 64, 4
	var texts [keys]string
	var revoked [keys]atomic.Bool
	var all [keys]*APIKey
	for i := range keys {
		all[i] = b.add(nil)
		texts[i] = b.texts[all[i].ID]
		b.Put(all[i])
	}
	ctx, done := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for r := range readers {
		running.Go(func() {
			for i := r; ctx.Err() == nil; i++ {
				n := i % keys
				before := revoked[n].Load()
				live, err := b.Lookup(texts[n], noon)
				switch {
				case err == nil && before:
					t.Errorf("key %d was found after its revocation", n)
					return
				case err != nil && err != error(errRevoked):
					t.Errorf("key %d is refused with %v", n, err)
					return
				// Even revisions have the scope write and one request a minute, odd ones neither.
				case err == nil && (live.Principal.Scopes == auth.Write) != (live.Account.PerMinute == 1):
					t.Errorf("key %d has the scopes %s with %d requests a minute", n, live.Principal.Scopes, live.Account.PerMinute)
					return
				}
			}
		})
	}
	one := int64(1)
	for revision := int64(2); revision < 30; revision++ {
		for n := range keys {
			k := *all[n]
			k.Revision = revision
			if revision%2 == 0 {
				k.Scopes, k.RequestsPerMinute = auth.Write, &one
			}
			b.Put(&k)
		}
	}
	for n := range keys {
		k := *all[n]
		k.Revision, k.RevokedAt = 1000, &b.now
		b.Put(&k)
		revoked[n].Store(true)
		b.Put(b.add(nil))
	}
	done()
	running.Wait()
}

func TestReplacedSecretIsInvalid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.add(nil)
	b.Put(k)
	texts := []string{b.texts[k.ID]}
	until := b.now.Add(time.Hour)
	for revision := int64(2); revision < 10; revision++ {
		texts = append(texts, Generate(rand.Reader))
		next := Secret{Hash: b.hasher.Hash(texts[len(texts)-1]), CreatedAt: b.now}
		used := k.Secrets[0]
		used.ValidUntil = &until
		rotated := *k
		rotated.Revision, rotated.Secrets = revision, []Secret{next, used}
		b.Put(&rotated)
		k = &rotated
		for i, text := range texts {
			live, err := b.Authenticate(t.Context(), text, b.now)
			switch age := len(texts) - 1 - i; {
			case age > 1:
				if codeOf(t, err) != problem.CodeInvalidAPIKey {
					t.Fatalf("a secret that was replaced %d rotations ago: %v", age, err)
				}
			case err != nil || (live.RotateBy == until.Unix()) != (age == 1):
				t.Fatalf("a secret after %d rotations: rotate by %d, %v", age, live.RotateBy, err)
			}
		}
	}
	secrets := 0
	for i := range b.index {
		secrets += len(*b.index[i].entries.Load())
	}
	if s := b.Stats(); s.Entries != 1 || secrets != 2 {
		t.Errorf("%d secrets are in memory and the statistics are %+v, want two secrets of one key", secrets, s)
	}
}

// Loading 100,000 keys must not copy a map for each of them.
func TestEditCopiesAShardOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	edit := b.index.begin()
	hash := [32]byte{1, 2}
	same := hash
	same[31] = 1
	edit.add(&entry{current: secret{hash: hash}})
	edit.add(&entry{current: secret{hash: same}, previous: &secret{hash: [32]byte{2, 1}}})
	if len(edit.copies) != 2 || len(edit.copyOf(hash)) != 2 {
		t.Errorf("the copies are %v, want one of two entries and one of one", edit.copies)
	}
	if n := len(*b.index.shardOf(hash).entries.Load()); n != 0 {
		t.Errorf("%d entries are visible before they are published", n)
	}
	edit.publish()
	if n := len(*b.index.shardOf(hash).entries.Load()); n != 2 {
		t.Errorf("%d entries are visible after they were published, want 2", n)
	}
}

// BenchmarkMemory measures the rest: the recorder's handles and what the heap makes of it.
func TestKeyTakesAtMost300Bytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const keys = 1000
	for range keys {
		b.add(nil)
	}
	if err := b.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if perKey := b.Stats().Bytes / keys; perKey < 200 || perKey > 300 {
		t.Errorf("a key takes %d bytes", perKey)
	}
}

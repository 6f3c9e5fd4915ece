package apikey_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
	usagestore "keepsake/internal/store/usage"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bundle is the service on a real store with the operator workspace and a free one, and with a clock that a test moves.
type bundle struct {
	*apikey.Service
	apikey.Options
	log      audittest.Recorder
	store    *store.Store
	counters *usagestore.Counters
	recorder *usage.Recorder
	at       atomic.Int64 // Unix microseconds
	tenant   string       // ID of the free workspace
	reserve  reserve
}

// reserve saves pending revocations like a file.
type reserve struct {
	list []apikey.PendingRevocation
	err  error
}

func (r *reserve) Load() ([]apikey.PendingRevocation, error) { return r.list, nil }

func (r *reserve) Save(list []apikey.PendingRevocation) error {
	if r.err == nil {
		r.list = list
	}
	return r.err
}

func (b *bundle) now() time.Time       { return time.UnixMicro(b.at.Load()).UTC() }
func (b *bundle) pass(d time.Duration) { b.at.Add(d.Microseconds()) }
func (b *bundle) in(d time.Duration) *time.Time {
	at := b.now().Add(d).Truncate(time.Millisecond)
	return &at
}

func setup(t testing.TB) *bundle {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	b := &bundle{store: store.New(engine), counters: usagestore.New(engine).Counters, tenant: id.New(id.Workspace)}
	b.at.Store(noon.UnixMicro())
	b.recorder = usage.NewRecorder(b.counters, b.now, slog.New(slog.DiscardHandler))
	accounts := account.NewDirectory(b.store.Accounts, limit.Tiers(), b.recorder, b.now)
	for _, w := range []account.Workspace{
		{ID: id.New(id.Workspace), Name: "default", Tier: limit.TierUnlimited, Operator: true, CreatedAt: noon, Revision: 1},
		{ID: b.tenant, Name: "tenant", Tier: limit.TierFree, CreatedAt: noon, Revision: 1},
	} {
		if err := b.store.Accounts.CreateWorkspace(t.Context(), &w); err != nil {
			t.Fatal(err)
		}
	}
	if err := accounts.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	hasher := apikey.NewHasher([]byte("pepper"))
	b.Options = apikey.Options{
		Limiter: limit.Local{},
		Store:   b.store.APIKeys, Units: b.store, Accounts: accounts, Hasher: hasher, Uses: b.counters, Reports: b.counters, Audit: &b.log, Random: rand.Reader, Now: b.now,
		PendingStore: &b.reserve, Log: slog.New(slog.DiscardHandler),
		Directory: apikey.NewDirectory(b.store.APIKeys, hasher, accounts, b.recorder, b.now),
	}
	b.Service = apikey.NewService(b.Options)
	return b
}

// set replaces the service by one with other options. Pending revocations are lost.
func (b *bundle) set(change func(o *apikey.Options)) {
	change(&b.Options)
	b.Service = apikey.NewService(b.Options)
}

// manager is a principal of the tenant with these scopes.
func (b *bundle) manager(scopes auth.Scopes) *auth.Principal {
	return &auth.Principal{Kind: auth.Local, WorkspaceID: b.tenant, Scopes: scopes}
}

func (b *bundle) newKey(t testing.TB, d apikey.Draft) *apikey.Created {
	t.Helper()
	if d.Name == "" {
		d.Name = "a key"
	}
	if d.Scopes == auth.None {
		d.Scopes = auth.Read
	}
	k, err := b.Create(t.Context(), b.manager(auth.All), d)
	if err != nil {
		t.Fatalf("create %+v: %v", d, err)
	}
	return k
}

// codeWith is the code with which a text is refused now, empty if it is not.
func (b *bundle) codeWith(t testing.TB, text string) string {
	t.Helper()
	_, err := b.Directory.Authenticate(t.Context(), text, b.now())
	return code(t, err)
}

func code(t testing.TB, err error) string {
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

func wantProblem(t testing.TB, err error, code, field string, issue problem.Issue) {
	t.Helper()
	p, ok := problem.As(err)
	if !ok || p.Code != code || p.Details.Field != field || p.Details.Issue != issue {
		t.Errorf("got %v, want %s of %q, %q", err, code, field, issue)
	}
}

func TestCreatedKeyWorksAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	perMinute, daily := int64(7), int64(100)
	created := b.newKey(t, apikey.Draft{
		Name: "crawler", Scopes: auth.Read | auth.MemoryRead, ExpiresAt: b.in(time.Hour), RequestsPerMinute: &perMinute,
		Quota: apikey.Quota{Daily: &daily}, SubjectID: "person-7", AgentID: "agent-1",
		AllowedIPs: []netip.Prefix{netip.MustParsePrefix("192.0.2.77/24"), netip.MustParsePrefix("::ffff:198.51.100.0/120")},
		Metadata:   map[string]any{"team": "search", "n": 1.5, "on": true},
	})
	live, err := b.Directory.Authenticate(t.Context(), created.Text, b.now())
	if err != nil || live.Principal.KeyID() != created.ID || live.Account.PerMinute != 7 || live.Account.Daily != 100 || live.Account.Monthly != 0 {
		t.Errorf("right after its creation the key is %+v, %v", live, err)
	}
	if !live.AllowedFrom(netip.MustParseAddr("192.0.2.1")) || !live.AllowedFrom(netip.MustParseAddr("198.51.100.9")) {
		t.Error("the allowed networks do not hold their addresses")
	}
	read, err := b.APIKey(t.Context(), b.manager(auth.DeveloperManage), created.ID)
	if err != nil {
		t.Fatal(err)
	}
	if read.Name != "crawler" || read.Scopes != created.Scopes || !read.ExpiresAt.Equal(*created.ExpiresAt) || *read.RequestsPerMinute != 7 ||
		*read.Daily != 100 || read.Monthly != nil || read.SubjectID != "person-7" || read.AgentID != "agent-1" || len(read.Metadata) != 3 ||
		!read.CreatedAt.Equal(noon) || read.CreatedBy != "local" || read.Revision != 1 || read.State != apikey.Active || read.Inherited {
		t.Errorf("the key is read back as %+v", read)
	}
	if got := []string{read.AllowedIPs[0].String(), read.AllowedIPs[1].String()}; !slices.Equal(got, []string{"192.0.2.0/24", "198.51.100.0/24"}) {
		t.Errorf("the allowed networks are %v", got)
	}
	if s := read.LiveSecrets; len(s) != 1 || s[0].Hint != created.Text[:9] || s[0].LastUsedAt != nil {
		t.Errorf("the secrets are %+v", s)
	}
}

func operatorOf(b *bundle) string {
	e, _ := b.Accounts.Operator()
	return e.ID()
}

func TestInvalidDraftIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tooFast, huge := int64(61), map[string]any{}
	for i := range 33 {
		huge[strings.Repeat("n", i+1)] = true
	}
	for name, bad := range map[string]struct {
		apikey.Draft
		field string
		issue problem.Issue
	}{
		"a blank name":         {apikey.Draft{Name: " \t", Scopes: auth.Read}, "name", problem.Required},
		"a long name":          {apikey.Draft{Name: strings.Repeat("é", 121), Scopes: auth.Read}, "name", problem.TooLong},
		"a name with NUL":      {apikey.Draft{Name: "a\x00", Scopes: auth.Read}, "name", problem.Format},
		"no scope":             {apikey.Draft{Name: "a"}, "scopes", problem.TooShort},
		"an expiry of now":     {apikey.Draft{Name: "a", Scopes: auth.Read, ExpiresAt: b.in(0)}, "expiresAt", problem.Expired},
		"more than the tier's": {apikey.Draft{Name: "a", Scopes: auth.Read, RequestsPerMinute: &tooFast}, "rateLimit.requestsPerMinute", problem.TooLargeVal},
		"much metadata":        {apikey.Draft{Name: "a", Scopes: auth.Read, Metadata: huge}, "metadata", problem.TooLong},
		"long metadata":        {apikey.Draft{Name: "a", Scopes: auth.Read, Metadata: map[string]any{"a": strings.Repeat("é", 1025)}}, "metadata.a", problem.TooLong},
		"deep metadata":        {apikey.Draft{Name: "a", Scopes: auth.Read, Metadata: map[string]any{"a": []any{}}}, "metadata.a", problem.Type},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Create(t.Context(), b.manager(auth.All), bad.Draft)
			wantProblem(t, err, problem.CodeValidation, bad.field, bad.issue)
		})
	}
	if keys, err := b.List(t.Context(), b.manager(auth.All), apikey.Filter{Limit: 10}); err != nil || len(keys) != 0 {
		t.Errorf("refused drafts left %d keys, %v", len(keys), err)
	}
}

func TestRevokedAndExpiredKeysDoNotCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	expiring := b.newKey(t, apikey.Draft{ExpiresAt: b.in(time.Minute)})
	var keys []*apikey.Created
	for range 4 {
		keys = append(keys, b.newKey(t, apikey.Draft{}))
	}
	full := func() {
		t.Helper()
		_, err := b.Create(t.Context(), b.manager(auth.All), apikey.Draft{Name: "one more", Scopes: auth.Read})
		if p, ok := problem.As(err); !ok || p.Code != problem.CodeLimitReached || p.Details.Limit != "keys" {
			t.Errorf("a sixth key in the free tier: %v", err)
		}
	}
	full()
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), keys[0].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	b.newKey(t, apikey.Draft{})
	full()
	b.pass(time.Minute)
	b.newKey(t, apikey.Draft{})
	full()

	// There are five live keys, so the expired one cannot become the sixth before there is room.
	revive := apikey.Change{Expiry: &apikey.Expiry{At: b.in(time.Hour)}}
	if _, err := b.Change(t.Context(), b.manager(auth.All), expiring.ID, nil, revive); code(t, err) != problem.CodeLimitReached {
		t.Errorf("reviving a key in a full workspace: %v", err)
	}
	if got := b.codeWith(t, expiring.Text); got != problem.CodeAPIKeyExpired {
		t.Errorf("after a refused change the key answers %q", got)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), keys[1].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if k, err := b.Change(t.Context(), b.manager(auth.All), expiring.ID, nil, revive); err != nil || k.State != apikey.Active {
		t.Errorf("reviving a key when there is room: %+v, %v", k, err)
	}
	if got := b.codeWith(t, expiring.Text); got != "" {
		t.Errorf("a revived key is refused with %q", got)
	}
}

func TestConcurrentCreationsKeepTheTiersLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var created, refused atomic.Int64
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			_, err := b.Create(t.Context(), b.manager(auth.All), apikey.Draft{Name: "a key", Scopes: auth.Read})
			if err == nil {
				created.Add(1)
			} else if p, ok := problem.As(err); ok && p.Code == problem.CodeLimitReached {
				refused.Add(1)
			}
		})
	}
	running.Wait()
	if created.Load() != 5 || refused.Load() != 15 {
		t.Errorf("of 20 at once %d were created and %d refused, want 5 and 15", created.Load(), refused.Load())
	}
}

func TestKeysWorkAfterARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	live, revoked := b.newKey(t, apikey.Draft{}), b.newKey(t, apikey.Draft{})
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), revoked.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	again := apikey.NewDirectory(b.store.APIKeys, b.Hasher, b.Accounts, b.recorder, b.now)
	if err := again.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Authenticate(t.Context(), live.Text, b.now()); err != nil {
		t.Errorf("a live key after a restart: %v", err)
	}
	if _, err := again.Authenticate(t.Context(), revoked.Text, b.now()); code(t, err) != problem.CodeAPIKeyRevoked {
		t.Errorf("a revoked key after a restart: %v", err)
	}
	if s := again.Stats(); s.Entries != 1 {
		t.Errorf("after a restart the directory is %+v", s)
	}
}

func TestKeyOfAFailedTransactionDoesNotExist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var created *apikey.Created
	broken := errors.New("the answer could not be stored")
	err := b.store.Run(t.Context(), func(ctx context.Context) (err error) {
		if created, err = b.Create(ctx, b.manager(auth.All), apikey.Draft{Name: "a key", Scopes: auth.Read}); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if got := b.codeWith(t, created.Text); got != problem.CodeInvalidAPIKey {
		t.Errorf("the key of a failed transaction gets %q", got)
	}
}

func TestFirstKeyIsCreatedWithItsWorkspace(t *testing.T) {
	t.Parallel()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	s := store.New(engine)
	counters := usagestore.New(engine).Counters
	recorder := usage.NewRecorder(counters, time.Now, slog.New(slog.DiscardHandler))
	accounts := account.NewDirectory(s.Accounts, limit.Tiers(), recorder, time.Now)
	people := account.NewService(account.Options{Store: s.Accounts, Units: s, Directory: accounts, Random: rand.Reader, Now: time.Now})
	hasher := apikey.NewHasher([]byte("pepper"))
	directory := apikey.NewDirectory(s.APIKeys, hasher, accounts, recorder, time.Now)
	keys := apikey.NewService(apikey.Options{
		Limiter: limit.Local{},
		Store:   s.APIKeys, Units: s, Accounts: accounts, Hasher: hasher, Uses: counters, Audit: &audittest.Recorder{},
		Random: rand.Reader, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Directory: directory,
	})
	var text string
	first, err := people.FirstStart(t.Context(), account.Admin{}, func(ctx context.Context, workspaceID string) (err error) {
		text, err = keys.CreateFirst(ctx, workspaceID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	live, err := directory.Authenticate(t.Context(), text, time.Now())
	if err != nil || live.Principal.WorkspaceID != first.WorkspaceID || !live.Principal.Operator || live.Principal.Scopes != auth.All {
		t.Errorf("the first key is %+v, %v", live.Principal, err)
	}
	self, err := keys.Self(t.Context(), &live.Principal)
	if err != nil || self.ID != live.Principal.KeyID() || self.Workspace.ID() != first.WorkspaceID || self.CreatedBy != "local" {
		t.Errorf("the first key is %+v, %v", self, err)
	}
	if _, err := keys.Self(t.Context(), &auth.Principal{Kind: auth.Local, WorkspaceID: first.WorkspaceID}); code(t, err) != problem.CodeMissingCredentials {
		t.Errorf("Self of a principal without a key: %v", err)
	}
	// Another process revokes it. This one has not heard of that, and still knows the principal.
	keyID := live.Principal.KeyID()
	if _, err := keys.Revoke(t.Context(), &auth.Principal{Kind: auth.Local, WorkspaceID: first.WorkspaceID, Scopes: auth.All}, keyID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Self(t.Context(), &live.Principal); code(t, err) != problem.CodeAPIKeyRevoked {
		t.Errorf("Self of a revoked key: %v", err)
	}
}

func TestChangesOfKeysAreAudited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.newKey(t, apikey.Draft{Scopes: auth.Read, RequestsPerMinute: new(int64(20))})
	p, name, disabled := b.manager(auth.All), "Jane's key", true
	for _, change := range []apikey.Change{
		{Name: &name, Disabled: &disabled},
		{RateLimit: &apikey.RateLimit{RequestsPerMinute: new(int64(25))}, Quota: &apikey.Quota{Daily: new(int64(500))}},
		{RateLimit: &apikey.RateLimit{}},
	} {
		if _, err := b.Change(t.Context(), p, k.ID, nil, change); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second changes nothing
		if _, err := b.Revoke(t.Context(), p, k.ID, nil, "lost by Jane"); err != nil {
			t.Fatal(err)
		}
	}
	entry := func(action audit.Action, details map[string]string) audit.Entry {
		return audit.Entry{Action: action, WorkspaceID: b.tenant, Actor: "local", Target: k.ID, Details: details}
	}
	want := []audit.Entry{
		entry(audit.KeyCreated, map[string]string{"scopes": "read", "rateLimit.requestsPerMinute": "20"}),
		entry(audit.KeyChanged, map[string]string{"name": audit.Changed, "disabled": "true"}),
		entry(audit.KeyChanged, map[string]string{
			"rateLimit.requestsPerMinute": "25", "rateLimit.requestsPerMinute.before": "20",
			"quota.daily": "500", "quota.daily.before": "none", "quota.monthly": "none", "quota.monthly.before": "none",
		}),
		entry(audit.KeyChanged, map[string]string{"rateLimit.requestsPerMinute": "none", "rateLimit.requestsPerMinute.before": "25"}),
		entry(audit.KeyRevoked, nil),
	}
	if diff := cmp.Diff(want, b.log.Entries(), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

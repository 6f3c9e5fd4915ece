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

	"pgregory.net/rapid"

	"keepsake/internal/account"
	"keepsake/internal/apikey"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/usage"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bundle is the service over real stores, with a free tenant beside the operator, and a clock a test moves.
type bundle struct {
	*apikey.Service
	store    *store.Store
	recorder *usage.Recorder
	at       atomic.Int64 // Unix microseconds
	tenant   string       // id of the free workspace
}

func (b *bundle) now() time.Time       { return time.UnixMicro(b.at.Load()).UTC() }
func (b *bundle) pass(d time.Duration) { b.at.Add(d.Microseconds()) }
func (b *bundle) in(d time.Duration) *time.Time {
	at := b.now().Add(d).Truncate(time.Millisecond)
	return &at
}

func setup(t testing.TB) *bundle {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	b := &bundle{store: store.New(engine), tenant: id.New(id.Workspace)}
	b.at.Store(noon.UnixMicro())
	b.recorder = usage.NewRecorder(b.store, b.now, slog.New(slog.DiscardHandler))
	accounts := account.NewDirectory(b.store, limit.Tiers(), b.recorder, b.now)
	for _, w := range []account.Workspace{
		{ID: id.New(id.Workspace), Name: "default", Tier: limit.TierUnlimited, Operator: true, CreatedAt: noon, Revision: 1},
		{ID: b.tenant, Name: "tenant", Tier: limit.TierFree, CreatedAt: noon, Revision: 1},
	} {
		if err := b.store.CreateWorkspace(t.Context(), &w); err != nil {
			t.Fatal(err)
		}
	}
	if err := accounts.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	hasher := apikey.NewHasher([]byte("pepper"))
	b.Service = apikey.NewService(apikey.Options{
		Store: b.store, Units: b.store, Accounts: accounts, Hasher: hasher, Uses: b.store, Random: rand.Reader, Now: b.now,
		Directory: apikey.NewDirectory(b.store, hasher, accounts, b.recorder, b.now),
	})
	return b
}

// manager is a principal of the tenant with these scopes.
func (b *bundle) manager(scopes auth.Scopes) *auth.Principal {
	return &auth.Principal{Kind: auth.Local, WorkspaceID: b.tenant, Scopes: scopes}
}

func (b *bundle) make(t testing.TB, d apikey.Draft) *apikey.Created {
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

// codeWith gives the code with which a text is refused now, empty when it is not.
func (b *bundle) codeWith(t testing.TB, text string) string {
	t.Helper()
	_, err := b.Directory.Recognise(t.Context(), text, b.now())
	return code(t, err)
}

func code(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	p, ok := problem.As(err)
	if !ok {
		t.Fatalf("the error is no problem: %v", err)
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

func TestACreatedKeyWorksAtOnceAndIsReadBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	perMinute, daily := int64(7), int64(100)
	made := b.make(t, apikey.Draft{
		Name: "crawler", Scopes: auth.Read | auth.MemoryRead, ExpiresAt: b.in(time.Hour), RequestsPerMinute: &perMinute,
		Quota: apikey.Quota{Daily: &daily}, SubjectID: "person-7", AgentID: "agent-1",
		AllowedIPs: []netip.Prefix{netip.MustParsePrefix("192.0.2.77/24"), netip.MustParsePrefix("::ffff:198.51.100.0/120")},
		Metadata:   map[string]any{"team": "search", "n": 1.5, "on": true},
	})
	live, err := b.Directory.Recognise(t.Context(), made.Text, b.now())
	if err != nil || live.Principal.KeyID() != made.ID || live.Key.PerMinute != 7 || live.Key.Daily != 100 || live.Key.Monthly != 0 {
		t.Errorf("right after its creation the key is %+v, %v", live, err)
	}
	if !live.AllowedFrom(netip.MustParseAddr("192.0.2.1")) || !live.AllowedFrom(netip.MustParseAddr("198.51.100.9")) {
		t.Error("the allowed networks do not hold their addresses")
	}
	read, err := b.APIKey(t.Context(), b.manager(auth.DeveloperManage), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if read.Name != "crawler" || read.Scopes != made.Scopes || !read.ExpiresAt.Equal(*made.ExpiresAt) || *read.RequestsPerMinute != 7 ||
		*read.Daily != 100 || read.Monthly != nil || read.SubjectID != "person-7" || read.AgentID != "agent-1" || len(read.Metadata) != 3 ||
		!read.CreatedAt.Equal(noon) || read.CreatedBy != "local" || read.Revision != 1 || read.State != apikey.Active || read.Inherited {
		t.Errorf("the key is read back as %+v", read)
	}
	if got := []string{read.AllowedIPs[0].String(), read.AllowedIPs[1].String()}; !slices.Equal(got, []string{"192.0.2.0/24", "198.51.100.0/24"}) {
		t.Errorf("the allowed networks are %v", got)
	}
	if s := read.Secrets; len(s) != 1 || s[0].Hint != made.Text[:9] || s[0].LastUsedAt != nil {
		t.Errorf("the secrets are %+v", s)
	}
}

func TestNoKeyMakesAWiderKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	operator := operatorOf(b)
	rapid.Check(t, func(t *rapid.T) {
		own := auth.Scopes(rapid.Uint8Range(0, uint8(auth.All)).Draw(t, "own"))
		wanted := auth.Scopes(rapid.Uint8Range(1, uint8(auth.All)).Draw(t, "wanted"))
		p := &auth.Principal{Kind: auth.Local, WorkspaceID: operator, Scopes: own}
		k, err := b.Create(context.Background(), p, apikey.Draft{Name: "a key", Scopes: wanted})
		mayHave := own&auth.Admin != 0 || wanted&^own == 0
		if mayHave != (err == nil) {
			t.Fatalf("%q made a key with %q: %v", own, wanted, err)
		}
		if err != nil {
			p, _ := problem.As(err)
			missing, ok := auth.ParseScope(p.Details.RequiredScope)
			if p.Code != problem.CodeInsufficientScope || !ok || own.Allows(missing) || !wanted.Allows(missing) {
				t.Fatalf("%q is refused %q for %q with %v", own, wanted, p.Details.RequiredScope, err)
			}
			return
		}
		// A change is held to what the key has afterwards, whatever the change is.
		editor := &auth.Principal{Kind: auth.Local, WorkspaceID: operator, Scopes: auth.Scopes(rapid.Uint8Range(0, uint8(auth.All)).Draw(t, "editor"))}
		name := "another name"
		_, err = b.Change(context.Background(), editor, k.ID, nil, apikey.Change{Name: &name})
		if editor.Scopes.Allows(wanted) != (err == nil) {
			t.Fatalf("%q changed a key with %q: %v", editor.Scopes, wanted, err)
		}
	})
}

func operatorOf(b *bundle) string {
	e, _ := b.Accounts.Operator()
	return e.ID()
}

func TestBadDraftsAreRefused(t *testing.T) {
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
		"long metadata":        {apikey.Draft{Name: "a", Scopes: auth.Read, Metadata: map[string]any{"a": strings.Repeat("é", 1025)}}, "metadata", problem.TooLong},
		"deep metadata":        {apikey.Draft{Name: "a", Scopes: auth.Read, Metadata: map[string]any{"a": []any{}}}, "metadata", problem.Type},
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

func TestAKeyWithoutALimitFollowsItsTier(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.make(t, apikey.Draft{})
	if k.PerMinute != 60 || !k.Inherited {
		t.Errorf("a key of the free tier has %d a minute, inherited %v", k.PerMinute, k.Inherited)
	}
	w := account.Workspace{ID: b.tenant, Name: "tenant", Tier: limit.TierPro, Revision: 2}
	if err := b.Accounts.Put(&w); err != nil {
		t.Fatal(err)
	}
	live, err := b.Directory.Recognise(t.Context(), k.Text, b.now())
	if err != nil || live.Key.PerMinute != 600 {
		t.Errorf("after a change of tier the key has %d a minute, %v", live.Key.PerMinute, err)
	}
	own := int64(9)
	for _, step := range []struct {
		to   *int64
		want int64
	}{{&own, 9}, {nil, 600}} {
		changed, err := b.Change(t.Context(), b.manager(auth.All), k.ID, nil, apikey.Change{RateLimit: &apikey.RateLimit{RequestsPerMinute: step.to}})
		if err != nil || changed.PerMinute != step.want || changed.Inherited != (step.to == nil) {
			t.Errorf("changed to %v the key has %+v, %v", step.to, changed, err)
		}
		if live, _ := b.Directory.Recognise(t.Context(), k.Text, b.now()); live.Key.PerMinute != step.want {
			t.Errorf("changed to %d the key is charged against %d", step.want, live.Key.PerMinute)
		}
	}
}

func TestRevokedAndExpiredKeysDoNotCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	expiring := b.make(t, apikey.Draft{ExpiresAt: b.in(time.Minute)})
	var keys []*apikey.Created
	for range 4 {
		keys = append(keys, b.make(t, apikey.Draft{}))
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
	b.make(t, apikey.Draft{})
	full()
	b.pass(time.Minute)
	b.make(t, apikey.Draft{})
	full()

	// Five live keys: the expired one may not come back as a sixth, until there is room.
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
		t.Errorf("reviving a key where there is room: %+v, %v", k, err)
	}
	if got := b.codeWith(t, expiring.Text); got != "" {
		t.Errorf("a revived key is refused with %q", got)
	}
}

func TestOfManyAtOnceOnlyAsManyAsTheTierAllowsAreMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var made, refused atomic.Int64
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			_, err := b.Create(t.Context(), b.manager(auth.All), apikey.Draft{Name: "a key", Scopes: auth.Read})
			if err == nil {
				made.Add(1)
			} else if p, ok := problem.As(err); ok && p.Code == problem.CodeLimitReached {
				refused.Add(1)
			}
		})
	}
	running.Wait()
	if made.Load() != 5 || refused.Load() != 15 {
		t.Errorf("of 20 at once %d were made and %d refused, want 5 and 15", made.Load(), refused.Load())
	}
}

func TestAnExpiredKeyMayComeBackForThirtyDays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late time.Duration
		want string
	}{
		"on the last day": {30 * 24 * time.Hour, ""},
		"a moment later":  {30*24*time.Hour + time.Millisecond, problem.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			k := b.make(t, apikey.Draft{ExpiresAt: b.in(time.Minute)})
			b.pass(time.Minute + c.late)
			for _, to := range []*time.Time{b.in(time.Hour), nil} {
				_, err := b.Change(t.Context(), b.manager(auth.All), k.ID, nil, apikey.Change{Expiry: &apikey.Expiry{At: to}})
				if got := code(t, err); got != c.want {
					t.Errorf("moved to %v: %q, want %q", to, got, c.want)
				}
			}
			name := "still changeable"
			if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, nil, apikey.Change{Name: &name}); err != nil {
				t.Errorf("another change: %v", err)
			}
		})
	}
}

func TestAChangeReplacesWhatItNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	daily, monthly := int64(5), int64(50)
	made := b.make(t, apikey.Draft{
		Quota: apikey.Quota{Daily: &daily, Monthly: &monthly}, Metadata: map[string]any{"a": "b", "c": "d"},
		ExpiresAt: b.in(time.Hour), AllowedIPs: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
	})
	b.pass(time.Second)
	yes, scopes, none, metadata := true, auth.Write, []netip.Prefix{}, map[string]any{"e": 1.0}
	k, err := b.Change(t.Context(), b.manager(auth.All), made.ID, nil, apikey.Change{
		Scopes: &scopes, Expiry: &apikey.Expiry{}, Quota: &apikey.Quota{Monthly: &monthly}, AllowedIPs: &none, Metadata: &metadata, Disabled: &yes,
	})
	if err != nil {
		t.Fatal(err)
	}
	if k.Name != "a key" || k.Scopes != auth.Write || k.ExpiresAt != nil || k.Daily != nil || *k.Monthly != 50 || len(k.AllowedIPs) != 0 ||
		len(k.Metadata) != 1 || k.State != apikey.Disabled || k.Revision != 2 || !k.UpdatedAt.Equal(b.now()) || !k.CreatedAt.Equal(noon) {
		t.Errorf("the changed key is %+v", k.APIKey)
	}
	if got := b.codeWith(t, made.Text); got != problem.CodeAPIKeyDisabled {
		t.Errorf("a disabled key answers %q", got)
	}
	since := *k.DisabledAt
	b.pass(time.Second)
	if k, err = b.Change(t.Context(), b.manager(auth.All), made.ID, nil, apikey.Change{Disabled: &yes}); err != nil || !k.DisabledAt.Equal(since) {
		t.Errorf("disabled again at %v, %v; want still %v", k.DisabledAt, err, since)
	}
	no := false
	if k, err = b.Change(t.Context(), b.manager(auth.All), made.ID, nil, apikey.Change{Disabled: &no}); err != nil || k.State != apikey.Active {
		t.Errorf("enabled the key is %+v, %v", k, err)
	}
	if got := b.codeWith(t, made.Text); got != "" {
		t.Errorf("an enabled key answers %q", got)
	}
	stored, err := b.APIKey(t.Context(), b.manager(auth.All), made.ID)
	if err != nil || stored.Revision != 4 || stored.Scopes != auth.Write || stored.Metadata["e"] != 1.0 {
		t.Errorf("the store has %+v, %v", stored, err)
	}
}

func TestARevisionGuardsAChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.make(t, apikey.Draft{})
	one, two, name := int64(1), int64(2), "renamed"
	if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, &two, apikey.Change{Name: &name}); code(t, err) != problem.CodeRevisionMismatch {
		t.Errorf("a change of revision 2 to a key of revision 1: %v", err)
	}
	if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, &one, apikey.Change{Name: &name}); err != nil {
		t.Errorf("a change of revision 1: %v", err)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), k.ID, &one, ""); code(t, err) != problem.CodeRevisionMismatch {
		t.Errorf("revoking revision 1 of a key of revision 2: %v", err)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), k.ID, &two, ""); err != nil {
		t.Errorf("revoking revision 2: %v", err)
	}
	// The order of decisions.md, E: the state forbids it before the revision does.
	if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, &one, apikey.Change{Name: &name}); code(t, err) != problem.CodeConflict {
		t.Errorf("changing a revoked key with an old revision: %v", err)
	}
}

func TestRevocationIsFinalAndInForceAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mighty := b.make(t, apikey.Draft{Scopes: auth.Admin})
	k, err := b.Revoke(t.Context(), b.manager(auth.DeveloperManage), mighty.ID, nil, "left the company")
	if err != nil || k.State != apikey.Revoked || k.RevokeReason != "left the company" || !k.RevokedAt.Equal(noon) {
		t.Fatalf("a mightier key revoked by a lesser one is %+v, %v", k, err)
	}
	if got := b.codeWith(t, mighty.Text); got != problem.CodeAPIKeyRevoked {
		t.Errorf("right after its revocation the key answers %q", got)
	}
	b.pass(time.Minute)
	again, err := b.Revoke(t.Context(), b.manager(auth.DeveloperManage), mighty.ID, nil, "another reason")
	if err != nil || again.Revision != k.Revision || again.RevokeReason != k.RevokeReason || !again.RevokedAt.Equal(*k.RevokedAt) {
		t.Errorf("revoked again the key is %+v, %v", again, err)
	}
	no := false
	if _, err := b.Change(t.Context(), b.manager(auth.All), mighty.ID, nil, apikey.Change{Disabled: &no}); code(t, err) != problem.CodeConflict {
		t.Errorf("changing a revoked key: %v", err)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), b.make(t, apikey.Draft{}).ID, nil, "a\x00"); code(t, err) != problem.CodeValidation {
		t.Errorf("a reason with NUL: %v", err)
	}
}

func TestARestartKnowsEveryKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	live, revoked := b.make(t, apikey.Draft{}), b.make(t, apikey.Draft{})
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), revoked.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	again := apikey.NewDirectory(b.store, b.Hasher, b.Accounts, b.recorder, b.now)
	if err := again.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Recognise(t.Context(), live.Text, b.now()); err != nil {
		t.Errorf("a live key after a restart: %v", err)
	}
	if _, err := again.Recognise(t.Context(), revoked.Text, b.now()); code(t, err) != problem.CodeAPIKeyRevoked {
		t.Errorf("a revoked key after a restart: %v", err)
	}
	if s := again.Stats(); s.Entries != 1 {
		t.Errorf("after a restart the directory is %+v", s)
	}
}

func TestAKeyOfAFailedUnitWasNeverMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var made *apikey.Created
	broken := errors.New("the answer could not be kept")
	err := b.store.Run(t.Context(), func(ctx context.Context) (err error) {
		if made, err = b.Create(ctx, b.manager(auth.All), apikey.Draft{Name: "a key", Scopes: auth.Read}); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if got := b.codeWith(t, made.Text); got != problem.CodeInvalidAPIKey {
		t.Errorf("the key of a failed unit answers %q", got)
	}
}

func TestWhatIsNotTheirsIsNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := "x"
	person := func(subject, agent string) *auth.Principal {
		p := b.manager(auth.All)
		p.SubjectID, p.AgentID = subject, agent
		return p
	}
	stranger := b.manager(auth.All)
	stranger.WorkspaceID = operatorOf(b)
	free, bound := b.make(t, apikey.Draft{}), b.make(t, apikey.Draft{SubjectID: "s1", AgentID: "a1"})
	for what, c := range map[string]struct {
		p   *auth.Principal
		key string
		see bool
	}{
		"an unbound manager and a bound key":  {b.manager(auth.All), bound.ID, true},
		"another workspace's admin":           {stranger, bound.ID, false},
		"the same subject":                    {person("s1", ""), bound.ID, true},
		"the same agent":                      {person("", "a1"), bound.ID, true},
		"the same subject with another agent": {person("s1", "a2"), bound.ID, false},
		"another subject":                     {person("s2", ""), bound.ID, false},
		"a bound manager and an unbound key":  {person("s1", ""), free.ID, false},
		"a key that never was":                {b.manager(auth.All), id.New(id.APIKey), false},
		"an id that is none":                  {b.manager(auth.All), "nonsense", false},
		"the id of something else":            {b.manager(auth.All), id.New(id.Document), false},
	} {
		t.Run(what, func(t *testing.T) {
			want := problem.CodeNotFound
			if c.see {
				want = ""
			}
			_, read := b.APIKey(t.Context(), c.p, c.key)
			_, limits := b.Limits(t.Context(), c.p, c.key)
			_, series := b.Usage(t.Context(), c.p, c.key, time.Hour, time.Minute)
			_, change := b.Change(t.Context(), c.p, c.key, nil, apikey.Change{Name: &name})
			for i, err := range []error{read, limits, series, change} {
				if got := code(t, err); got != want {
					t.Errorf("call %d answers %q, want %q", i, got, want)
				}
			}
			if !c.see {
				if _, err := b.Revoke(t.Context(), c.p, c.key, nil, ""); code(t, err) != problem.CodeNotFound {
					t.Errorf("revoking answers %v", err)
				}
			}
		})
	}
	for _, k := range []*apikey.Created{free, bound} {
		if got := b.codeWith(t, k.Text); got != "" {
			t.Errorf("after all this key %s is refused with %q", k.ID, got)
		}
	}
	if keys, err := b.List(t.Context(), person("s1", ""), apikey.Filter{Limit: 10}); err != nil || len(keys) != 1 || keys[0].ID != bound.ID {
		t.Errorf("a bound manager lists %v, %v", keys, err)
	}
	if k, err := b.Create(t.Context(), person("s1", ""), apikey.Draft{Name: "a", Scopes: auth.Read}); err != nil || k.SubjectID != "s1" || k.AgentID != "" {
		t.Errorf("a bound manager made %+v, %v", k, err)
	}
	if _, err := b.Create(t.Context(), person("s1", ""), apikey.Draft{Name: "a", Scopes: auth.Read, SubjectID: "s2"}); code(t, err) != problem.CodeNotFound {
		t.Errorf("a bound manager making a key for another: %v", err)
	}
}

func TestAListIsNewestFirstAndPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.manager(auth.All)
	p.WorkspaceID = operatorOf(b) // no limit of keys
	var want []string
	for i := range 7 {
		k, err := b.Create(t.Context(), p, apikey.Draft{Name: "a key", Scopes: auth.Read})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, k.ID)
		if i%2 == 0 { // others share their millisecond
			b.pass(time.Millisecond)
		}
	}
	var got []string
	f := apikey.Filter{Limit: 2}
	for {
		page, err := b.List(t.Context(), p, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range page {
			got = append(got, k.ID)
		}
		if len(page) < f.Limit {
			break
		}
		last := page[len(page)-1]
		f.Before = &apikey.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	sorted := slices.Clone(want)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	slices.Sort(want)
	all := slices.Clone(got)
	slices.Sort(all)
	if !slices.Equal(all, want) {
		t.Errorf("the pages hold %v, want %v", got, want)
	}
	if !slices.Equal(got, sorted) {
		t.Errorf("the order is %v, want %v", got, sorted)
	}
}

func TestTheFirstKeyIsMadeWithItsWorkspace(t *testing.T) {
	t.Parallel()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	s := store.New(engine)
	recorder := usage.NewRecorder(s, time.Now, slog.New(slog.DiscardHandler))
	accounts := account.NewDirectory(s, limit.Tiers(), recorder, time.Now)
	people := account.NewService(account.Options{Store: s, Units: s, Directory: accounts, Random: rand.Reader, Now: time.Now})
	hasher := apikey.NewHasher([]byte("pepper"))
	keys := apikey.NewService(apikey.Options{
		Store: s, Units: s, Accounts: accounts, Hasher: hasher, Uses: s, Random: rand.Reader, Now: time.Now,
		Directory: apikey.NewDirectory(s, hasher, accounts, recorder, time.Now),
	})
	var text string
	first, err := people.FirstStart(t.Context(), account.Admin{}, func(ctx context.Context, workspaceID string) (err error) {
		text, err = keys.First(ctx, workspaceID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	live, err := keys.Directory.Recognise(t.Context(), text, time.Now())
	if err != nil || live.Principal.WorkspaceID != first.WorkspaceID || !live.Principal.Operator || live.Principal.Scopes != auth.All {
		t.Errorf("the first key is %+v, %v", live.Principal, err)
	}
	self, err := keys.Self(t.Context(), &live.Principal)
	if err != nil || self.ID != live.Principal.KeyID() || self.Workspace.ID() != first.WorkspaceID || self.CreatedBy != "local" {
		t.Errorf("the first key is %+v, %v", self, err)
	}
	if _, err := keys.Self(t.Context(), &auth.Principal{Kind: auth.Local, WorkspaceID: first.WorkspaceID}); code(t, err) != problem.CodeMissingCredentials {
		t.Errorf("whoever is no key asks who it is: %v", err)
	}
}

// Package apitest creates surfaces for tests and benchmarks of the pipeline, with real directories, limits and usage, and a
// store in memory.
package apitest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/api"
	"keepsake/internal/web/endpoint"
)

// Clock only moves when told to.
type Clock struct{ offset atomic.Int64 }

// start is a Saturday noon.
var start = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// Now returns its time.
func (c *Clock) Now() time.Time { return start.Add(time.Duration(c.offset.Load())) }

// Move moves it forward or back.
func (c *Clock) Move(d time.Duration) { c.offset.Add(int64(d)) }

// Place is everything that a surface needs.
type Place struct {
	Now       func() time.Time
	Accounts  *account.Directory
	Keys      *apikey.Directory
	Addresses *limit.Addresses
	Usage     *usage.Recorder
	Replays   *idempotency.Service
	Versions  *lifecycle.Registry
	Store     *Store

	bearers bearers
	hasher  *apikey.Hasher
	random  *rand.ChaCha8
}

// The workspaces of every place.
const (
	Operator = "wsp_operator" // tier unlimited
	Guest    = "wsp_guest"    // tier pro
	Tiny     = "wsp_tiny"     // tier tiny: three requests a minute
)

// Tiers returns the default tiers with a higher anonymous limit, and the tier tiny.
func Tiers() []limit.Tier {
	tiers := limit.Tiers()
	tiers[0].RequestsPerMinute, tiers[0].Daily, tiers[0].Monthly = 100_000, 1_000_000, 10_000_000
	return append(tiers, limit.Tier{Name: "tiny", RequestsPerMinute: 3, Daily: 5, Monthly: 1000})
}

// New returns a place. The first tier is the anonymous one.
func New(now func() time.Time, tiers []limit.Tier) *Place {
	p := &Place{Now: now, Store: newStore(), bearers: bearers{}, random: rand.NewChaCha8([32]byte{'t', 'e', 's', 't'})}
	p.Addresses = limit.NewAddresses(tiers[0].Allowance(), limit.DefaultAddresses)
	p.Usage = usage.NewRecorder(p.Store, now, slog.New(slog.DiscardHandler))
	p.Accounts = account.NewDirectory(p.Store, tiers, p.Usage, now)
	p.hasher = apikey.NewHasher([]byte("pepper of the tests"))
	p.Keys = apikey.NewDirectory(p.Store, p.hasher, p.Accounts, p.Usage, now)
	p.Replays = idempotency.NewService(p.Store, p.Store, []byte("secret of the tests"), now)
	versions, err := lifecycle.New(lifecycle.First())
	if err != nil {
		panic(fmt.Sprintf("apitest: %v", err))
	}
	p.Versions = versions
	p.Put(account.Workspace{ID: Operator, Name: "operator", Tier: limit.TierUnlimited, Operator: true})
	p.Put(account.Workspace{ID: Guest, Name: "guest", Tier: limit.TierPro})
	if tiers[len(tiers)-1].Name == "tiny" {
		p.Put(account.Workspace{ID: Tiny, Name: "tiny", Tier: "tiny"})
	}
	return p
}

// Put adds a workspace, or changes it if its revision is higher.
func (p *Place) Put(w account.Workspace) {
	if err := p.Accounts.Put(&w); err != nil {
		panic(fmt.Sprintf("apitest: %v", err))
	}
}

// Key adds a key with these scopes to a workspace and returns its text. change can be nil.
func (p *Place) Key(workspace string, scopes auth.Scopes, change func(k *apikey.APIKey)) string {
	k, text := p.makeKey(workspace, scopes)
	if change != nil {
		change(k)
	}
	p.Store.addKey(k)
	p.Keys.Put(k)
	return text
}

// StoredKey adds a key only to the store, as if another process had created it.
func (p *Place) StoredKey(workspace string, scopes auth.Scopes) string {
	k, text := p.makeKey(workspace, scopes)
	p.Store.addKey(k)
	return text
}

func (p *Place) makeKey(workspace string, scopes auth.Scopes) (*apikey.APIKey, string) {
	text := apikey.Generate(p.random)
	return &apikey.APIKey{
		ID: id.At(id.APIKey, p.Now(), p.random), WorkspaceID: workspace, Name: "test", Scopes: scopes, CreatedAt: p.Now(),
		Secrets: []apikey.Secret{{Hash: p.hasher.Hash(text), Hint: text[:9], CreatedAt: p.Now()}},
	}, text
}

// Fill adds keys of the operator workspace with the scopes read and write, and returns the text of one.
func (p *Place) Fill(keys int) string {
	wanted, text := p.makeKey(Operator, auth.Read|auth.Write)
	p.Store.each = func(fn func(k *apikey.APIKey) error) error {
		for i := range keys - 1 {
			hash := sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
			k := *wanted
			k.ID = id.At(id.APIKey, p.Now(), p.random)
			k.Secrets = []apikey.Secret{{Hash: hash, Hint: "kpsk_test", CreatedAt: p.Now()}}
			if err := fn(&k); err != nil {
				return err
			}
		}
		return fn(wanted)
	}
	if err := p.Keys.Load(context.Background(), nil); err != nil {
		panic(fmt.Sprintf("apitest: %v", err))
	}
	return text
}

// Options returns the options of a primary surface with these operations.
func (p *Place) Options(r *endpoint.Registry) api.Options {
	return api.Options{
		Limiter: limit.Local{},
		Surface: usage.Primary, Operations: r, Versions: p.Versions, Keys: p.Keys, Bearers: p.bearers,
		Workspaces: p.Accounts.Entry, Operator: p.Accounts.Operator,
		Addresses: p.Addresses, Usage: p.Usage, Replays: p.Replays,
		Log: slog.New(slog.DiscardHandler), Now: p.Now,
	}
}

// Surface returns a surface.
func Surface(o api.Options) http.Handler {
	a, err := api.New(o)
	if err != nil {
		panic(fmt.Sprintf("apitest: %v", err))
	}
	return a
}

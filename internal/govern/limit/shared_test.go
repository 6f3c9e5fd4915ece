package limit_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/limit/limittest"
)

// fixed is a number of peers that all know each other.
type fixed int

func (n fixed) Count() int               { return int(n) }
func (n fixed) CountSince(time.Time) int { return int(n) }
func (n fixed) Settled() bool            { return true }
func (n fixed) Partitioned() int         { return 0 }

// wallet is a workspace with a key in one process.
type wallet struct {
	*limit.Shared
	workspace, key limit.Use
	ofWorkspace    limit.Allowance
	ofKey          limit.Allowance
	run            func()
}

func (w *wallet) charge(cost int64) (limit.Verdict, limit.Receipt) {
	return w.Charge(time.Now(), cost, limit.Account{Use: &w.workspace, Allowance: w.ofWorkspace}, limit.Account{Use: &w.key, Key: keyID("key_1"), Allowance: w.ofKey})
}

func (w *wallet) peek() limit.Verdict {
	return w.Peek(time.Now(), 1, limit.Account{Use: &w.workspace, Allowance: w.ofWorkspace}, limit.Account{Use: &w.key, Key: keyID("key_1"), Allowance: w.ofKey})
}

var roomy = limit.Allowance{PerMinute: 1000, Daily: 100_000, Monthly: 1_000_000}

// wallets starts peers that share a workspace with a key, and waits until they are settled.
func wallets(t *testing.T, n int, store func(i int) limit.CounterStore, change func(o *limit.SharedOptions)) []*wallet {
	list := make([]*wallet, n)
	for i := range list {
		w := &wallet{ofWorkspace: roomy, ofKey: limit.Allowance{PerMinute: 500}}
		w.workspace.Init("wsp_1")
		w.key.InitKey("key_1", &w.workspace)
		o := limit.SharedOptions{
			Peers: fixed(n), Secret: []byte("secret"), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
		if store != nil {
			o.Store = store(i)
		}
		if change != nil {
			change(&o)
		}
		w.Shared = limit.NewShared(o)
		ctx, stop := context.WithCancel(t.Context())
		w.Start(ctx)
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx) })
		w.run = func() { stop(); running.Wait() }
		list[i] = w
	}
	time.Sleep(2 * time.Second)
	return list
}

func stop(list []*wallet) {
	for _, w := range list {
		w.run()
	}
}

// inTime runs a test on a fake clock, whose time passes only when all goroutines wait.
func inTime(t *testing.T, fn func(t *testing.T, store *limittest.Store)) {
	synctest.Test(t, func(t *testing.T) {
		store := limittest.NewStore(time.Now)
		store.Slow(time.Millisecond)
		fn(t, store)
	})
}

func of(store *limittest.Store) func(i int) limit.CounterStore {
	return func(i int) limit.CounterStore { return store.Client(nil) }
}

// A key without a limit of its own has nothing to report, so it causes no sync requests.
func TestUnlimitedKeyIsNotSynced(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, store *limittest.Store) {
		two := wallets(t, 2, of(store), nil)
		defer stop(two)
		w := two[0]
		w.ofKey = limit.Allowance{}
		w.charge(1)
		before := w.Stats().Syncs
		time.Sleep(10 * time.Second)
		if n := w.Stats().Syncs - before; n > 20 {
			t.Errorf("%d sync requests in 10 s without a request", n)
		}
	})
}

// A process shows what the other one admitted: at once if it knew nothing, else soon.
func TestPeersShowWhatOthersUsed(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, store *limittest.Store) {
		two := wallets(t, 2, of(store), nil)
		defer stop(two)
		for range 100 {
			two[0].charge(1)
		}
		time.Sleep(time.Second)
		v, _ := two[1].charge(1)
		if v.Remaining != 399 || v.KeyRemaining != 399 || v.DailyRemaining != 100_000-101 || v.MonthlyRemaining != 1_000_000-101 || v.ResetUnix <= time.Now().Unix() {
			t.Errorf("the second process shows %+v", v)
		}
		time.Sleep(500 * time.Millisecond)
		if v := two[0].peek(); v.Remaining != 399 || v.DailyRemaining != 100_000-101 {
			t.Errorf("the first process shows %+v", v)
		}
	})
}

func TestRefundReachesAllPeers(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, store *limittest.Store) {
		two := wallets(t, 2, of(store), nil)
		defer stop(two)
		for _, w := range two {
			w.ofKey.PerMinute = 10
		}
		var receipts []limit.Receipt
		for {
			v, r := two[0].charge(1)
			if !v.Allowed {
				break
			}
			receipts = append(receipts, r)
		}
		if v, _ := two[1].charge(1); v.Allowed || v.Policy != limit.PolicyKeyMinute || len(receipts) != 10 {
			t.Errorf("after %d: %+v", len(receipts), v)
		}
		receipts[3].Refund()
		receipts[4].Refund()
		time.Sleep(time.Second)
		if v, _ := two[1].charge(2); !v.Allowed || v.KeyRemaining != 0 {
			t.Errorf("after two refunds: %+v", v)
		}
		time.Sleep(500 * time.Millisecond)
		if v, _ := two[0].charge(1); v.Allowed {
			t.Errorf("a third unit came back: %+v", v)
		}
	})
}

func TestCostAcrossPeersIsTakenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, store *limittest.Store) {
		two := wallets(t, 2, of(store), nil)
		defer stop(two)
		for _, w := range two {
			w.ofKey.PerMinute = 100
		}
		if v, _ := two[0].charge(70); !v.Allowed {
			t.Fatalf("%+v", v)
		}
		if v, _ := two[1].charge(40); v.Allowed || v.Policy != limit.PolicyKeyMinute || v.KeyRemaining != 30 {
			t.Errorf("40 of 30: %+v", v)
		}
		if v, _ := two[1].charge(30); !v.Allowed || v.KeyRemaining != 0 || v.Remaining != 0 {
			t.Errorf("30 of 30: %+v", v)
		}
		if v := two[1].peek(); v.DailyRemaining != 100_000-100 {
			t.Errorf("the workspace paid for what was refused: %+v", v)
		}
	})
}

func TestWaitersShareSyncRequests(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, store *limittest.Store) {
		four := wallets(t, 4, of(store), nil)
		defer stop(four)
		for _, w := range four {
			w.ofKey.PerMinute = 37
		}
		var admitted atomic.Int64
		var all sync.WaitGroup
		for i := range 400 {
			all.Go(func() {
				if v, _ := four[i%4].charge(1); v.Allowed {
					admitted.Add(1)
				}
			})
		}
		all.Wait()
		if n := admitted.Load(); n < 37 || n > 41 {
			t.Errorf("%d passed of 37", n)
		}
		for i, w := range four {
			if s := w.Stats(); s.Syncs > 60 {
				t.Errorf("process %d sent %d sync requests for %d requests that waited", i, s.Syncs, s.Waits)
			}
		}
	})
}

// Without a counter store every process has its share of a minute, and of a quota by what the database has.
func TestPeersWithoutStoreGetShares(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, _ *limittest.Store) {
		four := wallets(t, 4, nil, nil)
		defer stop(four)
		if four[0].Mode() != limit.ModeSplit || four[0].Degraded() {
			t.Errorf("it is %s, degraded %t", four[0].Mode(), four[0].Degraded())
		}
		admitted := 0
		for _, w := range four {
			w.ofWorkspace.PerMinute = 10
			for range 10 {
				if v, _ := w.charge(1); v.Allowed {
					admitted++
				} else if v.Policy != limit.PolicyTierMinute || v.Remaining != 0 {
					t.Errorf("refused as %+v", v)
				}
			}
		}
		if admitted != 8 {
			t.Errorf("%d passed, want two at each of four", admitted)
		}

		time.Sleep(time.Minute)
		passed := int64(admitted)
		const daily = 200
		for _, w := range four {
			w.ofWorkspace = limit.Allowance{PerMinute: 1_000_000, Daily: daily, Monthly: 1_000_000}
			w.ofKey.PerMinute = 1_000_000
		}
		if v := four[0].peek(); v.DailyRemaining < daily-8 {
			t.Errorf("%d remain of a quota of %d that is nearly unused", v.DailyRemaining, daily)
		}
		for range 40 { // each round all try, then usage is stored, and each gets the sum
			for _, w := range four {
				for range 20 {
					if v, _ := w.charge(1); v.Allowed {
						passed++
					}
				}
			}
			for _, w := range four {
				w.SetStored([]limit.Stored{{Subject: "wsp_1", Period: time.Now().UTC().Format(time.DateOnly), Used: passed}})
			}
		}
		if v := four[0].peek(); v.DailyRemaining != 0 {
			t.Errorf("%d remain of a quota that is used up", v.DailyRemaining)
		}
		if passed < daily || passed > daily+4 {
			t.Errorf("%d passed of a quota of %d", passed, daily)
		}
	})
}

// A counter store that has lost the quotas gets them from the database, with what processes used that are gone.
func TestLostQuotaIsReadFromTheDatabase(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, store *limittest.Store) {
		stored := atomic.Int64{}
		two := wallets(t, 2, of(store), func(o *limit.SharedOptions) {
			o.Stored = func(_ context.Context, subjects []string) ([]limit.Stored, error) {
				if !slices.Contains(subjects, "wsp_1") {
					t.Errorf("asked for %v", subjects)
				}
				if stored.Load() == 0 {
					return nil, errors.New("not now")
				}
				return []limit.Stored{{Subject: "wsp_1", Period: time.Now().UTC().Format(time.DateOnly), Used: stored.Load()}}, nil
			}
		})
		defer stop(two)
		if v, _ := two[0].charge(1); v.DailyRemaining != 99_999 {
			t.Fatalf("%+v", v)
		}
		stored.Store(60_000)
		time.Sleep(3 * time.Second)
		store.Empty()
		time.Sleep(5 * time.Second)
		for i, w := range two {
			if v, _ := w.charge(1); v.DailyRemaining > 40_000 {
				t.Errorf("process %d shows %d left", i, v.DailyRemaining)
			}
		}
	})
}

// Each process keeps a bounded number of addresses. One that is evicted is forgotten without loss: the counter store has
// what it used.
func TestAddressesAreCountedTogether(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, store *limittest.Store) {
		two := wallets(t, 2, of(store), nil)
		defer stop(two)
		var known [2]*limit.Addresses
		for i := range known {
			known[i] = limit.NewAddresses(limit.Allowance{PerMinute: 30, Daily: 1000, Monthly: 20_000}, 1000)
		}
		charge := func(at int, addr netip.Addr) limit.Verdict {
			v, _ := two[at].Charge(time.Now(), 1, known[at].Account(addr), limit.Account{})
			return v
		}
		addr := netip.MustParseAddr("192.0.2.1")
		for range 10 {
			charge(0, addr)
		}
		time.Sleep(500 * time.Millisecond)
		if v := charge(1, addr); v.Remaining != 19 || v.Limit != 30 {
			t.Errorf("the second process shows %+v", v)
		}
		for i := range 1000 { // evicts it from the first one
			charge(0, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
		}
		time.Sleep(500 * time.Millisecond)
		if v := charge(0, addr); v.Remaining != 18 || v.DailyRemaining != 1000-12 {
			t.Errorf("after its eviction the first process shows %+v", v)
		}
		for range 30 {
			charge(0, addr)
		}
		time.Sleep(500 * time.Millisecond)
		if v := charge(1, addr); v.Allowed || v.Policy != limit.PolicyAnonymous {
			t.Errorf("got %+v", v)
		}
		for left := range int64(2) { // the budget for signing in is a separate one
			if v, _ := two[left].Charge(time.Now(), 1, known[left].SignIn(addr), limit.Account{}); !v.Allowed || v.Remaining != 29-left {
				t.Errorf("signing in at process %d: %+v", left, v)
			}
			time.Sleep(500 * time.Millisecond)
		}
		for subject := range store.Windows() {
			if !regexp.MustCompile(`^adr_[0-9a-f]{32}$`).MatchString(subject) {
				t.Errorf("the counter store sees %q", subject)
			}
		}
	})
}

// Whether the counter store answers or not, a flood of addresses leaves no more buckets than the directory has addresses.
func TestFloodOfAddressesLeavesNoBuckets(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"StoreAnswers": false, "StoreIsSilent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inTime(t, func(t *testing.T, store *limittest.Store) {
				two := wallets(t, 2, of(store), nil)
				defer stop(two)
				const capacity = 64
				known := limit.NewAddresses(limit.Allowance{PerMinute: 30, Daily: 1000, Monthly: 20_000}, capacity)
				store.Silence(silent)
				for i := range 20 * capacity {
					two[0].Charge(time.Now(), 1, known.Account(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})), limit.Account{})
				}
				time.Sleep(time.Second)
				if n := limit.ActiveGroups(two[0].Shared); n > capacity {
					t.Errorf("%d addresses are in memory, want at most %d", n, capacity)
				}
			})
		})
	}
}

// One request waits, for as long as it may; no other waits after it.
func TestOneRequestWaitsForASilentStore(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, store *limittest.Store) {
		const wait = 70 * time.Millisecond
		two := wallets(t, 2, of(store), func(o *limit.SharedOptions) { o.Wait = wait })
		defer stop(two)
		w := two[0]
		w.ofKey.PerMinute = 60 // an allowance of 3
		store.Silence(true)
		waits, began := w.Stats().Waits, time.Now()
		for range 20 {
			w.charge(1)
		}
		if n := w.Stats().Waits - waits; n != 1 || !w.Degraded() {
			t.Errorf("%d waited, want 1; degraded is %t", n, w.Degraded())
		}
		if got, want := time.Now(), began.Add(wait); !got.Equal(want) { // on the fake clock
			t.Errorf("the wait ended at %v, want %v", got, want)
		}
		store.Silence(false)
		time.Sleep(time.Second)
		if w.Degraded() {
			t.Error("it does not recover")
		}
	})
}

// The test is not parallel, because AllocsPerRun counts what the whole process allocates.
func TestSharedChargeAllocatesNothing(t *testing.T) {
	inTime(t, func(t *testing.T, store *limittest.Store) {
		w := wallets(t, 2, of(store), nil)
		defer stop(w)
		w[0].ofWorkspace, w[0].ofKey = limit.Tiers()[4].Allowance(), limit.Allowance{PerMinute: 1_000_000}
		w[0].charge(1) // waits for the counter store, because nothing is known of this workspace
		waits := w[0].Stats().Waits
		if n := testing.AllocsPerRun(1000, func() { w[0].charge(1) }); n >= 1 { // reports on the way allocate
			t.Errorf("a charge allocates %v times", n)
		}
		if n := w[0].Stats().Waits; n != waits {
			t.Errorf("%d charges waited for the counter store", n-waits)
		}
	})
}

func BenchmarkSharedCharge(b *testing.B) {
	w := &wallet{ofWorkspace: limit.Tiers()[4].Allowance(), ofKey: limit.Allowance{PerMinute: 1_000_000_000}}
	w.ofWorkspace.PerMinute = 1_000_000_000
	w.workspace.Init("wsp_1")
	w.key.InitKey("key_1", &w.workspace)
	w.Shared = limit.NewShared(limit.SharedOptions{
		Peers: fixed(2), Store: limittest.NewStore(time.Now).Client(nil), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	w.Start(b.Context())
	go w.Run(b.Context())
	time.Sleep(1200 * time.Millisecond)
	b.ReportAllocs()
	for b.Loop() {
		if v, _ := w.charge(1); !v.Allowed {
			b.Fatal(v)
		}
	}
}

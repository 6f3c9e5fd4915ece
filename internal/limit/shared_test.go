package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/limit"
	"keepsake/internal/limit/ledgertest"
)

// fixed is a number of members that all know each other.
type fixed int

func (n fixed) Count() int              { return int(n) }
func (n fixed) MostSince(time.Time) int { return int(n) }
func (n fixed) Settled() bool           { return true }
func (n fixed) Apart() int              { return 0 }

// wallet is a workspace with a key at one member.
type wallet struct {
	*limit.Shared
	workspace, key limit.Use
	ofWorkspace    limit.Allowance
	ofKey          limit.Allowance
	addr           netip.Addr
	signIn         bool
	run            func()
}

func (w *wallet) Payer() limit.Subject {
	if w.addr.IsValid() {
		return limit.Subject{Address: w.addr, SignIn: w.signIn}
	}
	return limit.Subject{Workspace: "wsp_1", Key: "key_1"}
}

func (w *wallet) charge(cost int64) (limit.Verdict, limit.Receipt) {
	return w.Charge(time.Now(), cost, limit.Account{Use: &w.workspace, Allowance: w.ofWorkspace}, limit.Account{Use: &w.key, Allowance: w.ofKey}, w)
}

func (w *wallet) peek() limit.Verdict {
	return w.Peek(time.Now(), limit.Account{Use: &w.workspace, Allowance: w.ofWorkspace}, limit.Account{Use: &w.key, Allowance: w.ofKey}, w)
}

var roomy = limit.Allowance{PerMinute: 1000, Daily: 100_000, Monthly: 1_000_000}

// wallets makes members that share a workspace with a key, settled and with time to run.
func wallets(t *testing.T, n int, ledger func(i int) limit.Ledger, change func(o *limit.SharedOptions)) []*wallet {
	list := make([]*wallet, n)
	for i := range list {
		w := &wallet{ofWorkspace: roomy, ofKey: limit.Allowance{PerMinute: 500}}
		w.workspace.Init("wsp_1")
		w.key.Init("key_1")
		o := limit.SharedOptions{
			Members: fixed(n), Addresses: 128, Secret: []byte("secret"), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
		if ledger != nil {
			o.Ledger = ledger(i)
		}
		if change != nil {
			change(&o)
		}
		w.Shared = limit.NewShared(o)
		ctx, stop := context.WithCancel(t.Context())
		w.Join(ctx)
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
func inTime(t *testing.T, fn func(t *testing.T, ledger *ledgertest.Model)) {
	synctest.Test(t, func(t *testing.T) {
		ledger := ledgertest.NewModel(time.Now)
		ledger.Slow(time.Millisecond)
		fn(t, ledger)
	})
}

func of(ledger *ledgertest.Model) func(i int) limit.Ledger {
	return func(i int) limit.Ledger { return ledger.Member(fmt.Sprint(i), nil) }
}

func TestNilSharedIsOneProcess(t *testing.T) {
	t.Parallel()
	var w wallet
	w.ofWorkspace = roomy
	if v, _ := w.charge(1); !v.Allowed || v.Remaining != 999 {
		t.Errorf("got %+v", v)
	}
	if v := w.peek(); v.Remaining != 999 || w.Mode() != limit.ModeLocal || w.Degraded() {
		t.Errorf("got %+v, %s", v, w.Mode())
	}
	w.Join(t.Context())
	w.Durable(nil)
}

// What one member admits the other one shows: at once where it knew nothing, within a moment where it did.
func TestMembersShowWhatOthersHaveUsed(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, ledger *ledgertest.Model) {
		two := wallets(t, 2, of(ledger), nil)
		defer stop(two)
		for range 100 {
			two[0].charge(1)
		}
		time.Sleep(time.Second)
		v, _ := two[1].charge(1)
		if v.Remaining != 399 || v.KeyRemaining != 399 || v.DailyRemaining != 100_000-101 || v.MonthlyRemaining != 1_000_000-101 || v.ResetUnix <= time.Now().Unix() {
			t.Errorf("the second member shows %+v", v)
		}
		time.Sleep(500 * time.Millisecond)
		if v := two[0].peek(); v.Remaining != 399 || v.DailyRemaining != 100_000-101 {
			t.Errorf("the first one shows %+v", v)
		}
	})
}

func TestARefundIsGivenBackToAllMembers(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, ledger *ledgertest.Model) {
		two := wallets(t, 2, of(ledger), nil)
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
		if v, _ := two[1].charge(1); v.Allowed || v.Policy != limit.KeyMinute || len(receipts) != 10 {
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

func TestACostIsTakenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, ledger *ledgertest.Model) {
		two := wallets(t, 2, of(ledger), nil)
		defer stop(two)
		for _, w := range two {
			w.ofKey.PerMinute = 100
		}
		if v, _ := two[0].charge(70); !v.Allowed {
			t.Fatalf("%+v", v)
		}
		if v, _ := two[1].charge(40); v.Allowed || v.Policy != limit.KeyMinute || v.KeyRemaining != 30 {
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

func TestManyWaitForOneContactAndExactlyWhatIsLeftPasses(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, ledger *ledgertest.Model) {
		four := wallets(t, 4, of(ledger), nil)
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
			if s := w.Stats(); s.Contacts > 60 {
				t.Errorf("member %d made %d contacts for %d requests that waited", i, s.Contacts, s.Waits)
			}
		}
	})
}

// Without a ledger every member has its share of a minute, and of a quota by what is stored.
func TestWithoutALedgerMembersSplit(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, _ *ledgertest.Model) {
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
				} else if v.Policy != limit.TierMinute || v.Remaining != 0 {
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
		for range 40 { // each round all try, then usage is stored, and each hears the sum
			for _, w := range four {
				for range 20 {
					if v, _ := w.charge(1); v.Allowed {
						passed++
					}
				}
			}
			for _, w := range four {
				w.Durable([]limit.Durable{{Subject: "wsp_1", Period: time.Now().UTC().Format(time.DateOnly), Used: passed}})
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

// A ledger that has lost the quotas hears of them from what is stored, also of what members admitted that are gone.
func TestALostQuotaIsReadFromWhatIsStored(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, ledger *ledgertest.Model) {
		stored := atomic.Int64{}
		two := wallets(t, 2, of(ledger), func(o *limit.SharedOptions) {
			o.Durable = func(context.Context) ([]limit.Durable, error) {
				if stored.Load() == 0 {
					return nil, errors.New("not now")
				}
				return []limit.Durable{{Subject: "wsp_1", Period: time.Now().UTC().Format(time.DateOnly), Used: stored.Load()}}, nil
			}
		})
		defer stop(two)
		if v, _ := two[0].charge(1); v.DailyRemaining != 99_999 {
			t.Fatalf("%+v", v)
		}
		stored.Store(60_000)
		time.Sleep(3 * time.Second)
		ledger.Empty()
		time.Sleep(5 * time.Second)
		for i, w := range two {
			if v, _ := w.charge(1); v.DailyRemaining > 40_000 {
				t.Errorf("member %d shows %d left", i, v.DailyRemaining)
			}
		}
	})
}

func TestAddressesShareOneBudgetAndComeBackWithIt(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, ledger *ledgertest.Model) {
		two := wallets(t, 2, of(ledger), nil)
		defer stop(two)
		known := limit.NewAddresses(limit.Allowance{PerMinute: 30, Daily: 1000, Monthly: 20_000}, 1000)
		charge := func(w *wallet, addr netip.Addr) limit.Verdict {
			w.addr = addr
			v, _ := w.Charge(time.Now(), 1, known.Account(addr), limit.Account{}, w)
			return v
		}
		addr := netip.MustParseAddr("192.0.2.1")
		for range 10 {
			charge(two[0], addr)
		}
		time.Sleep(500 * time.Millisecond)
		if v := charge(two[1], addr); v.Remaining != 19 || v.Limit != 30 {
			t.Errorf("the second member shows %+v", v)
		}
		for i := range 1000 { // the first member forgets the address for others
			charge(two[0], netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
		}
		time.Sleep(500 * time.Millisecond)
		if v := charge(two[0], addr); v.Remaining != 18 || v.DailyRemaining != 1000-12 {
			t.Errorf("after it was forgotten it shows %+v", v)
		}
		for range 30 {
			charge(two[0], addr)
		}
		time.Sleep(500 * time.Millisecond)
		if v := charge(two[1], addr); v.Allowed || v.Policy != limit.Anonymous {
			t.Errorf("got %+v", v)
		}
		for left := range int64(2) { // the budget for signing in is another one, and shared, too
			w := two[left]
			w.addr, w.signIn = addr, true
			if v, _ := w.Charge(time.Now(), 1, known.SignIn(addr), limit.Account{}, w); !v.Allowed || v.Remaining != 29-left {
				t.Errorf("signing in at member %d: %+v", left, v)
			}
			time.Sleep(500 * time.Millisecond)
		}
	})
}

// A request waits once, for as long as it may; nobody waits after it.
func TestOnlyTheFirstWaitsForASilentLedger(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, ledger *ledgertest.Model) {
		const wait = 70 * time.Millisecond
		two := wallets(t, 2, of(ledger), func(o *limit.SharedOptions) { o.Wait = wait })
		defer stop(two)
		w := two[0]
		w.ofKey.PerMinute = 60 // an allowance of 3
		ledger.Silence(true)
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
		ledger.Silence(false)
		time.Sleep(time.Second)
		if w.Degraded() {
			t.Error("it does not recover")
		}
	})
}

// The test is not parallel, because AllocsPerRun counts what the whole process allocates.
func TestChargingTogetherAllocatesNothing(t *testing.T) {
	inTime(t, func(t *testing.T, ledger *ledgertest.Model) {
		w := wallets(t, 2, of(ledger), nil)
		defer stop(w)
		w[0].ofWorkspace, w[0].ofKey = limit.Tiers()[4].Allowance(), limit.Allowance{PerMinute: 1_000_000}
		w[0].charge(1) // waits for the ledger, because nothing is known of this workspace
		waits := w[0].Stats().Waits
		if n := testing.AllocsPerRun(1000, func() { w[0].charge(1) }); n >= 1 { // reports on the way allocate
			t.Errorf("a charge allocates %v times", n)
		}
		if n := w[0].Stats().Waits; n != waits {
			t.Errorf("%d charges waited for the ledger", n-waits)
		}
	})
}

func BenchmarkSharedCharge(b *testing.B) {
	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprintf("shared=%t", shared), func(b *testing.B) {
			w := &wallet{ofWorkspace: limit.Tiers()[4].Allowance(), ofKey: limit.Allowance{PerMinute: 1_000_000_000}}
			w.ofWorkspace.PerMinute = 1_000_000_000
			w.workspace.Init("wsp_1")
			w.key.Init("key_1")
			if shared {
				w.Shared = limit.NewShared(limit.SharedOptions{
					Members: fixed(2), Ledger: ledgertest.NewModel(time.Now).Member("0", nil), Now: time.Now, Log: slog.New(slog.DiscardHandler),
				})
				w.Join(b.Context())
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				go w.Run(ctx)
				time.Sleep(1200 * time.Millisecond)
			}
			b.ReportAllocs()
			for b.Loop() {
				if v, _ := w.charge(1); !v.Allowed {
					b.Fatal(v)
				}
			}
		})
	}
}

package limit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

var anonymous = Allowance{30, 1_000, 20_000}

func TestAddressHasOneBudgetHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	a := NewAddresses(anonymous, DefaultAddresses)
	same := [][2]string{
		{"192.0.2.1", "::ffff:192.0.2.1"},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9"},
		{"fe80::1%eth0", "fe80::1%eth1"},
	}
	for _, pair := range same {
		if a.of(pair[0]) != a.of(pair[1]) {
			t.Errorf("%s and %s have budgets of their own", pair[0], pair[1])
		}
	}
	different := [][2]string{
		{"192.0.2.1", "192.0.2.2"},
		{"2001:db8:1:2::1", "2001:db8:1:3::1"},
		{"0.0.0.1", "::1"},
	}
	for _, pair := range different {
		if a.of(pair[0]) == a.of(pair[1]) {
			t.Errorf("%s and %s share a budget", pair[0], pair[1])
		}
	}
	addr := netip.MustParseAddr("192.0.2.1")
	if first, again := a.SignIn(addr), a.SignIn(addr); first.Use == a.Account(addr).Use || first.Use != again.Use {
		t.Error("an address has no budget of its own for signing in")
	}
	if a.Account(netip.Addr{}).Use == nil {
		t.Error("a caller without an address has no budget")
	}
}

func (a *Addresses) of(addr string) *Use { return a.Account(netip.MustParseAddr(addr)).Use }

func TestExhaustedAddressIsRefusedAsAnonymous(t *testing.T) {
	t.Parallel()
	a := NewAddresses(Allowance{2, 1_000, 1_000}, 10)
	addr := netip.MustParseAddr("192.0.2.1")
	for range 2 {
		Local{}.Charge(noon, 1, a.Account(addr), Account{})
	}
	v, _ := Local{}.Charge(noon, 1, a.Account(addr), Account{})
	if v.Allowed || v.Policy != PolicyAnonymous || v.HasKey {
		t.Errorf("got %+v, want a refusal by %s", v, PolicyAnonymous)
	}
	if v := (Local{}).Peek(noon, 1, a.Account(netip.MustParseAddr("192.0.2.2")), Account{}); !v.Allowed {
		t.Error("another address is refused too")
	}
}

func TestSilentAddressIsForgottenFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 6).Draw(t, "capacity")
		a := NewAddresses(anonymous, capacity)
		var byLastCall []byte // oldest first
		var hits, misses, evictions int64
		uses := map[byte]*Use{}
		for _, n := range rapid.SliceOfN(rapid.ByteRange(0, 9), 1, 60).Draw(t, "calls") {
			at := -1
			for i, known := range byLastCall {
				if known == n {
					at = i
				}
			}
			use := a.Account(netip.AddrFrom4([4]byte{192, 0, 2, n})).Use
			if at >= 0 {
				hits++
				byLastCall = append(byLastCall[:at], byLastCall[at+1:]...)
				if uses[n] != use {
					t.Fatalf("%d was forgotten while older ones %v are known", n, byLastCall)
				}
			} else {
				misses++
				if uses[n] == use {
					t.Fatalf("%d should have been forgotten", n)
				}
				if len(byLastCall) == capacity {
					byLastCall = byLastCall[1:]
					evictions++
				}
			}
			uses[n] = use
			byLastCall = append(byLastCall, n)
		}
		got := a.Stats()
		want := CacheStats{
			Entries: int64(len(byLastCall)), Capacity: int64(capacity), Bytes: got.Bytes,
			Hits: hits, Misses: misses, Evictions: evictions,
		}
		if got != want || got.Bytes <= 0 {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestFloodOfAddressesStaysBounded(t *testing.T) {
	t.Parallel()
	const capacity = 8 * 1024
	a := NewAddresses(anonymous, capacity)
	for i := range 10 * capacity {
		a.Account(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	if got := a.Stats(); got.Entries > capacity || got.Entries < capacity*9/10 {
		t.Errorf("%d addresses are known, want about %d and never more", got.Entries, capacity)
	}
}

func TestManyCallersFromOneAddressAreAdmittedToTheLimit(t *testing.T) {
	t.Parallel()
	a := NewAddresses(anonymous, DefaultAddresses)
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 2_000 {
		all.Go(func() {
			if v, _ := (Local{}).Charge(noon, 1, a.Account(netip.MustParseAddr("192.0.2.1")), Account{}); v.Allowed {
				admitted.Add(1)
			}
		})
	}
	all.Wait()
	if got := admitted.Load(); got != anonymous.PerMinute {
		t.Errorf("%d were admitted, want %d", got, anonymous.PerMinute)
	}
}

func BenchmarkAddress(b *testing.B) {
	for name, addresses := range map[string]int{"Known": 1_000, "Flood": 1 << 24} {
		b.Run(name, func(b *testing.B) {
			a := NewAddresses(anonymous, DefaultAddresses)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				a.Account(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
				i = (i + 1) % addresses
			}
		})
	}
}

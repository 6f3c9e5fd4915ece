package limit

import (
	"net/netip"
	"slices"
	"testing"
)

func TestChangedTierIsInForceAtOnce(t *testing.T) {
	t.Parallel()
	tiers := Tiers()
	table := NewTable(tiers)
	if !slices.Equal(table.All(), tiers) {
		t.Errorf("the table lists %+v", table.All())
	}
	held := table.Lookup(TierPro)
	before := held.Tier()
	pro := *before
	pro.RequestsPerMinute = 7
	if !table.Set(pro) || held.Tier().RequestsPerMinute != 7 || before.RequestsPerMinute != 600 {
		t.Errorf("held tier has %d, what was read before %d", held.Tier().RequestsPerMinute, before.RequestsPerMinute)
	}
	pro.Name = "gold"
	if table.Set(pro) || table.Lookup("gold") != nil || len(table.All()) != len(Tiers()) {
		t.Error("a tier was added")
	}
}

func TestChangedAddressLimitKeepsTheUse(t *testing.T) {
	t.Parallel()
	addresses := NewAddresses(Allowance{PerMinute: 30, Daily: 100, Monthly: 1000}, 16)
	known := netip.MustParseAddr("192.0.2.1")
	Local{}.Charge(noon, 5, addresses.Account(known), Account{})
	addresses.Allow(Allowance{PerMinute: 10, Daily: 50, Monthly: 1000})
	if v := (Local{}).Peek(noon, 1, addresses.Account(known), Account{}); v.Limit != 10 || v.Remaining != 5 || v.DailyRemaining != 45 {
		t.Errorf("after 5 requests: %+v", v)
	}
}

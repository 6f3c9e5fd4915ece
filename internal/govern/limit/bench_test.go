package limit

import (
	"testing"
	"time"
)

func benchAccounts() (workspace, key Account) {
	tier := Tiers()[4].Allowance()
	workspace = Account{Use: &Use{}, Allowance: tier}
	key = Account{Use: &Use{}, Allowance: Allowance{PerMinute: tier.PerMinute, Daily: tier.Daily}}
	workspace.Use.Init("wsp_01")
	key.Use.InitKey("key_01", workspace.Use)
	return workspace, key
}

func BenchmarkCharge(b *testing.B) {
	workspace, key := benchAccounts()
	start := time.Now()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		// 100 µs apart, so that the budgets of a minute are never exhausted and windows turn as they would.
		if v, _ := (Local{}).Charge(start.Add(time.Duration(i)*100*time.Microsecond), 1, workspace, key); !v.Allowed {
			b.Fatal(v)
		}
		i++
	}
}

func BenchmarkChargeDenied(b *testing.B) {
	workspace, key := benchAccounts()
	key.PerMinute = 1
	Local{}.Charge(noon, 1, workspace, key)
	b.ReportAllocs()
	for b.Loop() {
		if v, _ := (Local{}).Charge(noon, 1, workspace, key); v.Allowed {
			b.Fatal(v)
		}
	}
}

func BenchmarkChargeParallel(b *testing.B) {
	workspace, key := benchAccounts()
	workspace.Allowance, key.Allowance = Allowance{PerMinute: 1 << 37}, Allowance{PerMinute: 1 << 37}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Local{}.Charge(noon, 1, workspace, key)
		}
	})
}

func BenchmarkPeek(b *testing.B) {
	workspace, key := benchAccounts()
	b.ReportAllocs()
	for b.Loop() {
		if v := (Local{}).Peek(noon, 1, workspace, key); !v.Allowed {
			b.Fatal(v)
		}
	}
}

func BenchmarkRefund(b *testing.B) {
	workspace, key := benchAccounts()
	b.ReportAllocs()
	for b.Loop() {
		_, r := Local{}.Charge(noon, 1, workspace, key)
		r.Refund()
	}
}

package limit_test

import (
	"fmt"
	"time"

	"keepsake/internal/govern/limit"
)

func ExampleLocal() {
	var workspace, key limit.Use
	workspace.Init("wsp_01")
	key.InitKey("key_01", &workspace)
	tier := limit.Tier{RequestsPerMinute: 2, Daily: 100, Monthly: 1_000}

	now := time.Date(2026, 11, 21, 12, 0, 10, 0, time.UTC)
	for range 3 {
		v, _ := limit.Local{}.Charge(now, 1, limit.Account{Use: &workspace, Allowance: tier.Allowance()},
			limit.Account{Use: &key, Allowance: limit.Allowance{PerMinute: 60}})
		fmt.Printf("%t %d %d %q\n", v.Allowed, v.Remaining, v.DailyRemaining, v.Policy)
	}
	// Output:
	// true 1 99 ""
	// true 0 98 ""
	// false 0 98 "tier_minute"
}

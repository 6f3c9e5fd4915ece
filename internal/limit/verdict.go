package limit

import "time"

// Policy names the budget that refused a request (details.policy of a 429).
type Policy string

// The policies.
const (
	TierMinute   Policy = "tier_minute"
	KeyMinute    Policy = "key_minute"
	DailyQuota   Policy = "daily_quota"
	MonthlyQuota Policy = "monthly_quota"
	Anonymous    Policy = "anonymous"
)

// Verdict says whether a request may pass, and holds the numbers of the rate-limit headers (decisions.md, H). The
// numbers are each budget's own truth, also on a denial by another budget.
type Verdict struct {
	Allowed bool
	Policy  Policy        // on a denial: the exhausted budget that ends last
	ResetIn time.Duration // on a denial: until that budget's window ends

	Limit            int64 // per minute, the tier's
	Remaining        int64 // the least of the minute budgets that apply
	ResetUnix        int64 // the second at which the window of Remaining ends
	DailyRemaining   int64 // the least of workspace and key
	MonthlyRemaining int64 // the least of workspace and key

	HasKey       bool // whether the next two apply
	KeyLimit     int64
	KeyRemaining int64
}

// ResetTimeMs is ResetIn for the body of a 429: whole milliseconds, rounded up so that a caller who waits that long is admitted.
func (v *Verdict) ResetTimeMs() int64 {
	return int64((v.ResetIn + time.Millisecond - 1) / time.Millisecond)
}

// RetryAfterSeconds is the value of Retry-After, and the number the message of a 429 says: at least 1.
func (v *Verdict) RetryAfterSeconds() int64 {
	return max(1, (v.ResetTimeMs()+999)/1000)
}

package limit

import "time"

// Policy names the budget that refused a request (details.policy of a 429).
type Policy string

// The policies.
const (
	PolicyTierMinute   Policy = "tier_minute"
	PolicyKeyMinute    Policy = "key_minute"
	PolicyDailyQuota   Policy = "daily_quota"
	PolicyMonthlyQuota Policy = "monthly_quota"
	PolicyAnonymous    Policy = "anonymous"
)

// Verdict says whether a request can pass, and holds the numbers of the rate-limit headers (docs/spec/limits.md).
// Each number is given as it is, also if another budget refused the request.
type Verdict struct {
	Allowed bool
	Policy  Policy        // of a refusal: the exhausted budget whose window ends last
	ResetIn time.Duration // of a refusal: until that window ends; at most unknownWait if Unknown
	Unknown bool          // of a refusal: no budget is known to be exhausted, but this process cannot ask its peers

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

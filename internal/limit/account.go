package limit

// Allowance is what a subject may use. A number of 0 means that there is no such budget.
type Allowance struct {
	PerMinute int64
	Daily     int64
	Monthly   int64
}

// Allowance is what the tier gives to a workspace or, for the anonymous tier, to an address.
func (t Tier) Allowance() Allowance {
	return Allowance{PerMinute: t.RequestsPerMinute, Daily: t.Daily, Monthly: t.Monthly}
}

// Account is a subject's use beside its allowance: all that a charge needs to know of it. The zero Account is nobody's.
type Account struct {
	Use *Use
	Allowance
	Anonymous bool // an address without a credential: whatever is exhausted, the policy is Anonymous
}

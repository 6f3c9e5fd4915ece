package limit

// Tier is what a workspace can use (docs/spec/interface-spec.md, §8). The three rates are always limits. Of the others, nil means
// that there is no limit, and 0 that a workspace can have none.
type Tier struct {
	Name              string
	RequestsPerMinute int64
	Daily             int64
	Monthly           int64
	Keys              *int64
	Users             *int64
	Documents         *int64
	Memories          *int64
	Storage           *int64 // bytes
}

// Full reports whether a workspace that has so many of something can have no more; a nil limit is none.
func Full(limit *int64, have int64) bool { return limit != nil && have >= *limit }

// The largest numbers of a tier. They keep a charge and its headers far from overflow: counters have 38 bits.
const (
	MaxTierCount = 1 << 37
	MaxStorage   = 1 << 50
)

// The names of the tiers that always exist.
const (
	TierAnonymous = "anonymous" // callers without a valid credential, per client address
	TierFree      = "free"      // the default for a workspace
	TierPro       = "pro"
	TierBusiness  = "business"
	TierUnlimited = "unlimited" // the operator workspace
)

// Tiers are the default tiers (docs/spec/limits.md). The configuration can change them.
func Tiers() []Tier {
	n := func(limit int64) *int64 { return &limit }
	return []Tier{
		{TierAnonymous, 30, 1_000, 20_000, nil, nil, nil, nil, nil},
		{TierFree, 60, 5_000, 100_000, n(5), n(5), n(10_000), n(10_000), n(256 << 20)},
		{TierPro, 600, 200_000, 4_000_000, n(25), n(25), n(1_000_000), n(1_000_000), n(10 << 30)},
		{TierBusiness, 3_000, 1_500_000, 30_000_000, n(100), n(200), n(10_000_000), n(10_000_000), n(100 << 30)},
		{TierUnlimited, 1_000_000, 1_000_000_000, 30_000_000_000, nil, nil, nil, nil, nil},
	}
}

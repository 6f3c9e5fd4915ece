package limit

// Tier is what a workspace can use (docs/spec/interface-spec.md, §8). A count of 0 means that there is no such limit. The
// configuration does not accept 0 for the three rates.
type Tier struct {
	Name              string
	RequestsPerMinute int64
	Daily             int64
	Monthly           int64
	Keys              int64
	Users             int64
	Documents         int64
	Memories          int64
	Storage           int64 // bytes; NoLimit for no limit, 0 for none at all
}

// NoLimit is a Storage without a limit.
const NoLimit = -1

// MaxStorage is the largest Storage that is a limit, in bytes.
const MaxStorage = 1 << 50

// The names of the tiers that always exist.
const (
	TierAnonymous = "anonymous" // callers without a valid credential, per client address
	TierFree      = "free"      // the default for a workspace
	TierPro       = "pro"
	TierBusiness  = "business"
	TierUnlimited = "unlimited" // the operator workspace
)

// Tiers are the default tiers (docs/spec/decisions.md, H). The configuration can change them.
func Tiers() []Tier {
	return []Tier{
		{TierAnonymous, 30, 1_000, 20_000, 0, 0, 0, 0, NoLimit},
		{TierFree, 60, 5_000, 100_000, 5, 5, 10_000, 10_000, 256 << 20},
		{TierPro, 600, 200_000, 4_000_000, 25, 25, 1_000_000, 1_000_000, 10 << 30},
		{TierBusiness, 3_000, 1_500_000, 30_000_000, 100, 200, 10_000_000, 10_000_000, 100 << 30},
		{TierUnlimited, 1_000_000, 1_000_000_000, 30_000_000_000, 0, 0, 0, 0, NoLimit},
	}
}

package usage

import "time"

// Owner stands for a workspace with one of its keys, or with none; 0 is whoever has no credential.
type Owner uint32

// Secret stands for one secret of a key, to note when it was last used; 0 is none.
type Secret uint32

// Route stands for a method with a route template; 0 is a path that is no route.
type Route uint16

// Surface is where a request came in.
type Surface uint8

// The surfaces (decisions.md, J).
const (
	Primary Surface = iota
	AI
	Backend
)

func (s Surface) String() string {
	switch s {
	case AI:
		return "ai"
	case Backend:
		return "backend"
	default:
		return "primary"
	}
}

// Event is one request that was answered.
type Event struct {
	Owner   Owner
	Route   Route
	Surface Surface
	Version uint8  // API version that served it; 0 where none did
	Status  uint16 // HTTP status

	At       time.Time // of the charge (limit.Receipt.At), so that cells and counters agree at midnight
	Charged  int64     // what its workspace and key paid: 0 when uncharged, denied or refunded (5xx)
	BytesIn  int64
	BytesOut int64
}

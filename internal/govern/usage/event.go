package usage

import "time"

// Owner identifies a workspace with one of its keys, or without a key. 0 is a caller without credentials.
type Owner uint32

// Secret identifies one secret of a key, to record its last use. 0 is none.
type Secret uint32

// Route identifies a method and a route template. 0 is a path without a route.
type Route uint16

// Surface is the surface that a request used.
type Surface uint8

// The surfaces (docs/spec/surfaces.md).
const (
	Primary Surface = iota
	AI
	Backend
	Console // requests of the console's pages to the API, for the person who looks at them

	surfaces = iota // how many there are
)

func (s Surface) String() string {
	switch s {
	case AI:
		return "ai"
	case Backend:
		return "backend"
	case Console:
		return "console"
	default:
		return "primary"
	}
}

// Event is a completed request.
type Event struct {
	Owner   Owner
	Route   Route
	Surface Surface
	Version uint8  // API version that served it; 0 for none
	Status  uint16 // HTTP status

	At       time.Time     // of the charge (limit.Receipt.At), so that cells and counters agree at midnight
	Charged  int64         // cost charged to its workspace and key; 0 if uncharged, denied or refunded (5xx)
	Took     time.Duration // from its first byte to its last
	BytesIn  int64
	BytesOut int64
}

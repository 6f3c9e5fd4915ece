package apikey

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"sync/atomic"
	"unsafe"

	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/limit"
	"keepsake/internal/usage"
)

// slot is one key in memory: its counters, which stay where they are for as long as the key lives, and what requests
// need to know of it. It holds no pointer, so the collector never walks 100,000 of them.
//
// What it says of the key is read without a lock and written under the directory's: version is odd while that happens,
// and a reader that saw it odd or changed reads again. It is two cache lines long.
type slot struct {
	use limit.Use

	version  atomic.Uint32
	owner    atomic.Uint32 // usage.Owner
	idHigh   atomic.Uint64
	idLow    atomic.Uint64
	standing atomic.Uint64 // workspace index << 32 | turns << 16 | scopes << 8 | flags
	revision atomic.Int64

	expiresAt atomic.Int64 // Unix milliseconds, 0 never
	perMinute atomic.Int64 // 0 inherits the tier's number
	daily     atomic.Int64 // 0 has none
	monthly   atomic.Int64

	validUntil [maxSecrets]atomic.Int64  // Unix milliseconds, 0 as long as the key
	secrets    [maxSecrets]atomic.Uint32 // usage.Secret
}

// maxSecrets is how many texts a key can be known under: two while rotating.
const maxSecrets = 2

// The flags in standing.
const (
	flagDisabled = 1 << iota
	flagRevoked
	flagBounds // the shelf has bounds for this slot
)

// facts is what a slot says of its key at one moment.
type facts struct {
	key                       id.UUID
	workspace                 uint32
	scopes                    auth.Scopes
	flags                     uint8
	owner                     usage.Owner
	revision                  int64
	expiresAt                 int64
	perMinute, daily, monthly int64
	secrets                   [maxSecrets]secretFacts
	bounds                    *bounds
}

type secretFacts struct {
	validUntil int64
	usage      usage.Secret
	turn       uint8 // counts the secrets that have lain in this place, modulo turns
}

// ref is where the index says that a secret lies: the slot, which of its places, and whose turn it was there. A reader
// who took it from the index before a rotation gave the place to another secret sees by the turn that it is out of date.
type ref uint32

const (
	turnBits = 6
	turns    = 1 << turnBits
)

func refTo(slot uint32, place int, turn uint8) ref {
	return ref(slot<<(turnBits+1) | uint32(turn)<<1 | uint32(place))
}

func (r ref) slot() uint32 { return uint32(r >> (turnBits + 1)) }
func (r ref) place() int   { return int(r & 1) }
func (r ref) turn() uint8  { return uint8(r>>1) % turns }

// maxSlots is how many a ref can name: 33 million keys, whose slots alone fill 4 GiB.
const maxSlots = 1 << (32 - turnBits - 1)

// bounds is what only few keys have: a subject, an agent, allowed addresses.
type bounds struct {
	subjectID  string
	agentID    string
	allowedIPs []netip.Prefix
}

// shelfLen is how many slots are allocated at once.
const shelfLen = 512

// shelf is a run of slots. Beside them are the pointers they may not hold, allocated once a key of the shelf needs one,
// and what no request reads: the hashes of the secrets in their places, zero for a place that is free.
type shelf struct {
	slots  *[shelfLen]slot
	bounds atomic.Pointer[[shelfLen]atomic.Pointer[bounds]]
	hashes *[shelfLen]placedHashes // guarded by the directory's lock
}

type placedHashes [maxSecrets][32]byte

func newShelf() *shelf {
	return &shelf{slots: new([shelfLen]slot), hashes: new([shelfLen]placedHashes)}
}

const (
	slotBytes   = int64(unsafe.Sizeof(slot{}))
	hashesBytes = int64(unsafe.Sizeof(placedHashes{}))
)

// read copies what slot i says into f.
func (h *shelf) read(i uint32, f *facts) *slot {
	s := &h.slots[i]
	for {
		version := s.version.Load()
		if version&1 == 0 {
			h.copyOut(s, i, f)
			if s.version.Load() == version {
				return s
			}
		}
		runtime.Gosched()
	}
}

func (h *shelf) copyOut(s *slot, i uint32, f *facts) {
	binary.BigEndian.PutUint64(f.key[:8], s.idHigh.Load())
	binary.BigEndian.PutUint64(f.key[8:], s.idLow.Load())
	standing := s.standing.Load()
	f.workspace, f.scopes, f.flags = uint32(standing>>32), auth.Scopes(standing>>8), uint8(standing)
	f.owner = usage.Owner(s.owner.Load())
	f.revision = s.revision.Load()
	f.expiresAt = s.expiresAt.Load()
	f.perMinute, f.daily, f.monthly = s.perMinute.Load(), s.daily.Load(), s.monthly.Load()
	for n := range f.secrets {
		f.secrets[n] = secretFacts{s.validUntil[n].Load(), usage.Secret(s.secrets[n].Load()), turnIn(standing, n)}
	}
	f.bounds = nil
	if f.flags&flagBounds != 0 {
		if all := h.bounds.Load(); all != nil {
			f.bounds = all[i].Load()
		}
	}
}

// write replaces what slot i says. The caller holds the directory's lock.
func (h *shelf) write(i uint32, f *facts) {
	s := &h.slots[i]
	s.version.Add(1)
	defer s.version.Add(1)
	s.idHigh.Store(binary.BigEndian.Uint64(f.key[:8]))
	s.idLow.Store(binary.BigEndian.Uint64(f.key[8:]))
	s.owner.Store(uint32(f.owner))
	s.revision.Store(f.revision)
	s.expiresAt.Store(f.expiresAt)
	s.perMinute.Store(f.perMinute)
	s.daily.Store(f.daily)
	s.monthly.Store(f.monthly)
	for n := range f.secrets {
		s.validUntil[n].Store(f.secrets[n].validUntil)
		s.secrets[n].Store(uint32(f.secrets[n].usage))
	}
	flags := f.flags &^ flagBounds
	if f.bounds != nil {
		flags |= flagBounds
		if h.bounds.Load() == nil {
			h.bounds.Store(new([shelfLen]atomic.Pointer[bounds]))
		}
	}
	if all := h.bounds.Load(); all != nil {
		all[i].Store(f.bounds)
	}
	standing := uint64(f.workspace)<<32 | uint64(f.scopes)<<8 | uint64(flags)
	for n := range f.secrets {
		standing |= uint64(f.secrets[n].turn) << turnAt(n)
	}
	s.standing.Store(standing)
}

// turnAt is the bit of standing at which the turn of a place begins.
func turnAt(place int) int { return 16 + place*turnBits }

func turnIn(standing uint64, place int) uint8 { return uint8(standing>>turnAt(place)) % turns }

// clear makes the slot as new for another key, but that its places remember whose turn it was. Nobody writes it.
func (s *slot) clear() {
	var past uint64
	standing := s.standing.Load()
	for place := range maxSecrets {
		past |= uint64(turnIn(standing, place)) << turnAt(place)
	}
	*s = slot{}
	s.standing.Store(past)
}

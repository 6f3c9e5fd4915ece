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
	standing atomic.Uint64 // workspace index << 32 | scopes << 8 | flags
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
}

// bounds is what only few keys have: a subject, an agent, allowed addresses.
type bounds struct {
	subjectID  string
	agentID    string
	allowedIPs []netip.Prefix
}

// shelfLen is how many slots are allocated at once.
const shelfLen = 512

// shelf is a run of slots, and beside them the pointers they may not hold, allocated once a key of the shelf needs one.
type shelf struct {
	slots  *[shelfLen]slot
	bounds atomic.Pointer[[shelfLen]atomic.Pointer[bounds]]
}

const slotBytes = int64(unsafe.Sizeof(slot{}))

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
		f.secrets[n] = secretFacts{s.validUntil[n].Load(), usage.Secret(s.secrets[n].Load())}
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
	s.standing.Store(uint64(f.workspace)<<32 | uint64(f.scopes)<<8 | uint64(flags))
}

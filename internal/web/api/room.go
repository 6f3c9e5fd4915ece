package api

import (
	"sync"

	"keepsake/internal/web/endpoint"
)

// room limits the bytes of request bodies that are processed at once, if the process has a memory limit. A body takes up to
// three times its size while it is decoded and stored, so a sixteenth of the memory is for bodies.
type room struct {
	most int64 // 0: unlimited

	mu    sync.Mutex
	total int64
	by    map[string]int64 // by workspace or address
}

func newRoom(memory int64) *room { return &room{most: memory / 16, by: map[string]int64{}} }

// smallBody is the size up to which a body needs no room, so that searches, recalls and logins continue.
const smallBody = 16 << 10

// streamed is the room of a body that is processed as it arrives.
const streamed = 4 << 20

// take takes room for a body and reports whether there was enough. A single body always has room, so that none is too large
// forever. One workspace or address cannot use more than half with several bodies.
func (r *room) take(who string, size int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total > 0 && r.total+size > r.most || r.by[who] > 0 && r.by[who]+size > r.most/2 {
		return false
	}
	r.total += size
	r.by[who] += size
	return true
}

func (r *room) give(who string, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total -= size
	if r.by[who] -= size; r.by[who] == 0 {
		delete(r.by, who)
	}
}

// makeRoom takes room for the request's body, and reports whether the request can continue.
func (x *requestState) makeRoom(op *endpoint.Operation) bool {
	size := x.r.ContentLength
	if x.api.room.most == 0 || size >= 0 && size <= smallBody {
		return true
	}
	if most := op.Class.MaxBody(); size < 0 || size > most { // of unknown size, or too large and soon refused
		size = most
	}
	if op.Class == endpoint.Stream {
		size = min(size, streamed)
	}
	who := x.principal.WorkspaceID
	if !x.known {
		who = x.clientText()
	}
	if !x.api.room.take(who, size) {
		x.api.counters.noMemory.Add(1)
		return false
	}
	x.roomOf, x.roomSize = who, size
	return true
}

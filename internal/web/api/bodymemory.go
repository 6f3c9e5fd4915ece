package api

import (
	"sync"

	"keepsake/internal/web/endpoint"
)

// bodyMemory limits the bytes of request bodies that are processed at once, if the process has a memory limit. A body takes up to
// three times its size while it is decoded and stored, so a sixteenth of the memory is for bodies.
type bodyMemory struct {
	most int64 // 0: unlimited

	mu    sync.Mutex
	total int64
	by    map[string]int64 // by workspace or address
}

func newBodyMemory(memory int64) *bodyMemory {
	return &bodyMemory{most: memory / 16, by: map[string]int64{}}
}

// smallBody is the size up to which a body does not count, so that searches, recalls and logins continue.
const smallBody = 16 << 10

// streamed is the size that counts of a body that is processed as it arrives.
const streamed = 4 << 20

// take takes memory for a body and reports whether there was enough. There always is for a single body, so that none is too large
// forever. One workspace or address cannot use more than half with several bodies.
func (m *bodyMemory) take(who string, size int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.total > 0 && m.total+size > m.most || m.by[who] > 0 && m.by[who]+size > m.most/2 {
		return false
	}
	m.total += size
	m.by[who] += size
	return true
}

func (m *bodyMemory) give(who string, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total -= size
	if m.by[who] -= size; m.by[who] == 0 {
		delete(m.by, who)
	}
}

// bodyShare is what a request uses of the memory for bodies, and for whom.
type bodyShare struct {
	who  string
	size int64 // 0: nothing
}

// takeBodyMemory takes memory for the request's body, and reports whether there was enough.
func (x *admitted) takeBodyMemory() bool {
	size := x.r.ContentLength
	if x.api.bodies.most == 0 || size >= 0 && size <= smallBody {
		return true
	}
	if most := x.op.Class.MaxBody(); size < 0 || size > most { // of unknown size, or too large and soon refused
		size = most
	}
	if x.op.Class == endpoint.Stream {
		size = min(size, streamed)
	}
	who := x.ctx.principal.WorkspaceID
	if x.identified.caller == nil {
		who = x.ctx.clientText()
	}
	if !x.api.bodies.take(who, size) {
		x.api.counters.noMemory.Add(1)
		return false
	}
	x.bodyShare = bodyShare{who, size}
	return true
}

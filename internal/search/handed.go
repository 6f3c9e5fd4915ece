package search

import (
	"sync"

	"keepsake/internal/search/document"
)

// An import hands the documents that it has stored to the index, so that they need not be read back from the source. Their
// numbers say which changes they are, and everything that was not handed over is read as usual: changes of other processes or of
// single requests, and all changes after a restart.

// maxHanded is how many bytes of text wait at most for the index of a workspace.
const maxHanded = 4 << 20

// handed contains changes that were committed and handed over, without gaps between their numbers.
type handed struct {
	mu      sync.Mutex
	changes []document.Change
	states  []document.State // of their transactions
	bytes   int
}

// add adds the documents of a transaction with a mark, in the order of their changes. They are left out if there is no room, if they have
// gaps, or if there is a gap between them and those that are there.
func (h *handed) add(documents []*document.Document, mark int64) {
	bytes := 0
	for i, d := range documents {
		bytes += len(d.Title) + len(d.Text)
		if d.Change != documents[0].Change+int64(i) {
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.changes); h.bytes+bytes > maxHanded || n > 0 && h.changes[n-1].Number+1 != documents[0].Change {
		return
	}
	h.bytes += bytes
	for _, d := range documents {
		h.changes = append(h.changes, document.Change{Number: d.Change, ID: d.ID, Document: d})
	}
	h.states = append(h.states, document.State{Change: documents[len(documents)-1].Change, Mark: mark})
}

// take removes and returns at most limit changes after the one with the number position, and the number of the last with the mark of its
// transaction, or nothing if the next one is not there.
func (h *handed) take(position int64, limit int) (taken []document.Change, of document.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(position)
	if len(h.changes) == 0 || h.changes[0].Number != position+1 {
		return nil, of
	}
	n := min(limit, len(h.changes))
	taken = h.changes[:n:n]
	of.Change = taken[n-1].Number
	for _, s := range h.states {
		if s.Change >= of.Change {
			of.Mark = s.Mark
			break
		}
	}
	h.drop(of.Change)
	return taken, of
}

// drop removes the changes up to the one with the number position. The caller holds h.mu.
func (h *handed) drop(position int64) {
	n := 0
	for ; n < len(h.changes) && h.changes[n].Number <= position; n++ {
		h.bytes -= textBytes(&h.changes[n])
	}
	if h.changes = h.changes[n:]; len(h.changes) == 0 {
		h.changes = nil
	}
	for len(h.states) > 0 && h.states[0].Change <= position {
		h.states = h.states[1:]
	}
}

// clear removes all changes, because the source has lost some.
func (h *handed) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes, h.states, h.bytes = nil, nil, 0
}

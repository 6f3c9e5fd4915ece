// Package audittest provides a fake audit log for tests.
package audittest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"keepsake/internal/govern/audit"
)

// Recorder keeps the recorded entries, including those of a failed transaction.
type Recorder struct {
	mu      sync.Mutex
	entries []audit.Entry
}

var _ audit.Recorder = (*Recorder)(nil)

// Record implements audit.Recorder.
func (r *Recorder) Record(_ context.Context, e audit.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	return nil
}

// Entries returns the recorded entries, in order.
func (r *Recorder) Entries() []audit.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]audit.Entry(nil), r.entries...)
}

// UnkeyedHash is the hash that someone without the key gives a row, implemented a second time.
func UnkeyedHash(r *audit.Row, chain string, previous audit.Hash) audit.Hash {
	var m bytes.Buffer
	number := func(n int64) { m.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	text := func(s string) {
		number(int64(len(s)))
		m.WriteString(s)
	}
	text("keepsake audit row 2")
	text(chain)
	number(r.Sequence)
	m.Write(previous[:])
	text(r.ID)
	number(r.At.UnixMicro())
	address := ""
	if r.Address.IsValid() {
		address = r.Address.String()
	}
	for _, s := range []string{r.WorkspaceID, r.Actor, string(r.Action), r.Target, string(r.Outcome), r.Details, address, r.RequestID} {
		text(s)
	}
	number(r.Count)
	return sha256.Sum256(m.Bytes())
}

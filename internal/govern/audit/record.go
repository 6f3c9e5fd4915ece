package audit

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
)

// record is what is known of a chain outside the database that holds it. It is stored beside the instance's secrets, sealed
// with a key derived from one of them, so that write access to the files is not enough to create or change one. A missing
// record is a break (RecordMissing), and so is one that says more than the chain or the file of checkpoints.
type record struct {
	// Last is the last checkpoint of the chain; nil: there was no row yet.
	Last *Checkpoint `json:"last"`
	// Lost is a checkpoint that the folder's file had and lacks; nil: none. It is found again when a copy of the file is put back.
	Lost *Checkpoint `json:"lost,omitempty"`
}

// lacks returns the first checkpoint of the record that a file does not contain, or nil. The record can be nil.
func (r *record) lacks(file []byte) (*Checkpoint, error) {
	if r == nil {
		return nil, nil
	}
	for _, c := range []*Checkpoint{r.Lost, r.Last} {
		if c == nil {
			continue
		}
		line, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(file, append(line, '\n')) {
			return c, nil
		}
	}
	return nil, nil
}

// recordKey seals records.
type recordKey struct{ cipher.AEAD }

func newRecordKey(secret []byte) recordKey {
	block, err := aes.NewCipher(derive(secret, "records", 32))
	if err != nil {
		panic("audit: " + err.Error()) // only for a key of another size
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic("audit: " + err.Error()) // only for another cipher
	}
	return recordKey{sealer}
}

func (k recordKey) seal(chain string, r *record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the record of audit chain %s: %w", chain, err)
	}
	return k.Seal(nil, nil, text, []byte(chain)), nil
}

func (k recordKey) open(chain string, sealed []byte) (*record, error) {
	text, err := k.Open(nil, nil, sealed, []byte(chain))
	if err != nil {
		return nil, errForged
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("decode the record of audit chain %s: %w", chain, err)
	}
	return r, nil
}

var errForged = errors.New("the record was not sealed by this instance")

// records reads all records. One that cannot be opened is nil.
func (l *Log) records(ctx context.Context) (map[string]*record, error) {
	sealed, err := l.Store.AuditRecords(ctx)
	if err != nil {
		return nil, err
	}
	list := make(map[string]*record, len(sealed))
	for chain, text := range sealed {
		r, err := l.recordKey.open(chain, text)
		if err != nil && !errors.Is(err, errForged) {
			return nil, err
		}
		list[chain] = r
	}
	return list, nil
}

func (l *Log) saveRecord(ctx context.Context, chain string, r *record) error {
	sealed, err := l.recordKey.seal(chain, r)
	if err != nil {
		return err
	}
	return l.Store.SaveAuditRecord(ctx, chain, sealed)
}

// Begin gets the record of this process's chain, before the process adds a row. fresh says that the instance has no log yet.
//
// A chain without rows is new if others have records. A chain that should have a record and has none, or contradicts it, was
// tampered with. The log continues, because stopping it would serve the attacker, and the record stays unchanged, so that Verify
// reports it.
func (l *Log) Begin(ctx context.Context, fresh bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	records, err := l.records(ctx)
	if err != nil {
		return err
	}
	head, err := l.Store.AuditHead(ctx, l.Chain)
	if err != nil {
		return err
	}
	own, known := records[l.Chain]
	switch {
	case known && own == nil:
		return l.dispute(ctx, RecordForged, head.Sequence)
	case known:
		return l.resume(ctx, own)
	case len(records) > 0 && head.Sequence == 0, fresh:
		return l.take(ctx, &record{})
	default:
		return l.dispute(ctx, RecordMissing, head.Sequence)
	}
}

// resume continues a chain that has a record.
func (l *Log) resume(ctx context.Context, r *record) error {
	if r.Last != nil {
		held, err := l.holds(ctx, r.Last)
		if err != nil {
			return err
		}
		if !held {
			return l.dispute(ctx, RowCutOff, r.Last.Sequence)
		}
	}
	l.record = r
	return nil
}

// adopt continues a chain as it is.
func (l *Log) adopt(ctx context.Context, r *record, head Head) error {
	r.Last = l.lastOf(head)
	if r.Last != nil { // the file has what the record says
		if err := appendCheckpoints(l.Checkpoints, []*Checkpoint{r.Last}, false); err != nil {
			return fmt.Errorf("write a checkpoint of the audit log: %w", err)
		}
	}
	return l.take(ctx, r)
}

// take makes r the record of this process's chain.
func (l *Log) take(ctx context.Context, r *record) error {
	if err := l.saveRecord(ctx, l.Chain, r); err != nil {
		return err
	}
	l.record = r
	return nil
}

// dispute keeps the record unchanged.
func (l *Log) dispute(ctx context.Context, reason Reason, sequence int64) error {
	l.record, l.disputed = nil, true
	l.Log.ErrorContext(ctx, "the audit log is not what its record says: run keepsake audit verify",
		"chain", l.Chain, "sequence", sequence, "reason", reason)
	return nil
}

// lastOf is a checkpoint of the end of a chain; nil for an empty chain.
func (l *Log) lastOf(head Head) *Checkpoint {
	if head.Sequence == 0 {
		return nil
	}
	return l.signed(head, l.Now())
}

// Accept replaces Begin after a restore, which brings back an older log: it sets the records to what the log holds.
func (l *Log) Accept(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	records, err := l.records(ctx)
	if err != nil {
		return err
	}
	heads, err := l.Store.AuditHeads(ctx)
	if err != nil {
		return err
	}
	ends := map[string]Head{l.Chain: {Chain: l.Chain}}
	for chain := range records { // also what began after the backup
		ends[chain] = Head{Chain: chain}
	}
	for _, h := range heads {
		ends[h.Chain] = h
	}
	for chain, head := range ends {
		r := &record{}
		if chain == l.Chain {
			if err := l.adopt(ctx, r, head); err != nil {
				return err
			}
			continue
		}
		r.Last = l.lastOf(head)
		if err := l.saveRecord(ctx, chain, r); err != nil {
			return err
		}
	}
	return nil
}

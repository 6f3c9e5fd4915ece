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
	// Older is the last row that is chained without a key, as older releases did.
	Older int64 `json:"older"`
	// Keyed says that the process of the chain is of a release that chains with the key. Until then it may add rows as older
	// releases do, beside newer ones on the same database.
	Keyed bool `json:"keyed"`
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
// A chain without a record is new, or was written by an older release, which had no records: then its rows so far are accepted
// as they are, once. A chain that should have a record and has none, or contradicts it, was tampered with. The log continues,
// because stopping it would serve the attacker, and the record stays unchanged, so that Verify reports it.
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
		return l.resume(ctx, own, head)
	case len(records) > 0 && head.Sequence == 0, fresh:
		return l.take(ctx, &record{Keyed: true})
	}
	heads, err := l.Store.AuditHeads(ctx)
	if err != nil {
		return err
	}
	missing := l.Keyed || len(heads) == 0
	for _, h := range heads {
		if keyed, err := l.keyed(ctx, h); err != nil {
			return err
		} else if keyed && (h.Chain == l.Chain || len(records) == 0) {
			missing = true
		}
	}
	if missing {
		return l.dispute(ctx, RecordMissing, head.Sequence)
	}
	if len(records) == 0 { // the first start of a release that has records
		for _, h := range heads {
			if h.Chain == l.Chain {
				continue
			}
			if err := l.saveRecord(ctx, h.Chain, &record{Older: h.Sequence, Last: l.signed(h, l.Now())}); err != nil {
				return err
			}
		}
	}
	return l.adopt(ctx, &record{Older: head.Sequence}, head)
}

// resume continues a chain that has a record.
func (l *Log) resume(ctx context.Context, r *record, head Head) error {
	if !r.Keyed { // an older release has added rows since a newer one created the record
		r.Older = head.Sequence
		return l.adopt(ctx, r, head)
	}
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

// adopt continues a chain as it is, with the key of this process.
func (l *Log) adopt(ctx context.Context, r *record, head Head) error {
	r.Keyed, r.Last = true, l.lastOf(head)
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

// keyed reports whether the last row of a chain is chained with the key.
func (l *Log) keyed(ctx context.Context, head Head) (bool, error) {
	rows, err := l.Store.AuditRowsAfter(ctx, head.Chain, head.Sequence-1, 1)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return rows[0].Packed || l.sum(rows[0]) == rows[0].Hash, nil
}

// Accept replaces Begin after a restore, which brings back an older log: it sets the records to what the log holds. Rows count
// as unkeyed if a record says so, or if all rows before them are unkeyed.
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
		r := records[chain]
		if r == nil {
			r = &record{}
			if r.Older, err = l.older(ctx, head); err != nil {
				return err
			}
			r.Keyed = r.Older < head.Sequence
		}
		r.Older, r.Lost = min(r.Older, head.Sequence), nil
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

// older is the last row of a chain before the first one that is chained with the key.
func (l *Log) older(ctx context.Context, head Head) (int64, error) {
	if l.Keyed {
		return 0, nil
	}
	for at := int64(0); ; {
		rows, err := l.Store.AuditRowsAfter(ctx, head.Chain, at, verifyPage)
		if err != nil {
			return 0, err
		}
		for _, r := range rows {
			if r.Packed || l.sum(r) == r.Hash {
				return r.Sequence - 1, nil
			}
			at = r.Sequence
		}
		if len(rows) < verifyPage {
			return head.Sequence, nil
		}
	}
}

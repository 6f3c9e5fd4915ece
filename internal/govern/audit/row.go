package audit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/netip"
	"time"

	"keepsake/internal/base/id"
)

// Hash is the SHA-256 of a row and, through the row before, of everything before it.
type Hash [sha256.Size]byte

// String is h in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return errors.New("a hash must have 64 hexadecimal digits")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Row is an entry at its position in a chain. The first row of a chain has Sequence 1 and a Previous of zeros.
type Row struct {
	ID       string
	Chain    string
	Sequence int64
	At       time.Time // whole milliseconds, as in the API, so that an export has what the hash was computed from

	WorkspaceID string
	Actor       string
	Action      Action
	Target      string
	Outcome     Outcome
	Count       int64
	Details     string // a JSON object of strings, as it was hashed
	Address     netip.Addr
	RequestID   string

	Previous Hash
	Hash     Hash

	// Packed says that this is a read in the form that takes little space. Its ID and half of its hash follow from the rest,
	// and Previous is not stored: readers that have the row before set it.
	Packed bool
}

// Head is the end of a chain.
type Head struct {
	Chain    string
	Sequence int64 // 0 if the chain is empty
	Hash     Hash
}

// Filter selects rows of a list; empty members select all.
type Filter struct {
	WorkspaceID string // rows about the instance belong to no workspace
	Actor       string
	Action      Action
	Target      string
	Changes     bool      // leave out reads of memories
	From, To    time.Time // from inclusive, to exclusive, in whole milliseconds; zero for no bound
	Before      string    // only rows older than the one with this ID
	Limit       int
}

// FirstID is the smallest ID that a row of t or later can have. IDs are ordered by time, so a store finds a time range
// by ID.
func FirstID(t time.Time) string { return id.At(id.Audit, t, zeros{}) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Store stores rows. It changes none, and removes only reads, in RemoveAuditReads.
type Store interface {
	// AuditHead reads where a chain ends. Inside a transaction it locks the chain until the transaction ends.
	AuditHead(ctx context.Context, chain string) (Head, error)
	// AuditHeads reads the ends of all chains, by name.
	AuditHeads(ctx context.Context) ([]Head, error)
	// AuditChains names all chains that have rows or a head. It reads every row.
	AuditChains(ctx context.Context) ([]string, error)
	// AppendAuditRows adds rows behind the head of their chain and moves the head. It joins the transaction of ctx, or runs in
	// one of its own. It returns a *unit.StaleError if the chain ends elsewhere, and outside a transaction also if the outcome
	// is unknown: then the rows are at the end of the chain, or will never be there once other rows are.
	AppendAuditRows(ctx context.Context, rows []*Row) error
	// ListAuditRows reads rows newest first. A packed row has no Previous if the row before it was removed.
	ListAuditRows(ctx context.Context, f Filter) ([]*Row, error)
	// AuditRowsAfter reads up to limit rows of a chain behind a sequence number, in the order of the chain. Packed rows have
	// no Previous.
	AuditRowsAfter(ctx context.Context, chain string, sequence int64, limit int) ([]*Row, error)
	// RemoveAuditReads removes the reads of a chain between two sequence numbers, inclusive.
	RemoveAuditReads(ctx context.Context, chain string, first, last int64) error
	// AuditRecords reads the sealed records of all chains. They are separate from the rows.
	AuditRecords(ctx context.Context) (map[string][]byte, error)
	// SaveAuditRecord replaces the record of a chain, in a transaction of its own.
	SaveAuditRecord(ctx context.Context, chain string, sealed []byte) error
}

// packedHash is the length of a packed row's hash. Zeros follow.
const packedHash = 16

// sum is the hash of r, with a key of the instance, so that write access to the database is not enough to compute one.
func (l *Log) sum(r *Row) Hash {
	h := hmac.New(sha256.New, l.rowKey)
	if !r.Packed {
		return r.sum(h, "keepsake audit row 2", r.ID)
	}
	sum := r.sum(h, "keepsake audit row 3", "")
	clear(sum[packedHash:])
	return sum
}

// packedID is the ID of a packed row: its time, the end of its sequence number, so that IDs of the same millisecond rise
// with the chain, and the start of its hash, which is random to others.
func (r *Row) packedID() string {
	var u id.UUID
	binary.BigEndian.PutUint64(u[:8], uint64(r.At.UnixMilli())<<16|7<<12|uint64(r.Sequence)&0xfff)
	binary.BigEndian.PutUint64(u[8:], binary.BigEndian.Uint64(r.Hash[:8])>>2|2<<62)
	return id.Format(id.Audit, u)
}

// SetID sets the ID of a packed row whose other fields are set. Rows in the order of (At, Sequence modulo 4096, Hash) are
// in the order of their IDs; IDPosition tells where an ID is in it.
func (r *Row) SetID() {
	if r.Packed {
		r.ID = r.packedID()
	}
}

// IDPosition is the place of an ID among packed rows: the time, the end of the sequence number, the start of the hash.
func IDPosition(text string) (at time.Time, sequence int64, hash []byte, ok bool) {
	u, ok := id.Parse(id.Audit, text)
	if !ok {
		return time.Time{}, 0, nil, false
	}
	head := binary.BigEndian.Uint64(u[:8])
	hash = binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(u[8:])<<2)
	return time.UnixMilli(int64(head >> 16)), int64(head & 0xfff), hash, true
}

// sum hashes r with h. Every part is preceded by its length, so that different rows have different input.
func (r *Row) sum(h hash.Hash, form, id string) (sum Hash) {
	part(h, form)
	part(h, r.Chain)
	number(h, r.Sequence)
	h.Write(r.Previous[:])
	part(h, id)
	number(h, r.At.UnixMicro())
	for _, text := range [...]string{
		r.WorkspaceID, r.Actor, string(r.Action), r.Target, string(r.Outcome), r.Details, addressText(r.Address), r.RequestID,
	} {
		part(h, text)
	}
	number(h, r.Count)
	h.Sum(sum[:0])
	return sum
}

// part and number write to hashes and buffers, which never fail.
func part(w io.Writer, text string) {
	number(w, int64(len(text)))
	io.WriteString(w, text)
}

func number(w io.Writer, n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	w.Write(b[:])
}

// addressText is an address as text, empty for none.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

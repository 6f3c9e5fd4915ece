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

	"keepsake/internal/id"
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
		return errors.New("a hash has 64 hexadecimal digits")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Row is an entry in its place in a chain. The first row of a chain has Sequence 1 and a Previous of zeros.
type Row struct {
	ID       string
	Chain    string
	Sequence int64
	At       time.Time // whole milliseconds, as it is shown: whoever has an export can make the hash again

	WorkspaceID string
	Actor       string
	Action      Action
	Target      string
	Outcome     Outcome
	Count       int64
	Details     string // a JSON object of texts, as it was hashed
	Address     netip.Addr
	RequestID   string

	Previous Hash
	Hash     Hash
}

// Head is where a chain ends.
type Head struct {
	Chain    string
	Sequence int64 // 0: it is empty
	Hash     Hash
}

// Filter chooses rows of a list; empty members choose all.
type Filter struct {
	WorkspaceID string // what concerns the instance is in no workspace
	Actor       string
	Action      Action
	Target      string
	From, To    time.Time // from the first on, before the second, in whole milliseconds; zero: no bound
	Before      string    // only rows older than the one of this id
	Limit       int
}

// FirstID is the least id that a row of t or later can have. Ids lie in the order of their times, so a store finds a
// stretch of time without looking at what lies around it.
func FirstID(t time.Time) string { return id.At(id.Audit, t, zeros{}) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Store keeps rows. Nothing of it changes or removes one.
type Store interface {
	// AuditHead reads where a chain ends. Inside a unit of work nobody else moves it until the unit is over.
	AuditHead(ctx context.Context, chain string) (Head, error)
	// AuditHeads reads where all chains end, by name.
	AuditHeads(ctx context.Context) ([]Head, error)
	// AuditChains names all chains that have rows or a head. It looks at every row.
	AuditChains(ctx context.Context) ([]string, error)
	// AppendAuditRows adds rows behind the head of their chain, and moves it. Joins the unit of work of ctx; outside of one it
	// is one by itself. Where the chain ends elsewhere it is a *unit.StaleError, and outside a unit also where nobody knows
	// whether it was written: then it is at the end of the chain, or never will be once other rows are.
	AppendAuditRows(ctx context.Context, rows []*Row) error
	// ListAuditRows reads rows newest first.
	ListAuditRows(ctx context.Context, f Filter) ([]*Row, error)
	// AuditRowsAfter reads up to limit rows of a chain behind a sequence number, in the order of the chain.
	AuditRowsAfter(ctx context.Context, chain string, sequence int64, limit int) ([]*Row, error)
	// AuditRecords reads the sealed records of all chains. They lie apart from the rows.
	AuditRecords(ctx context.Context) (map[string][]byte, error)
	// SaveAuditRecord replaces the record of a chain. It is a unit of work of its own.
	SaveAuditRecord(ctx context.Context, chain string, sealed []byte) error
}

// sum is the hash of r, by a key of the instance: whoever can write the database cannot make one.
func (l *Log) sum(r *Row) Hash { return r.sum(hmac.New(sha256.New, l.rowKey), "keepsake audit row 2") }

// olderSum is the hash of r as older releases made it, which everybody can.
func (r *Row) olderSum() Hash { return r.sum(sha256.New(), "keepsake audit row 1") }

// sum has h hash r. Every part is preceded by its length, so that no two rows read the same.
func (r *Row) sum(h hash.Hash, form string) (sum Hash) {
	part(h, form)
	part(h, r.Chain)
	number(h, r.Sequence)
	h.Write(r.Previous[:])
	part(h, r.ID)
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

package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/netip"
	"time"
)

// Hash is the SHA-256 of a row and, through the row before, of everything before it.
type Hash [sha256.Size]byte

// Row is an entry in its place in a chain. The first row of a chain has Sequence 1 and a Previous of zeros.
type Row struct {
	ID       string
	Chain    string
	Sequence int64
	At       time.Time // whole microseconds

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
	WorkspaceID   string // what concerns the instance is in no workspace
	Actor         string
	Action        Action
	Target        string
	From, Through time.Time // inclusive; zero: no bound
	Before        string    // only rows older than the one of this id
	Limit         int
}

// Store keeps rows. Nothing of it changes or removes one.
type Store interface {
	// AuditHead reads where a chain ends. Inside a unit of work nobody else moves it until the unit is over.
	AuditHead(ctx context.Context, chain string) (Head, error)
	// AuditHeads reads the ends of all chains, by name.
	AuditHeads(ctx context.Context) ([]Head, error)
	// AppendAuditRows adds rows behind the head of their chain, and moves it. Joins the unit of work of ctx.
	AppendAuditRows(ctx context.Context, rows []*Row) error
	// ListAuditRows reads rows newest first.
	ListAuditRows(ctx context.Context, f Filter) ([]*Row, error)
	// AuditRowsAfter reads up to limit rows of a chain behind a sequence number, in the order of the chain.
	AuditRowsAfter(ctx context.Context, chain string, sequence int64, limit int) ([]*Row, error)
}

// sum is the hash of r. Every part is preceded by its length, so that no two rows read the same.
func (r *Row) sum() (sum Hash) {
	h := sha256.New()
	part(h, "keepsake audit row 1")
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

func part(h hash.Hash, text string) {
	number(h, int64(len(text)))
	h.Write([]byte(text))
}

func number(h hash.Hash, n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// addressText is an address as text, empty for none.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
)

// Options configures a Log.
type Options struct {
	Store Store
	Units unit.Runner
	// Chain names the chain that this process writes. Processes that share a database write one each, so that none waits
	// for another's commit.
	Chain string
	// Secret authenticates rows and checkpoints and hashes persons.
	Secret []byte
	// Checkpoints is the path of the file of checkpoints.
	Checkpoints string
	Reads       Reads // how rows of reads are written
	ReadDays    int   // how many days rows of reads are kept; 0 for ever
	// Alone runs fn while no other process of the instance runs one; nil if there is no other process.
	Alone  func(ctx context.Context, fn func(ctx context.Context) error) error
	Away   bool      // the store is remote, so one statement is better than several
	Random io.Reader // for IDs; crypto/rand.Reader except in tests
	Now    func() time.Time
	Log    *slog.Logger
}

// Log is the log of one process. It is safe for concurrent use.
type Log struct {
	Options
	signer     ed25519.PrivateKey
	pseudonyms []byte
	rowKey     []byte
	recordKey  recordKey

	mu       sync.Mutex       // guards the file of checkpoints and the record
	record   *record          // of this process's chain; nil if it must not change
	noted    map[string]int64 // the sequence number of the last checkpoint of each chain
	disputed bool             // the log and its checkpoints contradict each other

	countMu sync.Mutex
	counts  map[counted]occurrences

	gathering gathering // rows of reads with waiting callers
	end       end
	queue     queue // rows of reads without waiting callers

	stats checkpointStats

	verifying sync.Mutex

	removing sync.Mutex      // guards scanned, and is held during RemoveReads
	scanned  map[string]Head // the last row of each chain up to which there is no read to remove
}

var _ Recorder = (*Log)(nil)

// NewLog creates a Log.
func NewLog(o Options) *Log {
	return &Log{
		Options:    o,
		signer:     ed25519.NewKeyFromSeed(derive(o.Secret, "checkpoints", ed25519.SeedSize)),
		pseudonyms: derive(o.Secret, "pseudonyms", sha256.Size),
		rowKey:     derive(o.Secret, "rows", sha256.Size),
		recordKey:  newRecordKey(o.Secret),
		noted:      map[string]int64{},
		counts:     map[counted]occurrences{},
		scanned:    map[string]Head{},
	}
}

// derive derives a key for one purpose from the log's secret.
func derive(secret []byte, purpose string, size int) []byte {
	key, err := hkdf.Expand(sha256.New, secret, "keepsake audit "+purpose, size)
	if err != nil {
		panic("audit: " + err.Error()) // only for a size out of range
	}
	return key
}

// Pseudonym is a keyed hash of a person's name, which the log must not hold. It is the same for the same name, and useless
// without the instance's secret. kind says what the name is: email:7R2k….
func (l *Log) Pseudonym(kind, name string) string {
	h := hmac.New(sha256.New, l.pseudonyms)
	part(h, kind)
	part(h, name)
	return kind + ":" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// Record implements Recorder.
func (l *Log) Record(ctx context.Context, e Entry) error {
	r, err := l.row(ctx, e)
	if err != nil {
		return err
	}
	return l.append(ctx, []*Row{r})
}

// append adds rows to the transaction of ctx, or to one of their own.
func (l *Log) append(ctx context.Context, rows []*Row) error {
	return l.Units.Run(ctx, func(ctx context.Context) error {
		waiting := unit.Local(ctx, l, func() *[]*Row { return new([]*Row) })
		*waiting = append(*waiting, rows...)
		unit.BeforeCommit(ctx, "audit "+l.Chain, func(ctx context.Context) error { return l.link(ctx, *waiting) })
		return nil
	})
}

// link numbers and hashes rows. It runs shortly before the commit, so that the chain is locked only briefly.
func (l *Log) link(ctx context.Context, rows []*Row) error {
	turn := l.end.begin()
	head, err := l.Store.AuditHead(ctx, l.Chain)
	if err != nil {
		return unwritten(err)
	}
	return l.linkTo(ctx, turn, head, rows)
}

// linkTo numbers and hashes rows after head, which belongs to a turn of end.
func (l *Log) linkTo(ctx context.Context, turn int64, head Head, rows []*Row) error {
	for _, r := range rows {
		r.Sequence, r.Previous = head.Sequence+1, head.Hash
		r.Hash = l.sum(r)
		r.SetID()
		head.Sequence, head.Hash = r.Sequence, r.Hash
	}
	if err := l.Store.AppendAuditRows(ctx, rows); err != nil {
		return unwritten(err)
	}
	unit.AfterCommit(ctx, func() { l.end.settle(turn, head) })
	return nil
}

// unwritten returns the error of rows that cannot be written: a change or read that cannot be logged must not happen.
// It wraps the cause for the engine.
func unwritten(err error) error {
	if _, known := problem.As(err); err == nil || known {
		return err
	}
	return problem.NotAvailable("The audit log is unavailable, so the request was refused.", time.Second).Because(err)
}

// row returns the row of e with the source of ctx, without number and hash.
func (l *Log) row(ctx context.Context, e Entry) (*Row, error) {
	if err := e.checkMemories(); err != nil {
		return nil, err
	}
	at := e.At
	if at.IsZero() {
		at = l.Now()
	}
	source, _ := ctx.Value(SourceKey).(Source)
	r := &Row{
		Chain: l.Chain, Packed: e.Action.IsRead(), At: at.UTC().Truncate(time.Millisecond),
		WorkspaceID: e.WorkspaceID, Actor: e.Actor, Action: e.Action, Target: e.Target, Outcome: e.Outcome, Count: e.Count,
		Details: "{}", Address: e.Address, RequestID: e.RequestID,
	}
	if !r.Packed { // the ID of a packed row follows from its hash
		r.ID = id.At(id.Audit, at, l.Random)
	}
	if r.Outcome == "" {
		r.Outcome = Done
	}
	if r.Count == 0 {
		r.Count = 1
	}
	if !r.Address.IsValid() {
		r.Address = source.Address
	}
	if r.RequestID == "" {
		r.RequestID = source.RequestID
	}
	if len(e.Details) > 0 {
		text, err := json.Marshal(e.Details) // names in order
		if err != nil {
			return nil, fmt.Errorf("encode the details of %s: %w", e.Action, err)
		}
		r.Details = string(text)
	}
	return r, nil
}

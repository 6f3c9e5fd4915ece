package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
)

// SubjectEraser erases subjects in steps, each on stable storage before the next: begin ends the subject's generation, so
// that its rows are not read any more; then finish destroys the data key and removes the rows. The same request or the
// Sweeper resumes an erasure that was interrupted. If the Sweeper finishes it, the erasure stays stored until the same
// request comes for the receipt, or for receiptLife.
type SubjectEraser struct {
	store interface {
		subjectStore
		subjectLocker
		countStore
		planStore
		erasureStore
	}
	units   unit.Runner
	keys    Keys
	lookup  Lookup
	rows    *rowEraser
	log     accessLog
	events  event.Recorder
	journal Journal
	caches  *Caches
	sign    func(payload []byte) (string, error)
	dropKey func(ctx context.Context, workspaceID string, subject Hash) error
	now     clock
	random  io.Reader
}

// receiptLife is how long the receipt of an erasure that the Sweeper finished can be requested.
const receiptLife = 30 * 24 * time.Hour

// erasureStore stores erasures of subjects until their receipts are signed.
type erasureStore interface {
	// BeginErasure adds an erasure.
	BeginErasure(ctx context.Context, e *Erasure) error
	// Erasures lists the erasures of all workspaces in the order in which they began.
	Erasures(ctx context.Context) ([]*Erasure, error)
	// EraseDeadMemories removes at most limit memories of an erasure with their older revisions, adds tombstones without a
	// subject, and removes the subject from lists. If did is less than limit, no memory is left.
	EraseDeadMemories(ctx context.Context, e *Erasure, limit int, at time.Time) (did int, err error)
	// FinishErasure sets Change to 0 and BeganAt, if the erasure is still stored.
	FinishErasure(ctx context.Context, e *Erasure, at time.Time) error
	// EndErasure removes an erasure and earlier ones of the same subject.
	EndErasure(ctx context.Context, e *Erasure) error
}

// Erasure is an erasure of a subject.
type Erasure struct {
	ID          string
	WorkspaceID string
	Subject     Hash
	Generation  int64     // the last erased generation
	Change      int64     // the subject's last change in that generation, at least 1; 0 if the erasure is finished
	Memories    int64     // that the subject had
	BeganAt     time.Time // if the erasure is finished, the time at which the key was destroyed
}

func (e *Erasure) finished() bool { return e.Change == 0 }

// Receipt proves that a subject was erased.
type Receipt struct {
	ID               string // rcp_…
	Memories         int64
	ErasedAt         time.Time
	KeyBackupsBefore time.Time // backups of keys that are older can still decrypt older data; equal to ErasedAt, when the key was destroyed
	Signature        string    // compact JWS over the other fields and the workspace's ID
}

var errUnfinished = problem.NotAvailable(
	"The subject cannot be read any more, but its erasure is not finished; it continues in the background. Send the request again for the receipt.", 5*time.Second)

// Erase destroys a subject's data key and removes its memories. It must not be called in a transaction, because the
// key does not come back if the transaction fails.
func (e *SubjectEraser) Erase(ctx context.Context, p *auth.Principal, name string) (*Receipt, error) {
	if unit.Running(ctx) {
		return nil, errors.New("memory: a subject cannot be erased in a transaction")
	}
	name, err := subjectNamed(p, name)
	if err != nil {
		return nil, err
	}
	if p.AgentID != "" { // it cannot see the memories of other agents, which would be erased, too
		return nil, problem.Missing()
	}
	erasure, err := e.begin(ctx, p, name, e.lookup.Subject(p.WorkspaceID, name))
	if err != nil {
		return nil, fmt.Errorf("erase subject: %w", err)
	}
	ctx, cancel := withoutClient(ctx)
	defer cancel()
	destroyed := erasure.BeganAt
	if !erasure.finished() {
		if destroyed, err = e.finish(ctx, erasure); err != nil {
			return nil, errUnfinished.Because(err)
		}
	}
	receipt, err := e.receipt(p.WorkspaceID, erasure, destroyed)
	if err != nil {
		return nil, err
	}
	err = e.units.Run(ctx, func(ctx context.Context) error {
		if err := e.erased(ctx, erasure, destroyed); err != nil {
			return err
		}
		return e.store.EndErasure(ctx, erasure)
	})
	if err != nil {
		return nil, errUnfinished.Because(fmt.Errorf("end an erasure: %w", err))
	}
	return receipt, nil
}

// eraseTime is how long an erasure lasts at most that no request limits.
const eraseTime = 30 * time.Second

// withoutClient returns a context that does not end with the client of a request, but at the request's deadline. What is not done
// by then, the Sweeper completes.
func withoutClient(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), eraseTime)
}

// begin ends the generation of a subject. If the subject has been erased, it returns the erasure whose receipt was not sent.
func (e *SubjectEraser) begin(ctx context.Context, p *auth.Principal, name string, subject Hash) (erasure *Erasure, err error) {
	row, err := e.store.MemorySubject(ctx, p.WorkspaceID, subject)
	if err != nil {
		return nil, err
	}
	if row == nil || len(row.SealedID) == 0 {
		return e.stored(ctx, p.WorkspaceID, subject)
	}
	err = e.units.Run(ctx, func(ctx context.Context) error {
		row, err := e.rows.lock(ctx, p.WorkspaceID, subject)
		if err != nil {
			return err
		}
		if len(row.SealedID) == 0 { // another request has begun the erasure since
			erasure, err = e.stored(ctx, p.WorkspaceID, subject)
			return err
		}
		now := e.now.stored()
		erasure = &Erasure{
			ID: id.At("ers", now, e.random), WorkspaceID: p.WorkspaceID, Subject: subject, Generation: row.Generation,
			Change: row.Change, Memories: row.Memories, BeganAt: now,
		}
		if err := e.endGeneration(ctx, row, erasure); err != nil {
			return err
		}
		entry := e.log.entry(p, audit.SubjectErased, name, nil)
		entry.Count, entry.Details = erasure.Memories, map[string]string{
			audit.Memories: strconv.FormatInt(erasure.Memories, 10), audit.ReceiptID: erasure.receiptID(),
		}
		if err := e.log.record(ctx, entry); err != nil {
			return err
		}
		return e.journal.SubjectErased(ctx, p.WorkspaceID, subject, erasure.Generation, now)
	})
	return erasure, err
}

// stored returns the last stored erasure of a subject, or problem.Missing.
func (e *SubjectEraser) stored(ctx context.Context, workspaceID string, subject Hash) (*Erasure, error) {
	all, err := e.store.Erasures(ctx)
	if err != nil {
		return nil, err
	}
	for _, erasure := range slices.Backward(all) {
		if erasure.WorkspaceID == workspaceID && erasure.Subject == subject {
			return erasure, nil
		}
	}
	return nil, problem.Missing()
}

// endGeneration begins the next generation of a subject whose row is locked.
func (e *SubjectEraser) endGeneration(ctx context.Context, row *SubjectRow, erasure *Erasure) error {
	row.Generation++
	row.Change++
	row.SealedID, row.Memories, row.Bytes = nil, 0, 0
	row.UpdatedAt, row.ErasedAt = erasure.BeganAt, &erasure.BeganAt
	if err := e.store.SaveMemorySubjects(ctx, erasure.WorkspaceID, []*SubjectRow{row}); err != nil {
		return err
	}
	if err := e.store.BeginErasure(ctx, erasure); err != nil {
		return err
	}
	if erasure.Memories > 0 { // before the plans, which lock the count of bytes
		if err := e.store.AddMemoryCount(ctx, erasure.WorkspaceID, -erasure.Memories); err != nil {
			return err
		}
	}
	return e.store.DeleteMemoryPlans(ctx, erasure.WorkspaceID, erasure.Subject, erasure.Generation)
}

// finish destroys the data key and removes the rows of an erasure, and returns when the key was destroyed. It can run
// several times, also concurrently.
func (e *SubjectEraser) finish(ctx context.Context, erasure *Erasure) (destroyed time.Time, err error) {
	if err := e.keys.Destroy(ctx, erasure.WorkspaceID, erasure.Subject, erasure.Generation); err != nil {
		return destroyed, fmt.Errorf("destroy a data key: %w", err)
	}
	e.caches.DropSubject(erasure.WorkspaceID, erasure.Subject)
	if e.dropKey != nil {
		if err := e.dropKey(ctx, erasure.WorkspaceID, erasure.Subject); err != nil {
			return destroyed, fmt.Errorf("remove a data key from other processes: %w", err)
		}
	}
	destroyed = e.now.stored()
	for left := true; left; {
		err := e.units.Run(ctx, func(ctx context.Context) error {
			n, err := e.store.EraseDeadMemories(ctx, erasure, eraseChunk, e.now.stored())
			left = n == eraseChunk
			return err
		})
		if err != nil {
			return destroyed, fmt.Errorf("remove the rows of an erased subject: %w", err)
		}
	}
	return destroyed, nil
}

// resume finishes erasures that began before begunBefore, and removes those that were finished more than receiptLife ago.
func (e *SubjectEraser) resume(ctx context.Context, begunBefore time.Time) error {
	all, err := e.store.Erasures(ctx)
	if err != nil {
		return fmt.Errorf("list erasures: %w", err)
	}
	var errs []error
	for _, erasure := range all {
		if err := e.resumeOne(ctx, erasure, begunBefore); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (e *SubjectEraser) resumeOne(ctx context.Context, erasure *Erasure, begunBefore time.Time) error {
	switch {
	case erasure.finished():
		if e.now().Before(erasure.BeganAt.Add(receiptLife)) {
			return nil
		}
		return e.units.Run(ctx, func(ctx context.Context) error { return e.store.EndErasure(ctx, erasure) })
	case erasure.BeganAt.After(begunBefore):
		return nil
	}
	destroyed, err := e.finish(ctx, erasure)
	if err != nil {
		return err
	}
	return e.units.Run(ctx, func(ctx context.Context) error {
		if err := e.erased(ctx, erasure, destroyed); err != nil {
			return err
		}
		return e.store.FinishErasure(ctx, erasure, destroyed)
	})
}

// receiptPayload is the signed payload of a receipt.
type receiptPayload struct {
	ReceiptID        string `json:"receiptId"`
	WorkspaceID      string `json:"workspaceId"`
	Memories         int64  `json:"memories"`
	ErasedAt         string `json:"erasedAt"`
	LiveKeyDestroyed bool   `json:"liveKeyDestroyed"`
	KeyBackupsBefore string `json:"keyBackupsBefore"`
}

const timeFormat = "2006-01-02T15:04:05.000Z"

func (e *SubjectEraser) receipt(workspaceID string, erasure *Erasure, destroyed time.Time) (*Receipt, error) {
	r := &Receipt{
		ID: erasure.receiptID(), Memories: erasure.Memories, ErasedAt: destroyed, KeyBackupsBefore: destroyed,
	}
	payload, err := json.Marshal(receiptPayload{
		ReceiptID: r.ID, WorkspaceID: workspaceID, Memories: r.Memories, ErasedAt: r.ErasedAt.Format(timeFormat),
		LiveKeyDestroyed: true, KeyBackupsBefore: r.KeyBackupsBefore.Format(timeFormat),
	})
	if err != nil {
		return nil, fmt.Errorf("encode a receipt: %w", err)
	}
	if r.Signature, err = e.sign(payload); err != nil {
		return nil, fmt.Errorf("sign a receipt: %w", err)
	}
	return r, nil
}

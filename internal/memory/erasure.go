package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/problem"
)

// Erasing a person goes in steps, each on stable storage before the next. First the generation ends: nobody reads its rows
// any more, and whoever writes takes the next one. Then its key is destroyed, and the rows are noise. Then they go, too. What
// is cut off is carried on with by whoever comes next: the same request, or the sweeper.

// EraseSubject destroys a subject's data key and removes what was sealed under it.
func (s *Service) EraseSubject(ctx context.Context, p *auth.Principal, name string) (*Receipt, error) {
	name, err := subjectNamed(p, name)
	if err != nil {
		return nil, err
	}
	if p.AgentID != "" { // the memories of others are not there for it, and could not stay
		return nil, problem.Missing()
	}
	subject := s.o.Lookup.Subject(p.WorkspaceID, name)
	e, err := s.beginErasure(ctx, p, name, subject)
	if err != nil {
		return nil, fmt.Errorf("erase subject: %w", err)
	}
	destroyed, err := s.finishErasure(context.WithoutCancel(ctx), e)
	if err != nil {
		return nil, errUnfinished.Because(err)
	}
	return s.receipt(p.WorkspaceID, e, destroyed)
}

var errUnfinished = problem.NotAvailable(
	"The subject cannot be read any more; the erasure has not come to its end and is carried on with. Send the request again for the receipt.", 5*time.Second)

// beginErasure ends the generation of a subject, or finds the erasure that has done so and did not come to its end.
func (s *Service) beginErasure(ctx context.Context, p *auth.Principal, name string, subject Hash) (e *Erasure, err error) {
	row, err := s.o.Store.MemorySubject(ctx, p.WorkspaceID, subject)
	if err != nil {
		return nil, err
	}
	if row == nil || len(row.SealedID) == 0 {
		return s.underWay(ctx, p.WorkspaceID, subject)
	}
	err = s.o.Units.Run(ctx, func(ctx context.Context) error {
		row, err := s.hold(ctx, p.WorkspaceID, subject)
		if err != nil {
			return err
		}
		if len(row.SealedID) == 0 {
			return problem.Missing()
		}
		now := s.now()
		e = &Erasure{
			ID: id.At("ers", now, s.o.Random), WorkspaceID: p.WorkspaceID, Subject: subject, Generation: row.Generation,
			Change: row.Change, Memories: row.Memories, BeganAt: now,
		}
		if err := s.endGeneration(ctx, row, e); err != nil {
			return err
		}
		entry := s.entry(p, audit.SubjectErased, name, nil)
		entry.Count, entry.Details = e.Memories, map[string]string{audit.Memories: strconv.FormatInt(e.Memories, 10)}
		if err := s.o.Audit.Record(ctx, entry); err != nil {
			return err
		}
		return s.o.Journal.SubjectErased(ctx, p.WorkspaceID, subject, e.Generation, now)
	})
	return e, err
}

// endGeneration begins the next generation of a subject, whose row the unit holds.
func (s *Service) endGeneration(ctx context.Context, row *Subject, e *Erasure) error {
	memories := row.Memories
	row.Generation++
	row.Change++
	row.SealedID, row.Memories, row.Bytes = nil, 0, 0
	row.UpdatedAt, row.ErasedAt = e.BeganAt, &e.BeganAt
	if err := s.o.Store.SaveMemorySubjects(ctx, e.WorkspaceID, []*Subject{row}); err != nil {
		return err
	}
	if err := s.o.Store.BeginErasure(ctx, e); err != nil {
		return err
	}
	if memories > 0 { // before rows that count as stored bytes, as a write does
		if err := s.o.Store.AddMemoryCount(ctx, e.WorkspaceID, -memories); err != nil {
			return err
		}
	}
	return s.o.Store.DropMemoryPlans(ctx, e.WorkspaceID, e.Subject, e.Generation)
}

// underWay finds an erasure of a subject that was cut off; problem.Missing where there is none.
func (s *Service) underWay(ctx context.Context, workspaceID string, subject Hash) (*Erasure, error) {
	all, err := s.o.Store.Erasures(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.WorkspaceID == workspaceID && e.Subject == subject {
			return e, nil
		}
	}
	return nil, problem.Missing()
}

// finishErasure does what is left of an erasure, and says when the key was destroyed. It may be done twice, also at once.
func (s *Service) finishErasure(ctx context.Context, e *Erasure) (destroyed time.Time, err error) {
	if err := s.o.Keys.Destroy(ctx, e.WorkspaceID, e.Subject, e.Generation); err != nil {
		return destroyed, fmt.Errorf("destroy a data key: %w", err)
	}
	s.ForgetSubject(e.WorkspaceID, e.Subject)
	if s.o.Dropped != nil {
		if err := s.o.Dropped(ctx, e.WorkspaceID, e.Subject); err != nil {
			return destroyed, fmt.Errorf("have a data key dropped: %w", err)
		}
	}
	destroyed = s.now()
	if s.o.Erased != nil {
		s.o.Erased(e.WorkspaceID, e.Subject, e.Generation)
	}
	for left := true; left; {
		err := s.o.Units.Run(ctx, func(ctx context.Context) error {
			n, err := s.o.Store.EraseDeadMemories(ctx, e, eraseAtOnce, s.now())
			left = n == eraseAtOnce
			return err
		})
		if err != nil {
			return destroyed, fmt.Errorf("remove the rows of an erased subject: %w", err)
		}
	}
	err = s.o.Units.Run(ctx, func(ctx context.Context) error { return s.o.Store.EndErasure(ctx, e) })
	if err != nil {
		return destroyed, fmt.Errorf("end an erasure: %w", err)
	}
	return destroyed, nil
}

// signed is what a receipt's signature is over.
type signed struct {
	ReceiptID        string `json:"receiptId"`
	WorkspaceID      string `json:"workspaceId"`
	Memories         int64  `json:"memories"`
	ErasedAt         string `json:"erasedAt"`
	LiveKeyDestroyed bool   `json:"liveKeyDestroyed"`
	KeyBackupsBefore string `json:"keyBackupsBefore"`
}

const timeFormat = "2006-01-02T15:04:05.000Z"

func (s *Service) receipt(workspaceID string, e *Erasure, destroyed time.Time) (*Receipt, error) {
	r := &Receipt{
		ID: id.At("rcp", destroyed, s.o.Random), Memories: e.Memories, ErasedAt: destroyed, KeyBackupsBefore: destroyed,
	}
	payload, err := json.Marshal(signed{
		ReceiptID: r.ID, WorkspaceID: workspaceID, Memories: r.Memories, ErasedAt: r.ErasedAt.Format(timeFormat),
		LiveKeyDestroyed: true, KeyBackupsBefore: r.KeyBackupsBefore.Format(timeFormat),
	})
	if err != nil {
		return nil, fmt.Errorf("encode a receipt: %w", err)
	}
	if r.Signature, err = s.o.Sign(payload); err != nil {
		return nil, fmt.Errorf("sign a receipt: %w", err)
	}
	return r, nil
}

package v1

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"keepsake/internal/base/page"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/web/endpoint"
)

// AddSubjects declares the operations on subjects: lists, access logs and erasure.
func AddSubjects(r *endpoint.Registry, subjects *memory.SubjectReader, eraser *memory.SubjectEraser, cursors *page.Sealer) {
	list := memoryOperation("listSubjects", "GET", "/subjects", "List subjects, newest first", auth.MemoryRead)
	list.Description = "A subject is listed as soon as it has a memory, and no longer after it was erased. An API key that is bound to a subject sees only that one."
	endpoint.Add(r, list, func(ctx context.Context, in *listSubjects) (*subjectList, error) {
		return in.list(ctx, subjects, cursors)
	})

	get := memoryOperation("getSubject", "GET", "/subjects/{subjectId}", "Get statistics of a subject", auth.MemoryRead)
	get.Description = "The response contains numbers and times, and no text of a memory. An unknown or erased subject is 404."
	endpoint.Add(r, get, func(ctx context.Context, in *namedSubject) (*oneSubject, error) {
		person, err := subjects.Subject(ctx, auth.From(ctx), in.SubjectID)
		if err != nil {
			return nil, err
		}
		return &oneSubject{Body: viewOfSubject(person)}, nil
	})

	erase := memoryOperation("eraseSubject", "DELETE", "/subjects/{subjectId}", "Erase a subject", auth.MemoryWrite)
	erase.Description = "The operation first destroys the subject's data key, then everything that was encrypted with it, and returns a signed " +
		"receipt. It cannot be undone. Backups of keys from before keyBackupsBefore can still decrypt older backups of data."
	erase.Class = endpoint.Batch
	endpoint.Add(r, erase, func(ctx context.Context, in *namedSubject) (*receiptAnswer, error) {
		receipt, err := eraser.Erase(ctx, auth.From(ctx), in.SubjectID)
		if err != nil {
			return nil, err
		}
		return &receiptAnswer{Body: viewOfReceipt(receipt)}, nil
	})

	accesses := memoryOperation("listSubjectAccesses", "GET", "/subjects/{subjectId}/access-log",
		"List accesses to a subject's memories, newest first", auth.MemoryRead)
	accesses.Description = "The log says who read or changed which memories, when and from which address. It contains no text of a memory."
	endpoint.Add(r, accesses, func(ctx context.Context, in *listAccesses) (*accessList, error) {
		return in.list(ctx, subjects, cursors)
	})
}

type namedSubject struct {
	SubjectID string `path:"subjectId" doc:"The ID of the subject."`
}

type listSubjects struct{ pageQuery }

type subjectView struct {
	SubjectID string     `json:"subjectId" doc:"The ID of the subject, as the client chose it."`
	Memories  int64      `json:"memories" doc:"The number of the subject's memories."`
	Bytes     int64      `json:"bytes" doc:"The number of bytes of the texts of the subject's memories."`
	FirstAt   *wire.Time `json:"firstAt" doc:"The earliest time of a memory, which is its occurredAt or, without it, its createdAt. It is null without memories."`
	LastAt    *wire.Time `json:"lastAt" doc:"The latest time of a memory, which is its occurredAt or, without it, its createdAt. It is null without memories."`
	CreatedAt wire.Time  `json:"createdAt" doc:"The time at which the first memory was stored."`
	UpdatedAt wire.Time  `json:"updatedAt" doc:"The time at which a memory last changed."`
}

func viewOfSubject(p *memory.Subject) subjectView {
	return subjectView{
		SubjectID: p.SubjectID, Memories: p.Memories, Bytes: p.Bytes, FirstAt: wire.ChosenOrNull(p.FirstAt), LastAt: wire.ChosenOrNull(p.LastAt),
		CreatedAt: wire.At(p.CreatedAt), UpdatedAt: wire.At(p.UpdatedAt),
	}
}

type oneSubject struct {
	Body subjectView
}

type subjectList struct {
	Body struct {
		Items      []subjectView `json:"items"`
		NextCursor *string       `json:"nextCursor"`
	}
}

func (in *listSubjects) list(ctx context.Context, subjects *memory.SubjectReader, cursors *page.Sealer) (*subjectList, error) {
	p := auth.From(ctx)
	scope := page.Scope(p.WorkspaceID, "listSubjects", p.SubjectID, p.AgentID)
	found, next, err := readPage(in.pageQuery, cursors, scope, func(after *memory.SubjectPosition) ([]*memory.Subject, *memory.SubjectPosition, error) {
		return subjects.Subjects(ctx, p, after, in.Limit)
	})
	if err != nil {
		return nil, err
	}
	out := &subjectList{}
	out.Body.NextCursor = next
	out.Body.Items = make([]subjectView, len(found))
	for i, person := range found {
		out.Body.Items[i] = viewOfSubject(person)
	}
	return out, nil
}

type receiptAnswer struct {
	Body receiptView
}

type receiptView struct {
	ReceiptID        string    `json:"receiptId" doc:"The ID of the receipt, which also is in the event subject.erased." example:"rcp_01kakakakafkhvayayayayayay"`
	Memories         int64     `json:"memories" doc:"The number of memories that were erased."`
	ErasedAt         wire.Time `json:"erasedAt" doc:"The time at which the subject was erased."`
	LiveKeyDestroyed bool      `json:"liveKeyDestroyed" doc:"Whether the data key was destroyed on this instance."`
	KeyBackupsBefore wire.Time `json:"keyBackupsBefore" doc:"The time before which backups of keys still contain the destroyed key. With such a backup, older backups of data remain readable."`
	Signature        string    `json:"signature" doc:"A compact JWS (EdDSA) over the other fields and the ID of the workspace, signed by a key in /.well-known/jwks.json."`
}

func viewOfReceipt(r *memory.Receipt) receiptView {
	return receiptView{
		ReceiptID: r.ID, Memories: r.Memories, ErasedAt: wire.At(r.ErasedAt), LiveKeyDestroyed: true,
		KeyBackupsBefore: wire.At(r.KeyBackupsBefore), Signature: r.Signature,
	}
}

type listAccesses struct {
	SubjectID string `path:"subjectId" doc:"The ID of the subject."`
	pageQuery
}

type accessView struct {
	ID        string    `json:"id" doc:"The ID of the entry, which begins with aud_." example:"aud_01kakakakafkhvayayayayayay"`
	At        wire.Time `json:"at" doc:"The time of the access."`
	Action    string    `json:"action" doc:"The action, such as memory.read, memory.recalled or memory.created." example:"memory.recalled"`
	Actor     *string   `json:"actor" doc:"The ID of the key or user that acted, or local. It is null if the actor is unknown."`
	Outcome   string    `json:"outcome" enum:"done,refused,failed" doc:"Whether the action was done, was refused, or failed."`
	MemoryIDs []string  `json:"memoryIds" doc:"The IDs of the memories that were read or changed."`
	Count     int64     `json:"count" doc:"The number of memories that were read or changed, even if memoryIds does not list all of them."`
	RequestID *string   `json:"requestId" doc:"The ID of the request, as in X-Request-Id. It is null if the action has no request."`
	Address   *string   `json:"address" doc:"The IP address of the client. It is null if there is none."`
}

type accessList struct {
	Body struct {
		Items      []accessView `json:"items"`
		NextCursor *string      `json:"nextCursor"`
	}
}

func (in *listAccesses) list(ctx context.Context, subjects *memory.SubjectReader, cursors *page.Sealer) (*accessList, error) {
	p := auth.From(ctx)
	scope := page.Scope(p.WorkspaceID, "listSubjectAccesses", p.SubjectID, p.AgentID, in.SubjectID)
	rows, next, err := readPage(in.pageQuery, cursors, scope, func(after *idPosition) ([]*audit.Row, *idPosition, error) {
		before := ""
		if after != nil {
			before = after.ID
		}
		rows, more, err := subjects.AccessLog(ctx, p, in.SubjectID, before, in.Limit)
		return rows, lastOf(rows, more, func(r *audit.Row) idPosition { return idPosition{r.ID} }), err
	})
	if err != nil {
		return nil, err
	}
	out := &accessList{}
	out.Body.NextCursor = next
	out.Body.Items = make([]accessView, len(rows))
	for i, row := range rows {
		if out.Body.Items[i], err = viewOfAccess(row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func viewOfAccess(r *audit.Row) (accessView, error) {
	v := accessView{
		ID: r.ID, At: wire.At(r.At), Action: string(r.Action), Actor: textOrNull(r.Actor), Outcome: string(r.Outcome),
		RequestID: textOrNull(r.RequestID),
	}
	var details map[string]string
	if err := json.Unmarshal([]byte(r.Details), &details); err != nil {
		return v, fmt.Errorf("audit row %s: decode its details: %w", r.ID, err)
	}
	v.MemoryIDs = audit.SplitMemoryIDs(details[audit.MemoryIDs])
	if v.Count = int64(len(v.MemoryIDs)); v.Count > 1 { // an entry about no memory also counts once
		v.Count = max(v.Count, r.Count)
	}
	if n, ok := details[audit.Memories]; ok { // as in the receipt, also if there is none
		var err error
		if v.Count, err = strconv.ParseInt(n, 10, 64); err != nil {
			return v, fmt.Errorf("audit row %s: read how many memories: %w", r.ID, err)
		}
	}
	if r.Address.IsValid() {
		v.Address = textOrNull(r.Address.String())
	}
	return v, nil
}

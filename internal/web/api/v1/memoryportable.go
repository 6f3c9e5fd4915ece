package v1

import (
	"context"
	"errors"
	"io"

	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/web/endpoint"
)

// AddPortableMemories declares the export and import of a subject's memories with their history.
func AddPortableMemories(r *endpoint.Registry, exporter *memory.Exporter, importer *memory.Importer) {
	export := memoryOperation("exportSubject", "GET", "/subjects/{subjectId}/export", "Export the memories of a subject", auth.MemoryRead)
	export.Class = endpoint.Stream
	export.Description = "Each line is a memory with its older revisions, oldest memory first. This is the format of importMemories, on this " +
		"instance or another one. An export of imported memories has the same bytes, except for importedBy."
	endpoint.Add(r, export, func(ctx context.Context, in *namedSubject) (*exportedSubject, error) {
		found, err := exporter.Export(ctx, auth.From(ctx), in.SubjectID)
		if err != nil {
			return nil, err
		}
		return &exportedSubject{Lines: func(yield func(*portableView, error) bool) {
			for m, err := range found {
				var view *portableView
				if err == nil {
					view = viewOfPortable(m)
				}
				if !yield(view, err) {
					return
				}
			}
		}}, nil
	})

	load := memoryOperation("importMemories", "POST", "/import", "Import memories from lines of JSON", auth.MemoryWrite)
	load.Class, load.Media, load.Idempotent = endpoint.Stream, endpoint.MediaLines, true
	load.Lines = []string{
		`{"subjectId":"p-4711","text":"Prefers tea to coffee.","kind":"preference"}`,
		`{"subjectId":"p-4711","text":"Moved to Bergen.","kind":"event","occurredAt":"2026-03-02T09:30:00Z"}`,
	}
	load.Description = "Each line is a memory in the format of createMemory. It can also have an ID and, as in an export, its own times, " +
		"authors, revision and history. They are taken from users and from keys that are not bound to a subject or an agent; lines of " +
		"other keys are imported without them. importedBy of the memory is the credential of the import. " +
		"A memory whose ID exists is replaced, unless it is equal. An invalid line does not " +
		"affect the others, and neither does a line whose memory was erased. If the request has an Idempotency-Key, every line " +
		"must have an ID."
	decoder := endpoint.NewDecoder[portableMemory]()
	endpoint.Add(r, load, func(ctx context.Context, in *importMemories) (*importedMemories, error) {
		imported, err := importer.Import(ctx, auth.From(ctx), memoryLines(in.Stream, decoder), in.IdempotencyKey != "")
		if err != nil {
			return nil, err
		}
		return viewOfImported(&imported), nil
	})
}

// revisionView is a revision of a memory in an export.
type revisionView struct {
	memoryFields
	UpdatedAt wire.Time `json:"updatedAt" doc:"The time at which this revision was created."`
	UpdatedBy string    `json:"updatedBy" doc:"The ID of the key or user that created this revision, or local."`
	Revision  int64     `json:"revision"`
}

type portableView struct {
	ID         string    `json:"id" doc:"The ID of the memory, which an import keeps."`
	SubjectID  string    `json:"subjectId" doc:"The ID of the subject that the memory is about."`
	AgentID    *string   `json:"agentId" doc:"The ID of the agent that the memory belongs to. It is null if there is none."`
	SessionID  *string   `json:"sessionId" doc:"The ID of the conversation that the memory comes from. It is null if there is none."`
	CreatedAt  wire.Time `json:"createdAt"`
	CreatedBy  string    `json:"createdBy" doc:"The ID of the key or user that stored the memory first, or local."`
	ImportedBy *string   `json:"importedBy" doc:"The ID of the key or user whose import the memory comes from. It is null if the memory was not imported."`
	revisionView
	History []revisionView `json:"history" doc:"The older revisions of the memory, oldest first."`
}

type exportedSubject struct {
	Lines endpoint.Sequence[portableView]
}

func viewOfRevision(m *memory.Memory) revisionView {
	return revisionView{memoryFields: fieldsOfMemory(m), UpdatedAt: wire.At(m.UpdatedAt), UpdatedBy: m.UpdatedBy, Revision: m.Revision}
}

func viewOfPortable(p *memory.Portable) *portableView {
	m := p.Memory
	v := &portableView{
		ID: m.ID, SubjectID: m.SubjectID, AgentID: textOrNull(m.AgentID), SessionID: textOrNull(m.SessionID), CreatedAt: wire.At(m.CreatedAt),
		CreatedBy: m.CreatedBy, ImportedBy: textOrNull(m.ImportedBy), revisionView: viewOfRevision(m), History: make([]revisionView, len(p.History)),
	}
	for i, older := range p.History {
		v.History[i] = viewOfRevision(older)
	}
	return v
}

type importMemories struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"A key that makes the import safe to retry. Every line must then have an ID."`
	Stream         io.Reader
}

// revision is a revision of a memory in a line of an import.
type revision struct {
	memoryInput
	UpdatedAt *wire.Time `json:"updatedAt"`
	UpdatedBy *string    `json:"updatedBy" minLength:"1" maxLength:"64"`
	Revision  *int64     `json:"revision" minimum:"1"`
}

// portableMemory is a line of an import.
type portableMemory struct {
	ID         *string    `json:"id" maxLength:"64"`
	SubjectID  *string    `json:"subjectId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$"`
	AgentID    *string    `json:"agentId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$"`
	SessionID  *string    `json:"sessionId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$"`
	CreatedAt  *wire.Time `json:"createdAt"`
	CreatedBy  *string    `json:"createdBy" minLength:"1" maxLength:"64"`
	ImportedBy *string    `json:"importedBy" maxLength:"64" doc:"It is ignored. An import always records its own credential."`
	revision
	History []revision `json:"history" required:"false" maxItems:"100000"`
}

func (r *revision) memory() *memory.Memory {
	m := r.memoryInput.memory()
	m.UpdatedBy = textOrEmpty(r.UpdatedBy)
	if r.UpdatedAt != nil {
		m.UpdatedAt = r.UpdatedAt.Time
	}
	if r.Revision != nil {
		m.Revision = *r.Revision
	}
	return &m
}

func (p *portableMemory) line() memory.Portable {
	m := p.memory()
	m.ID, m.SubjectID, m.AgentID, m.SessionID = textOrEmpty(p.ID), textOrEmpty(p.SubjectID), textOrEmpty(p.AgentID), textOrEmpty(p.SessionID)
	m.CreatedBy = textOrEmpty(p.CreatedBy)
	if p.CreatedAt != nil {
		m.CreatedAt = p.CreatedAt.Time
	}
	out := memory.Portable{Memory: m}
	for i := range p.History {
		out.History = append(out.History, p.History[i].memory())
	}
	return out
}

// maxMemoryLine is the maximum size of a line: a memory with the longest text and a few hundred such revisions.
const maxMemoryLine = 32 << 20

// memoryLines reads memories from a body with one JSON object per line. A line that is too long or invalid is returned as
// such; an unreadable body is an error.
func memoryLines(body io.Reader, decoder *endpoint.Decoder[portableMemory]) memory.Lines {
	lines := wire.NewLines(body, maxMemoryLine)
	return func() (memory.ImportLine, bool, error) {
		text, err := lines.Next()
		line := memory.ImportLine{Number: lines.Number()}
		var tooLong *wire.TooLong
		switch {
		case err == io.EOF:
			return line, false, nil
		case errors.As(err, &tooLong):
			line.Err = err
			return line, true, nil
		case err != nil:
			return line, false, err
		}
		var m portableMemory
		if line.Err = decoder.Decode(text, &m); line.Err == nil {
			line.Portable = m.line()
		}
		return line, true, nil
	}
}

type importedMemories struct {
	Body struct {
		Received  int         `json:"received" doc:"The number of lines that were read, without blank ones."`
		Created   int         `json:"created" doc:"The number of lines whose memory is new."`
		Replaced  int         `json:"replaced" doc:"The number of lines whose memory replaced one with the same ID."`
		Unchanged int         `json:"unchanged" doc:"The number of memories that existed already and are equal to their line."`
		Failed    int         `json:"failed" doc:"The number of lines that were refused."`
		Errors    []lineError `json:"errors" doc:"The first 100 lines that were refused, in the order of the lines."`
		Issues    []lineIssue `json:"issues" doc:"How many lines failed for which reason, the most frequent first."`
	}
}

func viewOfImported(i *memory.Imported) *importedMemories {
	out := &importedMemories{}
	b := &out.Body
	b.Received, b.Created, b.Replaced, b.Unchanged, b.Failed = i.Received, i.Created, i.Replaced, i.Unchanged, i.Failed
	b.Errors, b.Issues = failuresOf(&i.Failures)
	return out
}

package v1

import (
	"context"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/web/endpoint"
)

// AddMemories declares the operations on single memories and their lists.
func AddMemories(r *endpoint.Registry, memories *memory.Service, cursors *page.Sealer) {
	create := memoryOperation("createMemory", "POST", "", "Create a memory", auth.MemoryWrite, problem.CodeLimitReached)
	create.Description = "A memory with the same key and subject is replaced (200). Without a key, the operation looks for a memory with the " +
		"same text, kind, agent, session, speaker, occurredAt, tags and metadata, and returns it instead of storing another one" +
		" (200, deduplicated). Set allowDuplicate to store it all the same. Turns and events are compared only if deduplicate " +
		"is true."
	create.Status, create.Idempotent, create.Again = 201, true, showAgain(memories.Reader)
	endpoint.AddPrepared(r, create, func(ctx context.Context, in *createMemory) (err error) {
		in.prepared, err = memories.Writer.Prepare(ctx, auth.From(ctx), in.Body.item())
		return err
	}, func(ctx context.Context, in *createMemory) (*storedMemory, error) {
		stored, err := memories.Writer.Create(ctx, in.prepared)
		if err != nil {
			return nil, err
		}
		return answerStored(ctx, stored), nil
	})

	get := memoryOperation("getMemory", "GET", "/{id}", "Get a memory", auth.MemoryRead)
	get.Description = "The response contains the current revision of the memory. The request is in the subject's access log."
	endpoint.Add(r, get, func(ctx context.Context, in *namedMemory) (*oneMemory, error) {
		return answerMemory(ctx)(memories.Reader.Memory(ctx, auth.From(ctx), in.ID))
	})

	change := memoryOperation("changeMemory", "PATCH", "/{id}", "Change a memory", auth.MemoryWrite)
	change.Description = "The body is a merge patch, and the change creates a new revision. Fields that are omitted do not change, null removes " +
		"a field, and metadata is merged name by name. The subject of a memory cannot be changed."
	change.Errors = append(change.Errors, problem.CodeConflict)
	endpoint.Add(r, change, func(ctx context.Context, in *changeMemory) (*oneMemory, error) {
		return answerMemory(ctx)(memories.Changer.Change(ctx, auth.From(ctx), in.ID, in.change(), in.IfMatch.Revisions()))
	})

	remove := memoryOperation("deleteMemory", "DELETE", "/{id}", "Erase a memory and its history", auth.MemoryWrite)
	remove.Description = "The operation also erases all older revisions of the memory. It cannot be undone."
	remove.Status = 204
	endpoint.Add(r, remove, func(ctx context.Context, in *deleteMemory) (*struct{}, error) {
		// `If-Match: *` only requires what the 404 checks anyway.
		if err := memories.Eraser.Delete(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions()); err != nil {
			return nil, err
		}
		return &struct{}{}, nil
	})

	list := memoryOperation("listMemories", "GET", "", "List memories, newest first", auth.MemoryRead)
	list.Description = "The parameters from and to apply to occurredAt or, without it, to createdAt. The parameter tag requires subjectId, " +
		"because tags are encrypted for each subject."
	endpoint.Add(r, list, func(ctx context.Context, in *listMemories) (*memoryList, error) {
		return in.list(ctx, memories.Reader, cursors)
	})

	history := memoryOperation("getMemoryHistory", "GET", "/{id}/history", "List the revisions of a memory, newest first", auth.MemoryRead)
	history.Description = "The ID of a memory begins with mem_. The path /memories/subjects/history therefore is the subject history, not a memory's history."
	endpoint.Add(r, history, func(ctx context.Context, in *memoryHistory) (*memoryRevisions, error) {
		return in.list(ctx, memories.Reader, cursors)
	})
}

// memoryOperation is what the operations on memories have in common.
func memoryOperation(id, method, path, summary string, scope auth.Scopes, errors ...string) endpoint.Operation {
	return endpoint.Operation{
		ID: id, Method: method, Path: "/memories" + path, Since: 1, Tag: "memories", Summary: summary,
		Credentials: endpoint.Key | endpoint.Bearer, Scope: scope, Status: 200, Errors: append(errors, problem.CodeNotFound),
	}
}

// memoryInput contains the fields of a memory that a client writes, except the IDs of its owners.
type memoryInput struct {
	Kind       *string       `json:"kind" enum:"fact,preference,event,instruction,summary,turn,note" doc:"The kind of the memory. The default is fact."`
	Text       string        `json:"text" maxBytes:"65536" doc:"The text of the memory, which is stored verbatim." example:"Prefers tea to coffee."`
	Speaker    *string       `json:"speaker" minLength:"1" maxLength:"128" doc:"The name of the speaker, such as Ada or assistant. If a query names the speaker, what that speaker said scores more." example:"Ada"`
	Tags       []string      `json:"tags" required:"false" maxItems:"32" minLength:"1" maxLength:"64" doc:"Words to select memories by, in lists and recalls. Repeated ones are stored once."`
	Metadata   wire.Metadata `json:"metadata" required:"false" maxProperties:"32" doc:"Named values: strings of at most 1,024 characters, numbers or booleans."`
	Importance *float64      `json:"importance" minimum:"0" maximum:"1" doc:"The importance of the memory, which ranks memories that match a query equally well."`
	Pinned     bool          `json:"pinned" required:"false" doc:"Whether the memory is ranked first among memories that match a query equally well."`
	OccurredAt *wire.Time    `json:"occurredAt" doc:"The time at which the event happened or the text was said."`
	ValidFrom  *wire.Time    `json:"validFrom" doc:"The time from which the memory is valid."`
	ValidTo    *wire.Time    `json:"validTo" doc:"The time until which the memory is valid. After it, the memory is superseded."`
	ExpiresAt  *wire.Time    `json:"expiresAt" doc:"The time at which the memory is erased."`
	Key        *string       `json:"key" minLength:"1" maxLength:"256" doc:"A name for what the memory says about the subject. A later memory with the same key replaces this one." example:"drink/morning"`
	Source     *string       `json:"source" minLength:"1" maxLength:"1024" doc:"The source of the memory, such as a URL or the name of a form."`
}

func (in *memoryInput) memory() memory.Memory {
	return memory.Memory{
		Kind: memory.Kind(textOrEmpty(in.Kind)), Text: in.Text, Speaker: textOrEmpty(in.Speaker), Tags: in.Tags, Metadata: in.Metadata,
		Importance: in.Importance, Pinned: in.Pinned, OccurredAt: in.OccurredAt.Moment(), ValidFrom: in.ValidFrom.Moment(),
		ValidTo: in.ValidTo.Moment(), ExpiresAt: in.ExpiresAt.Moment(), Key: textOrEmpty(in.Key), Source: textOrEmpty(in.Source),
	}
}

type newMemory struct {
	SubjectID *string `json:"subjectId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The subject that the memory is about. Use a pseudonym, because the ID appears in URLs. It is required unless the API key is bound to a subject."`
	AgentID   *string `json:"agentId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The agent that the memory belongs to."`
	SessionID *string `json:"sessionId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The conversation that the memory comes from."`
	memoryInput

	AllowDuplicate bool `json:"allowDuplicate" required:"false" doc:"Store the memory even if an equal one exists."`
	Deduplicate    bool `json:"deduplicate" required:"false" doc:"Return an equal memory that exists instead of storing another one, also for turns and events."`
}

func (n *newMemory) item() memory.Item {
	m := n.memoryInput.memory()
	m.SubjectID, m.AgentID, m.SessionID = textOrEmpty(n.SubjectID), textOrEmpty(n.AgentID), textOrEmpty(n.SessionID)
	item := memory.Item{Memory: m}
	switch {
	case n.AllowDuplicate:
		item.Duplicates = memory.AllowDuplicates
	case n.Deduplicate:
		item.Duplicates = memory.Deduplicate
	}
	return item
}

type createMemory struct {
	Body     newMemory
	prepared *memory.Prepared
}

type namedMemory struct {
	ID string `path:"id" doc:"The ID of the memory."`
}

type deleteMemory struct {
	ID      string           `path:"id" doc:"The ID of the memory."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
}

type changeMemory struct {
	ID      string           `path:"id" doc:"The ID of the memory."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    changeMemoryBody
}

type changeMemoryBody struct {
	Kind       wire.Optional[string]              `json:"kind" enum:"fact,preference,event,instruction,summary,turn,note" doc:"The kind of the memory. null stands for fact."`
	Text       wire.Optional[string]              `json:"text" nullable:"false" minLength:"1" maxBytes:"65536" doc:"The new text of the memory, which is stored verbatim."`
	Speaker    wire.Optional[string]              `json:"speaker" minLength:"1" maxLength:"128" doc:"The speaker of the text. null removes it."`
	Tags       wire.Optional[[]string]            `json:"tags" maxItems:"32" minLength:"1" maxLength:"64" doc:"The new tags, which replace all old ones. null removes all of them."`
	Metadata   wire.Optional[wire.MetadataChange] `json:"metadata" maxProperties:"64" doc:"The metadata to merge, name by name. A null value removes the entry. null instead of an object removes all entries."`
	Importance wire.Optional[float64]             `json:"importance" minimum:"0" maximum:"1" doc:"The importance of the memory, which ranks memories that match a query equally well. null removes it."`
	Pinned     wire.Optional[bool]                `json:"pinned" doc:"Whether the memory is pinned. null stands for false."`
	OccurredAt wire.Optional[wire.Time]           `json:"occurredAt" doc:"The time at which the event happened or the text was said. null removes it."`
	ValidFrom  wire.Optional[wire.Time]           `json:"validFrom" doc:"The time from which the memory is valid. null removes it."`
	ValidTo    wire.Optional[wire.Time]           `json:"validTo" doc:"The time until which the memory is valid. null means that it stays valid."`
	ExpiresAt  wire.Optional[wire.Time]           `json:"expiresAt" doc:"The time at which the memory is erased. null means that it is not erased by itself."`
	Key        wire.Optional[string]              `json:"key" minLength:"1" maxLength:"256" doc:"The name for what the memory says about the subject, which only one of the subject's memories can have. null removes it."`
	Source     wire.Optional[string]              `json:"source" minLength:"1" maxLength:"1024" doc:"The source of the memory. null removes it."`
}

func (in *changeMemory) change() memory.Change {
	b := &in.Body
	return memory.Change{
		Kind: patched(b.Kind, func(s string) memory.Kind { return memory.Kind(s) }), Text: patched(b.Text, itself),
		Speaker: patched(b.Speaker, itself), Tags: patched(b.Tags, itself),
		Metadata:   patched(b.Metadata, func(m wire.MetadataChange) map[string]any { return m }),
		Importance: patched(b.Importance, itself), Pinned: patched(b.Pinned, itself), OccurredAt: patched(b.OccurredAt, moment),
		ValidFrom: patched(b.ValidFrom, moment), ValidTo: patched(b.ValidTo, moment), ExpiresAt: patched(b.ExpiresAt, moment),
		Key: patched(b.Key, itself), Source: patched(b.Source, itself),
	}
}

// patched is a member of a merge patch as the domain takes it.
func patched[T, D any](o wire.Optional[T], as func(T) D) memory.Optional[D] {
	switch {
	case !o.Set:
		return memory.Optional[D]{}
	case o.Null:
		return memory.Unset[D]()
	default:
		return memory.SetTo(as(o.Value))
	}
}

func itself[T any](v T) T { return v }

func moment(t wire.Time) time.Time { return t.Time }

// memoryFields contains the fields of a memory that every representation of it has.
type memoryFields struct {
	Kind       string        `json:"kind" enum:"fact,preference,event,instruction,summary,turn,note" doc:"The kind of the memory, which is fact unless another one was stored."`
	Text       string        `json:"text" doc:"The text of the memory, as it was stored."`
	Speaker    *string       `json:"speaker" doc:"The speaker of the text. It is null if none was stored."`
	Tags       []string      `json:"tags" doc:"The tags of the memory, in the order in which they were sent."`
	Metadata   wire.Metadata `json:"metadata" doc:"The metadata of the memory: strings, numbers or booleans by name."`
	Importance *float64      `json:"importance" doc:"The importance of the memory, from 0 to 1. It is null if none was stored."`
	Pinned     bool          `json:"pinned" doc:"Whether the memory is ranked first among memories that match a query equally well, and comes first in contexts."`
	OccurredAt *wire.Time    `json:"occurredAt" doc:"The time at which the event happened or the text was said. It is null if none was stored."`
	ValidFrom  *wire.Time    `json:"validFrom" doc:"The time from which the memory is valid. It is null if none was stored."`
	ValidTo    *wire.Time    `json:"validTo" doc:"The time until which the memory is valid. It is null if the memory stays valid."`
	ExpiresAt  *wire.Time    `json:"expiresAt" doc:"The time at which the memory is erased. It is null if the memory is not erased by itself."`
	Key        *string       `json:"key" doc:"The name for what the memory says about the subject, by which a later memory replaces it. It is null if there is none."`
	Source     *string       `json:"source" doc:"The source of the memory. It is null if none was stored."`
}

func fieldsOfMemory(m *memory.Memory) memoryFields {
	return memoryFields{
		Kind: string(m.Kind), Text: m.Text, Speaker: textOrNull(m.Speaker), Tags: m.Tags, Metadata: m.Metadata, Importance: m.Importance,
		Pinned: m.Pinned, OccurredAt: wire.ChosenOrNull(m.OccurredAt), ValidFrom: wire.ChosenOrNull(m.ValidFrom), ValidTo: wire.ChosenOrNull(m.ValidTo),
		ExpiresAt: wire.ChosenOrNull(m.ExpiresAt), Key: textOrNull(m.Key), Source: textOrNull(m.Source),
	}
}

type memoryView struct {
	ID        string  `json:"id" doc:"The ID of the memory, which begins with mem_." example:"mem_01kakakakafkhvayayayayayay"`
	SubjectID string  `json:"subjectId" doc:"The ID of the subject that the memory is about."`
	AgentID   *string `json:"agentId" doc:"The ID of the agent that the memory belongs to. It is null if there is none."`
	SessionID *string `json:"sessionId" doc:"The ID of the conversation that the memory comes from. It is null if there is none."`
	memoryFields
	CreatedAt  wire.Time `json:"createdAt"`
	UpdatedAt  wire.Time `json:"updatedAt"`
	CreatedBy  string    `json:"createdBy" doc:"The ID of the key or user that stored the memory first, or local."`
	ImportedBy *string   `json:"importedBy" doc:"The ID of the key or user whose import the memory comes from. createdAt, createdBy and the history are then what the import said. It is null if the memory was not imported."`
	Revision   int64     `json:"revision"`
	Status     string    `json:"status" enum:"active,superseded" doc:"The status of the memory. It is superseded after validTo."`
}

func viewOfMemory(ctx context.Context, m *memory.Memory) memoryView {
	return memoryView{
		ID: m.ID, SubjectID: m.SubjectID, AgentID: textOrNull(m.AgentID), SessionID: textOrNull(m.SessionID), memoryFields: fieldsOfMemory(m),
		CreatedAt: wire.At(m.CreatedAt), UpdatedAt: wire.At(m.UpdatedAt), CreatedBy: m.CreatedBy, ImportedBy: textOrNull(m.ImportedBy), Revision: m.Revision,
		Status: string(m.Status(endpoint.RequestOf(ctx).At())),
	}
}

type storedMemoryView struct {
	memoryView
	Deduplicated bool `json:"deduplicated,omitzero" doc:"Whether an equal memory existed, which is returned here."`
}

type storedMemory struct {
	Status   int    `enum:"200,201"`
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     storedMemoryView
}

func answerStored(ctx context.Context, s *memory.Stored) *storedMemory {
	out := &storedMemory{
		Status: 200, ETag: endpoint.ETag(s.Memory.Revision),
		Body: storedMemoryView{viewOfMemory(ctx, s.Memory), s.Deduplicated},
	}
	if s.Created {
		out.Status, out.Location = 201, "/memories/"+s.Memory.ID
	}
	return out
}

type oneMemory struct {
	ETag string `header:"ETag"`
	Body memoryView
}

func answerMemory(ctx context.Context) func(*memory.Memory, error) (*oneMemory, error) {
	return func(m *memory.Memory, err error) (*oneMemory, error) {
		if err != nil {
			return nil, err
		}
		return &oneMemory{ETag: endpoint.ETag(m.Revision), Body: viewOfMemory(ctx, m)}, nil
	}
}

type listMemories struct {
	SubjectID string     `query:"subjectId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"List only memories of this subject. The default is the subject that the API key is bound to, or else all subjects."`
	AgentID   string     `query:"agentId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"List only memories of this agent."`
	SessionID string     `query:"sessionId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"List only memories of this conversation."`
	Kind      string     `query:"kind" enum:"fact,preference,event,instruction,summary,turn,note" doc:"List only memories of this kind."`
	IDs       []string   `query:"id" maxItems:"100" minLength:"1" maxLength:"64" doc:"The IDs of the memories to list. IDs that do not exist are ignored."`
	Tags      []string   `query:"tag" maxItems:"32" minLength:"1" maxLength:"64" doc:"The tags to match. All of them must match."`
	From      *wire.Time `query:"from" doc:"Include only memories at or after this time."`
	To        *wire.Time `query:"to" doc:"Include only memories before this time."`
	pageQuery
}

type memoryList struct {
	Body struct {
		Items      endpoint.Sequence[memoryView] `json:"items"`
		NextCursor *string                       `json:"nextCursor"`
	}
}

func (in *listMemories) list(ctx context.Context, memories *memory.Reader, cursors *page.Sealer) (*memoryList, error) {
	p := auth.From(ctx)
	scope := page.Scope(p.WorkspaceID, "listMemories", append([]string{
		p.SubjectID, p.AgentID, in.SubjectID, in.AgentID, in.SessionID, in.Kind, textOfTime(in.From), textOfTime(in.To), strings.Join(in.IDs, ","),
	}, in.Tags...)...)
	filter := memory.Filter{
		SubjectID: in.SubjectID, AgentID: in.AgentID, SessionID: in.SessionID, IDs: in.IDs, Tags: in.Tags, From: in.From.Moment(), To: in.To.Moment(),
		Limit: in.Limit,
	}
	if in.Kind != "" {
		filter.Kinds = []memory.Kind{memory.Kind(in.Kind)}
	}
	found, next, err := readPage(in.pageQuery, cursors, scope, func(after *memory.Position) ([]*memory.Memory, *memory.Position, error) {
		filter.After = after
		found, more, err := memories.List(ctx, p, filter)
		return found, lastOf(found, more, (*memory.Memory).Position), err
	})
	if err != nil {
		return nil, err
	}
	out := &memoryList{}
	out.Body.NextCursor = next
	out.Body.Items = views(found, func(m *memory.Memory) memoryView { return viewOfMemory(ctx, m) })
	return out, nil
}

func textOfTime(t *wire.Time) string {
	if t == nil {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

type memoryHistory struct {
	ID string `path:"id" doc:"The ID of the memory."`
	pageQuery
}

type memoryRevisionView struct {
	memoryView
	UpdatedBy string `json:"updatedBy" doc:"The ID of the key or user that created this revision, or local."`
}

type memoryRevisions struct {
	Body struct {
		Items      []memoryRevisionView `json:"items"`
		NextCursor *string              `json:"nextCursor"`
	}
}

func (in *memoryHistory) list(ctx context.Context, memories *memory.Reader, cursors *page.Sealer) (*memoryRevisions, error) {
	p := auth.From(ctx)
	scope := page.Scope(p.WorkspaceID, "getMemoryHistory", p.SubjectID, p.AgentID, in.ID)
	found, next, err := readPage(in.pageQuery, cursors, scope, func(after *int64) ([]*memory.Memory, *int64, error) {
		before := int64(0)
		if after != nil {
			before = *after
		}
		found, more, err := memories.History(ctx, p, in.ID, before, in.Limit)
		return found, lastOf(found, more, func(m *memory.Memory) int64 { return m.Revision }), err
	})
	if err != nil {
		return nil, err
	}
	out := &memoryRevisions{}
	out.Body.NextCursor = next
	out.Body.Items = make([]memoryRevisionView, len(found))
	for i, m := range found {
		out.Body.Items[i] = memoryRevisionView{viewOfMemory(ctx, m), m.UpdatedBy}
	}
	return out, nil
}

package mcp

import (
	"keepsake/internal/govern/auth"
)

// Schemas of arguments that several tools have.
const (
	textSchema  = `{"type":"string"}`
	timeSchema  = `{"type":"string","format":"date-time"}`
	tagsSchema  = `{"type":"array","items":{"type":"string"},"maxItems":32}`
	kindValues  = `"enum":["fact","preference","event","instruction","summary","turn","note"]`
	kindSchema  = `{"type":"string",` + kindValues + `}`
	kindsSchema = `{"type":"array","items":` + kindSchema + `}`
	limitSchema = `{"type":"integer","minimum":1,"maximum":200}`
	zoneSchema  = `{"type":"string","description":"Time zone of days, such as Europe/Berlin; default UTC"}`
)

// Schemas of results. Results can have more members than these, which are the ones that agents need.
const (
	memoryMembers = `"id":{"type":"string"},"subjectId":{"type":"string"},"kind":{"type":"string"},"text":{"type":"string"},` +
		`"tags":{"type":"array","items":{"type":"string"}},"metadata":{"type":"object"},` +
		`"createdAt":{"type":"string"},"revision":{"type":"integer"},"status":{"type":"string"}`
	memorySchema = `{"type":"object","properties":{` + memoryMembers + `},"required":["id","subjectId","kind","text","createdAt","revision","status"]}`
	searchOutput = `{"type":"object","properties":{"results":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},` +
		`"title":{"type":"string"},"url":{"type":"string"},"text":{"type":"string"}},"required":["id","title","url"]}}},"required":["results"]}`
	fetchOutput = `{"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"},"text":{"type":"string"},"url":{"type":"string"},` +
		`"metadata":{"type":"object"}},"required":["id","title","text","url","metadata"]}`
	recallOutput = `{"type":"object","properties":{"results":{"type":"array","items":{"type":"object","properties":{"memory":` + memorySchema +
		`,"score":{"type":"number"}},"required":["memory","score"]}}},"required":["results"]}`
	listOutput = `{"type":"object","properties":{"items":{"type":"array","items":` + memorySchema +
		`}},"required":["items"]}`
	deleteOutput = `{"type":"object","properties":{"id":{"type":"string"},"deleted":{"type":"boolean"}},"required":["id","deleted"]}`
	forgetOutput = `{"type":"object","properties":{"erased":{"type":"boolean"},"memories":{"type":"integer","description":"Number to erase, or erased"},` +
		`"planId":{"type":"string"},"expiresAt":{"type":"string"},"receiptId":{"type":"string"},"message":{"type":"string"}},` +
		`"required":["erased","memories","message"]}`
	contextOutput = `{"type":"object","properties":{"text":{"type":"string"},"memoryIds":{"type":"array","items":{"type":"string"}},` +
		`"tokens":{"type":"integer"},"parts":{"type":"object"},"cut":{"type":"array","items":{"type":"string"}},"omitted":{"type":"object"}},` +
		`"required":["text","memoryIds","tokens","parts","cut","omitted"]}`
)

// oneMemory is a result that is a memory.
var oneMemory = &shortened{reader: "get_memory"}

func subjectBound(p *auth.Principal) bool { return p.SubjectID != "" }

func agentBound(p *auth.Principal) bool { return p.AgentID != "" }

// subject is the person whom a tool is about.
func subject(required bool, at place) param {
	return param{name: "subjectId", schema: `{"type":"string","description":"The person"}`, required: required, in: at, bound: subjectBound}
}

func agent(at place) param {
	return param{name: "agentId", schema: textSchema, in: at, bound: agentBound}
}

// newTools returns all tools, in the order in which clients see them. s knows how to link to documents and memories.
func newTools(s *server) []*tool {
	reads := hints{ReadOnly: true, Idempotent: true}
	return []*tool{
		{
			name: "search", title: "Search", hints: reads,
			description: "Find documents and memories that match a query. Read a whole one with fetch.",
			params:      []param{{name: "query", schema: textSchema, required: true}},
			output:      searchOutput, scope: auth.Read, allowed: maySearch, run: s.search,
			shorten: &shortened{list: "results", reader: "fetch"},
		},
		{
			name: "fetch", title: "Fetch", hints: reads,
			description: "Read the document or memory with an ID from search.",
			params:      []param{{name: "id", schema: textSchema, required: true}},
			output:      fetchOutput, scope: auth.Read, allowed: maySearch, run: s.fetch,
		},
		{
			name: "add_memory", title: "Add memory",
			description: "Remember something about a person for later conversations. Write one short, self-contained statement in text; it is stored verbatim. " +
				"An equal memory is not stored twice, except turns and events.",
			params: []param{
				subject(true, inBody), agent(inBody),
				{name: "sessionId", schema: `{"type":"string","description":"The conversation"}`},
				{name: "text", schema: textSchema, required: true},
				{name: "kind", schema: kindSchema},
				{name: "speaker", schema: textSchema},
				{name: "tags", schema: tagsSchema},
				{name: "metadata", schema: `{"type":"object"}`},
				{name: "importance", schema: `{"type":"number","minimum":0,"maximum":1}`},
				{name: "pinned", schema: `{"type":"boolean","description":"Preferred in recall and context"}`},
				{name: "occurredAt", schema: timeSchema},
				{name: "expiresAt", schema: timeSchema},
				{name: onceArgument, schema: `{"type":"string","minLength":8,"maxLength":255,"description":"Makes a retry safe"}`, in: inHeader, target: "Idempotency-Key"},
			},
			output: memorySchema, scope: auth.MemoryWrite, operation: "createMemory", shorten: oneMemory,
		},
		{
			name: "search_memories", title: "Search memories", hints: reads,
			description: "Recall what is known about a person that answers a question, best first.",
			params: []param{
				subject(true, inBody),
				{name: "query", schema: textSchema, required: true},
				agent(inBody),
				{name: "sessionId", schema: textSchema},
				{name: "kinds", schema: kindsSchema},
				{name: "tags", schema: tagsSchema},
				{name: "from", schema: timeSchema},
				{name: "to", schema: timeSchema},
				{name: "limit", schema: limitSchema},
				{name: "timeZone", schema: zoneSchema},
			},
			output: recallOutput, scope: auth.MemoryRead, operation: "recall",
			shorten: &shortened{list: "results", item: "memory", reader: "get_memory"},
		},
		{
			name: "get_memory", title: "Get memory", hints: reads,
			description: "Read one memory.",
			params:      []param{{name: "id", schema: textSchema, required: true, in: inPath}},
			output:      memorySchema, scope: auth.MemoryRead, operation: "getMemory",
		},
		{
			name: "list_memories", title: "List memories", hints: reads,
			description: "List memories, newest first. Repeat with cursor set to nextCursor for the next page.",
			params: []param{
				subject(false, inQuery), agent(inQuery),
				{name: "sessionId", schema: textSchema, in: inQuery},
				{name: "kind", schema: kindSchema, in: inQuery},
				{name: "tags", schema: tagsSchema, in: inQuery, target: "tag"},
				{name: "from", schema: timeSchema, in: inQuery},
				{name: "to", schema: timeSchema, in: inQuery},
				{name: "limit", schema: limitSchema, in: inQuery},
				{name: "cursor", schema: textSchema, in: inQuery},
			},
			output: listOutput, scope: auth.MemoryRead, operation: "listMemories",
			shorten: &shortened{list: "items", pages: true, reader: "get_memory"},
		},
		{
			name: "update_memory", title: "Update memory", hints: hints{Destructive: true},
			description: "Change fields of a memory. Fields that are left out stay; clear removes fields. The history keeps earlier revisions.",
			params: []param{
				{name: "id", schema: textSchema, required: true, in: inPath},
				{name: "text", schema: textSchema},
				{name: "kind", schema: kindSchema},
				{name: "speaker", schema: textSchema},
				{name: "tags", schema: tagsSchema},
				{name: "metadata", schema: `{"type":"object","description":"Merged by name"}`},
				{name: "importance", schema: `{"type":"number","minimum":0,"maximum":1}`},
				{name: "pinned", schema: `{"type":"boolean"}`},
				{name: "occurredAt", schema: timeSchema},
				{name: "validTo", schema: `{"type":"string","format":"date-time","description":"When it stops being true"}`},
				{name: "expiresAt", schema: timeSchema},
				{name: clearArgument, schema: `{"type":"array","items":{"type":"string"},"description":"Names of fields to remove, also metadata.NAME"}`, in: unsent},
				{name: "revision", schema: `{"type":"integer","description":"Change only this revision"}`, in: inHeader, target: "If-Match", quoted: true},
			},
			output: memorySchema, scope: auth.MemoryWrite, operation: "changeMemory", run: updateMemory, shorten: oneMemory,
		},
		{
			name: "delete_memory", title: "Delete memory", hints: hints{Destructive: true, Idempotent: true},
			description: "Erase one memory and its history. This cannot be undone.",
			params:      []param{{name: "id", schema: textSchema, required: true, in: inPath}},
			output:      deleteOutput, scope: auth.MemoryWrite, operation: "deleteMemory", run: deleteMemory,
		},
		{
			name: "forget_subject", title: "Forget a person", hints: hints{Destructive: true},
			description: "Erase everything about a person, in two calls. The first erases nothing and returns planId and the number of memories: show it " +
				"to the user. After the user agrees, call again with planId. This cannot be undone.",
			params: []param{subject(true, inBody), {name: "planId", schema: textSchema}},
			output: forgetOutput, scope: auth.MemoryWrite, run: forgetSubject,
		},
		{
			name: "build_context", title: "Build context", hints: reads,
			description: "Get memories of a person as one text for a prompt: pinned ones, those that answer the query, then the newest.",
			params: []param{
				subject(true, inBody),
				{name: "query", schema: textSchema},
				agent(inBody),
				{name: "sessionId", schema: textSchema},
				{name: "kinds", schema: kindsSchema},
				{name: "tags", schema: tagsSchema},
				{name: "maxTokens", schema: `{"type":"integer","minimum":1,"default":1000}`, preset: "1000"},
				{name: "timeZone", schema: zoneSchema},
			},
			output: contextOutput, scope: auth.MemoryRead, operation: "recallContext",
		},
	}
}

// onceArgument is the argument that becomes the Idempotency-Key.
const onceArgument = "idempotencyKey"

package openapi_test

import (
	"fmt"
	"strings"
)

// callMemories stores, reads and erases memories.
func (c *caller) callMemories() {
	const (
		memories, memory = "/api/v1/memories", "/api/v1/memories/{id}"
		subject          = memories + "/subjects/{subjectId}"
	)
	whole := `{"subjectId":"ada","agentId":"a1","sessionId":"s1","kind":"turn","text":"Bees make honey.","speaker":"Ada","tags":["x"],"metadata":{"n":1},
		"importance":0.5,"pinned":true,"occurredAt":"2026-01-02T03:04:05Z","validTo":"2126-01-01T00:00:00Z","expiresAt":"2126-01-01T00:00:00Z","source":"here"}`
	made := c.call(201, "POST", memories, "", "", whole, "Idempotency-Key", "the-first-memory")
	c.call(201, "POST", memories, "", "", whole, "Idempotency-Key", "the-first-memory")
	c.call(201, "POST", memories, "", "", `{"subjectId":"ada","text":"x","key":"k"}`)
	c.call(200, "POST", memories, "", "", `{"subjectId":"ada","text":"y","key":"k"}`)
	c.call(200, "POST", memories, "", "", `{"subjectId":"ada","text":"Bees make honey.","kind":"turn","agentId":"a1","sessionId":"s1","speaker":"Ada","tags":["x"],
		"metadata":{"n":1},"occurredAt":"2026-01-02T03:04:05Z","deduplicate":true}`)
	c.call(400, "POST", memories, "", "", `{"text":"x"}`)
	c.call(413, "POST", memories, "", "", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
	id := made["id"].(string)
	c.call(200, "GET", memory, id, "", "")
	c.call(304, "GET", memory, id, "", "", "If-None-Match", `"1"`)
	c.call(404, "GET", memory, "nobody", "", "")
	c.call(200, "PATCH", memory, id, "", `{"speaker":null,"metadata":{"n":null,"m":"x"}}`, "If-Match", `"1"`)
	c.call(412, "PATCH", memory, id, "", `{"text":"x"}`, "If-Match", `"1"`)
	c.call(200, "GET", memory+"/history", id, "?limit=1", "")
	c.call(200, "GET", memories, "", "?subjectId=ada&tag=x&kind=turn&from=2026-01-01T00:00:00Z", "")
	c.call(200, "POST", memories+"/batch", "", "", `{"items":[{"subjectId":"ada","text":"x"},{"subjectId":"ada"},{"subjectId":"ada","text":"x"}]}`)
	c.call(400, "POST", memories+"/batch", "", "", `{"atomic":true,"items":[{"subjectId":"ada"}]}`)
	c.call(200, "POST", memories+"/recall", "", "", `{"subjectId":"ada","query":"who makes honey?","limit":3,"explain":true}`)
	c.call(200, "POST", memories+"/recall", "", "", `{"subjectId":"nobody","query":"honey"}`)
	c.call(400, "POST", memories+"/recall", "", "", `{"subjectId":"ada","query":" "}`)
	c.call(200, "POST", memories+"/context", "", "", `{"subjectId":"ada","query":"honey","maxTokens":100}`)
	c.call(200, "POST", memories+"/context", "", "", `{"subjectId":"ada"}`)
	c.call(400, "POST", memories+"/context", "", "", `{"subjectId":"ada","maxTokens":0}`)
	plan := c.call(200, "POST", memories+"/forget", "", "", `{"subjectId":"ada","query":"honey"}`)
	c.call(200, "POST", memories+"/forget", "", "", fmt.Sprintf(`{"subjectId":"ada","planId":%q,"dryRun":false}`, plan["planId"]), "Idempotency-Key", "the-first-forgetting")
	c.call(404, "POST", memories+"/forget", "", "", fmt.Sprintf(`{"subjectId":"ada","planId":%q,"dryRun":false}`, plan["planId"]))
	c.call(400, "POST", memories+"/forget", "", "", `{"subjectId":"ada","dryRun":false}`)
	c.call(200, "POST", memories+"/import", "", "", "{\"subjectId\":\"bela\",\"text\":\"one\"}\n{\"text\":1}\n", "Content-Type", "application/x-ndjson")
	c.call(200, "GET", memories+"/subjects", "", "", "")
	c.call(200, "GET", subject, "ada", "", "")
	c.call(200, "GET", subject+"/export", "bela", "", "")
	c.call(200, "GET", subject+"/access-log", "ada", "?limit=3", "")
	c.call(204, "DELETE", memory, c.call(201, "POST", memories, "", "", `{"subjectId":"ada","text":"z"}`)["id"].(string), "", "")
	c.call(200, "DELETE", subject, "ada", "", "")
	c.call(404, "DELETE", subject, "ada", "", "")
}

package openapi_test

// callSurfaces calls the AI services and the backend service.
func (c *caller) callSurfaces(backendURL, backendSecret string) {
	c.t.Helper()
	c.call(201, "POST", "/ai/remember", "", "", `{"subjectId":"cleo","text":"Cleo keeps bees."}`)
	c.call(200, "POST", "/ai/recall", "", "", `{"subjectId":"cleo","query":"who keeps bees?"}`)
	c.call(200, "POST", "/ai/context", "", "", `{"subjectId":"cleo","query":"bees"}`)
	c.call(200, "POST", "/ai/mcp", "", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Accept", "application/json, text/event-stream")
	c.call(202, "POST", "/ai/mcp", "", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.call(200, "GET", "/.well-known/oauth-protected-resource/ai/mcp", "", "", "")

	own := c.call(201, "POST", "/api/v1/developer/api-keys", "", "", `{"name":"judged","scopes":["read"]}`)
	backend := *c
	backend.base = backendURL
	backend.call(200, "GET", "/livez", "", "", "")
	backend.call(200, "GET", "/readyz", "", "", "")
	backend.call(200, "GET", "/metrics", "", "", "")
	backend.call(200, "GET", "/forward-auth", "", "?scope=read&cost=2", "")
	backend.call(403, "GET", "/forward-auth", "", "?scope=write", "", "X-API-Key", own["key"].(string))
	backend.call(200, "POST", "/verify", "", "", `{"key":"`+own["key"].(string)+`"}`, "X-Keepsake-Backend", backendSecret)
	backend.call(200, "POST", "/usage", "", "", `{"items":[{"id":"1","keyId":"`+own["id"].(string)+`","route":"GET /orders","status":200,"count":3,"at":"2020-01-01T00:00:00Z"}]}`)
	backend.call(400, "POST", "/usage", "", "", `{"items":[]}`)
}

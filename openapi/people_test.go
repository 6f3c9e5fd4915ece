package openapi_test

// callAdministration asks for workspaces, users and tiers.
func (c *caller) callAdministration() {
	const (
		workspaces, workspace = "/api/v1/admin/workspaces", "/api/v1/admin/workspaces/{id}"
		users, user           = "/api/v1/admin/users", "/api/v1/admin/users/{id}"
		tiers, tier           = "/api/v1/admin/tiers", "/api/v1/admin/tiers/{name}"
	)
	made := c.call(201, "POST", workspaces, "", "", `{"name":"clinic","tier":"pro"}`, "Idempotency-Key", "the-clinic")
	again := c.call(201, "POST", workspaces, "", "", `{"name":"clinic","tier":"pro"}`, "Idempotency-Key", "the-clinic")
	if made["id"] != again["id"] {
		c.t.Errorf("a repeated request made another workspace: %v, %v", made["id"], again["id"])
	}
	c.call(400, "POST", workspaces, "", "", `{"name":"clinic","tier":"gold"}`)
	id := made["id"].(string)
	c.call(200, "GET", workspaces, "", "?limit=1", "")
	c.call(200, "GET", workspace, id, "", "")
	c.call(304, "GET", workspace, id, "", "", "If-None-Match", `"1"`)
	c.call(404, "GET", workspace, "wsp_00000000000000000000000000", "", "")
	c.call(200, "PATCH", workspace, id, "", `{"name":"The clinic"}`, "If-Match", `"1"`)
	c.call(412, "PATCH", workspace, id, "", `{"name":"The clinic"}`, "If-Match", `"1"`)
	operator := c.call(200, "GET", workspaces, "", "", "")["items"].([]any)[1].(map[string]any)
	c.call(409, "PATCH", workspace, operator["id"].(string), "", `{"suspended":true}`)

	ada := c.call(201, "POST", users, "", "", `{"email":"ada@example.org","role":"admin","workspaceId":"`+id+`"}`, "Idempotency-Key", "the-first-user")
	if ada["password"] == nil {
		c.t.Error("a user without a password was given none")
	}
	repeated := c.call(201, "POST", users, "", "", `{"email":"ada@example.org","role":"admin","workspaceId":"`+id+`"}`, "Idempotency-Key", "the-first-user")
	if repeated["id"] != ada["id"] || repeated["password"] != nil {
		c.t.Errorf("the repeated answer is %v", repeated)
	}
	c.call(409, "POST", users, "", "", `{"email":"ADA@example.org"}`)
	c.call(400, "POST", users, "", "", `{"email":"nobody"}`)
	adaID := ada["id"].(string)
	c.call(200, "GET", users, "", "?role=admin&workspace="+id, "")
	c.call(200, "GET", user, adaID, "", "")
	c.call(404, "GET", user, "nobody", "", "")
	c.call(200, "PATCH", user, adaID, "", `{"name":"Ada","password":"correct horse battery staple"}`)
	c.call(409, "PATCH", user, adaID, "", `{"role":"viewer"}`)
	c.call(412, "PATCH", user, adaID, "", `{"name":null}`, "If-Match", `"1"`)
	bob := c.call(201, "POST", users, "", "", `{"email":"bob@example.org","name":"Bob"}`)
	const setupLink = "/api/v1/admin/users/{id}/setup-link"
	c.call(201, "POST", setupLink, bob["id"].(string), "", "")
	c.call(404, "POST", setupLink, "nobody", "", "")
	c.call(204, "DELETE", user, bob["id"].(string), "", "")

	c.call(200, "GET", tiers, "", "?limit=2", "")
	numbers := `{"requestsPerMinute":600,"daily":200000,"monthly":4000000,"keys":25,"users":25,"documents":1000000,"memories":0}`
	c.call(200, "PUT", tier, "pro", "", numbers)
	c.call(404, "PUT", tier, "gold", "", numbers)
	c.call(400, "PUT", tier, "pro", "", `{"requestsPerMinute":0}`)
}

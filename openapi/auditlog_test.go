package openapi_test

// callAuditLog asks for what the log holds of the calls before.
func (c *caller) callAuditLog() {
	const log = "/api/v1/admin/audit-log"
	first := c.call(200, "GET", log, "", "?limit=1", "")
	c.call(200, "GET", log, "", "?limit=1&cursor="+first["nextCursor"].(string), "")
	c.call(400, "GET", log, "", "?limit=2&cursor=forged", "")
	c.call(400, "GET", log, "", "?from=yesterday", "")
	made := c.call(200, "GET", log, "", "?action=workspace.created&actor=local&from=2020-01-01T00:00:00Z", "")["items"].([]any)
	if len(made) != 0 {
		c.t.Errorf("the log holds what nobody did: %v", made)
	}
	if verified := c.call(200, "GET", log+"/verify", "", "", ""); verified["ok"] != true || verified["break"] != nil {
		c.t.Errorf("the log does not verify: %v", verified)
	}
}

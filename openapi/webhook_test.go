package openapi_test

// callWebhooks asks the operations on webhooks of a workspace, below both of their paths. The paths of a delivery have two
// parameters, so the deliveries asked for do not exist.
func (c *caller) callWebhooks() {
	for _, hooks := range []string{"/api/v1/webhooks", "/api/v1/admin/webhooks"} {
		hook := hooks + "/{id}"
		made := c.call(201, "POST", hooks, "", "", `{"url":"https://hooks.example.org/keepsake"}`)
		c.call(400, "POST", hooks, "", "", `{"url":"no address"}`)
		id := made["id"].(string)
		c.call(200, "GET", hooks, "", "?limit=1", "")
		c.call(200, "GET", hook, id, "", "")
		c.call(404, "GET", hook, "whk_none", "", "")
		c.call(200, "PATCH", hook, id, "", `{"description":"changed","disabled":true}`)
		c.call(412, "PATCH", hook, id, "", `{"description":"again"}`, "If-Match", `"99"`)
		c.call(200, "POST", hook+"/rotate", id, "", "")
		c.call(409, "POST", hook+"/ping", id, "", "") // it is disabled
		c.call(200, "GET", hook+"/deliveries", id, "", "")
		c.call(404, "GET", hook+"/deliveries/{deliveryId}", id, "", "")
		c.call(409, "POST", hook+"/deliveries/{deliveryId}/replay", id, "", "") // for the same reason
		c.call(204, "DELETE", hook, id, "", "")
	}
}

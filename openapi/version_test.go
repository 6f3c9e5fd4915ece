package openapi_test

// callVersions asks the administration of versions, on a program that may release what its build does not declare.
func (c *caller) callVersions(keyID string) {
	const versions, version = "/api/v1/admin/versions", "/api/v1/admin/versions/{n}"
	c.call(200, "GET", versions, "", "?limit=1", "")
	c.call(200, "GET", version, "1", "", "")
	c.call(304, "GET", version, "1", "", "", "If-None-Match", `"1"`)
	c.call(404, "GET", version, "9", "", "")
	c.call(200, "GET", version+"/usage", "1", "?limit=2&from=2026-01-01T00:00:00Z", "")
	c.call(404, "GET", version+"/usage", "9", "", "")
	c.call(409, "PATCH", version, "1", "", `{"sunsetAt":"2126-01-01T00:00:00Z"}`)
	c.call(409, "POST", versions+"/release", "", "", `{"version":3}`)
	c.call(400, "POST", versions+"/release", "", "", `{"version":1}`)
	c.call(201, "POST", versions+"/release", "", "", `{"version":2}`, "Idempotency-Key", "the-release")
	c.call(201, "POST", versions+"/release", "", "", `{"version":2}`, "Idempotency-Key", "the-release")

	// From here on version 1 is deprecated, and its answers say so.
	c.call(200, "GET", versions, "", "", "")
	c.call(200, "PATCH", version, "1", "", `{"sunsetAt":"2126-01-01T00:00:00Z","guideUrl":"https://example.org/moving"}`)
	c.call(400, "PATCH", version, "1", "", `{"sunsetAt":"2125-01-01T00:00:00Z"}`)
	c.call(412, "PATCH", version, "1", "", `{"guideUrl":null}`, "If-Match", `"1"`)
	c.call(200, "POST", version+"/rehearse-sunset", "1", "", `{"keyId":"`+keyID+`","until":"2125-01-01T00:00:00Z"}`)
	c.call(200, "GET", version, "1", "", "")
	c.call(400, "POST", version+"/rehearse-sunset", "1", "", `{"keyId":"key_x","until":"2125-01-01T00:00:00Z"}`)
	c.call(409, "POST", version+"/rehearse-sunset", "2", "", `{"keyId":"`+keyID+`","until":"2125-01-01T00:00:00Z"}`)
	c.call(409, "POST", version+"/retire", "1", "", "")
	c.call(200, "GET", "/api/versions", "", "", "")
}

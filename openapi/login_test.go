package openapi_test

// callLogin signs in and out.
func (c *caller) callLogin() {
	const (
		login, refresh, logout = "/api/auth/login", "/api/auth/refresh", "/api/auth/logout"
		password, profile      = "/api/auth/password", "/api/v1/profile"
	)
	const first, second = "a password for now", "a password for later"
	c.call(201, "POST", "/api/v1/admin/users", "", "", `{"email":"eve@example.org","password":"`+first+`","role":"developer"}`)

	nobody := *c
	nobody.key = ""
	nobody.call(400, "POST", login, "", "", `{"email":"eve@example.org"}`)
	nobody.call(401, "POST", login, "", "", `{"email":"eve@example.org","password":"`+second+`"}`)
	pair := nobody.call(200, "POST", login, "", "", `{"email":" Eve@Example.org","password":"`+first+`"}`)
	bearer := func(pair map[string]any) []string {
		return []string{"Authorization", "Bearer " + pair["accessToken"].(string)}
	}

	nobody.call(200, "GET", profile, "", "", "", bearer(pair)...)
	nobody.call(304, "GET", profile, "", "", "", append(bearer(pair), "If-None-Match", `"1"`)...)
	nobody.call(200, "PATCH", profile, "", "", `{"name":"Eve"}`, append(bearer(pair), "If-Match", `"1"`)...)
	nobody.call(412, "PATCH", profile, "", "", `{"name":null}`, append(bearer(pair), "If-Match", `"1"`)...)
	nobody.call(401, "GET", profile, "", "", "", "Authorization", "Bearer invented")
	c.call(401, "GET", profile, "", "", "")
	nobody.call(200, "GET", "/api/v1/documents", "", "", "", bearer(pair)...)
	nobody.call(403, "GET", "/api/v1/admin/users", "", "", "", bearer(pair)...)
	nobody.call(401, "GET", "/api/v1/developer/whoami", "", "", "", bearer(pair)...)

	next := nobody.call(200, "POST", refresh, "", "", `{"refreshToken":"`+pair["refreshToken"].(string)+`"}`)
	nobody.call(200, "POST", refresh, "", "", `{"refreshToken":"`+next["refreshToken"].(string)+`"}`)
	nobody.call(401, "POST", refresh, "", "", `{"refreshToken":"`+pair["refreshToken"].(string)+`"}`)
	nobody.call(401, "GET", profile, "", "", "", bearer(next)...)

	pair = nobody.call(200, "POST", login, "", "", `{"email":"eve@example.org","password":"`+first+`"}`)
	nobody.call(400, "POST", password, "", "", `{"currentPassword":"`+first+`","newPassword":"short"}`, bearer(pair)...)
	nobody.call(401, "POST", password, "", "", `{"currentPassword":"`+second+`","newPassword":"`+second+`"}`, bearer(pair)...)
	nobody.call(204, "POST", password, "", "", `{"currentPassword":"`+first+`","newPassword":"`+second+`"}`, bearer(pair)...)
	nobody.call(204, "POST", logout, "", "", "", bearer(pair)...)
	nobody.call(401, "POST", logout, "", "", "", bearer(pair)...)

	nobody.call(200, "GET", "/.well-known/jwks.json", "", "", "")
	c.call(200, "POST", "/api/v1/admin/signing-keys/rotate", "", "", "", "Idempotency-Key", "the-first-signing-key")
	c.call(200, "POST", "/api/v1/admin/signing-keys/rotate", "", "", "", "Idempotency-Key", "the-first-signing-key")
}

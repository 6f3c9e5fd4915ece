package conformance

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

const jwksPath = "/.well-known/jwks.json"

// tokenChecks checks §5.2: the content of a token, and that only the server can create one (docs/spec/login.md).
func tokenChecks() []promise {
	return []promise{
		{"TheTokenIsASignedAccessToken", func(c *check) {
			p := c.signedIn("developer")
			t := c.read(p.token)
			kid, _ := t.header["kid"].(string)
			if t.header["typ"] != "at+jwt" || t.header["alg"] != "EdDSA" || kid == "" {
				c.broken("the token's header is %s, want typ at+jwt, alg EdDSA and a kid", show(t.header))
			}
			for _, name := range []string{"iss", "sub", "sid", "jti", "scope"} {
				if text, _ := t.claims[name].(string); text == "" {
					c.broken("the claim %s is %s, want a text", name, show(t.claims[name]))
				}
			}
			if t.claims["aud"] == nil || t.claims["sub"] != p.id {
				c.broken("the claims aud and sub are %s and %s, want sub %s", show(t.claims["aud"]), show(t.claims["sub"]), p.id)
			}
			issued, _ := t.claims["iat"].(float64)
			expires, _ := t.claims["exp"].(float64)
			if expires-issued != 900 || c.suite.now().Sub(time.Unix(int64(issued), 0)).Abs() > time.Minute {
				c.broken("iat is %v and exp is %v, want now and 15 minutes later", issued, expires)
			}
			scope, _ := t.claims["scope"].(string)
			var list []any
			for _, name := range strings.Fields(scope) {
				list = append(list, name)
			}
			if !sameScopes(list, roles["developer"]) {
				c.broken("the claim scope is %q, want a developer's", scope)
			}
			key := c.publicKey(kid)
			if !ed25519.Verify(key, []byte(t.signed()), t.signature) {
				c.broken("the token is not signed by the key of that kid in %s", jwksPath)
			}
		}},
		{"TheSigningKeysArePublished", func(c *check) {
			a := c.get(jwksPath).anonymous().send().is(http.StatusOK)
			a.shape(map[string]string{"keys": "array"}).has(fields{"keys[0].kty": "OKP", "keys[0].crv": "Ed25519", "keys[0].alg": "EdDSA", "keys[0].use": "sig"})
			for i := range a.list("keys") {
				if k, _ := a.list("keys")[i].(map[string]any); k["d"] != nil {
					c.broken("%s shows a private key", jwksPath)
				}
			}
		}},
		{"AForgedTokenIs401", func(c *check) {
			p := c.signedIn("viewer")
			t := c.read(p.token)
			key := c.publicKey(t.header["kid"].(string))
			first := ""
			for name, forged := range c.forgeries(t, key) {
				a := c.get(profilePath).bearer(forged).send()
				if a.fails(401, "invalid_token"); first == "" {
					first = a.withoutMoments()
				}
				if a.status != http.StatusUnauthorized || a.withoutMoments() != first {
					a.broken("%s: not the answer every bad token has", name)
				}
			}
			c.get(profilePath).bearer(c.suite.target.Key).send().fails(401, "invalid_token")
			c.get(profilePath).bearer(p.token).send().is(http.StatusOK)
		}},
		{"ATokenIsReadFromItsHeaderAlone", func(c *check) {
			p := c.signedIn("admin")
			for _, name := range []string{"access_token", "token", "authorization", "Authorization"} {
				c.get(profilePath+"?"+name+"="+p.token).anonymous().send().fails(401, "missing_credentials")
			}
			c.get(profilePath).anonymous().with("Cookie", "access_token="+p.token).send().fails(401, "missing_credentials")
			c.get(profilePath).as(p.token).send().fails(401, "missing_credentials")
			for _, scheme := range []string{"Basic ", "Token ", "Bearer", "", "Bearer\t"} {
				if a := c.get(profilePath).anonymous().with("Authorization", scheme+p.token).send(); a.status != http.StatusUnauthorized {
					a.broken("a token behind %q was taken", scheme)
				}
			}
			c.get(profilePath).anonymous().with("Authorization", "bearer "+p.token).send().is(http.StatusOK) // RFC 9110: schemes have no case
		}},
		{"ABearerTokenIsTakenWhereTheEndpointTakesOne", func(c *check) {
			p := c.signedIn("admin")
			for _, e := range c.endpointsByScope() {
				q := e.call()
				a := q.bearer(p.token).send()
				if e.keyOnly {
					a.fails(401, "missing_credentials")
				} else if c.outOfReach(q) {
					a.fails(403, "insufficient_scope")
				} else if a.status == http.StatusUnauthorized || a.text("details.requiredScope") != "" {
					a.broken("an administrator's token is not enough")
				}
			}
			c.get("/api/v1/health").bearer(p.token).send().fails(401, "missing_credentials")
			c.get("/api/v1/developer/whoami").bearer(p.token).send().fails(401, "missing_credentials")
		}},
		{"ARoleGivesItsScopes", func(c *check) {
			for role, scopes := range roles {
				p := c.signedIn(role)
				for _, e := range c.endpointsByScope() {
					if e.keyOnly {
						continue
					}
					q := e.call()
					a := q.bearer(p.token).send()
					if !c.outOfReach(q) && strings.Contains(" "+strings.Join(scopes, " ")+" ", " "+e.scope+" ") {
						if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
							a.broken("the role %s is not enough", role)
						}
					} else {
						a.fails(403, "insufficient_scope").has(fields{"details.requiredScope": e.scope})
					}
				}
			}
		}},
		{"WhereBothAreSentTheKeyDecides", func(c *check) {
			p, k := c.signedIn("admin"), c.newKey(nil, "read")
			both := func(key string) *answer {
				return c.post(docsPath).bearer(p.token).as(key).json(fields{}).send()
			}
			both(k.text).fails(403, "insufficient_scope")
			both("kpsk_nonsense").fails(401, "invalid_api_key")
			c.post(docsPath).bearer("nonsense").json(fields{}).as(c.suite.target.Key).send().fails(400, "validation_error")
		}},
		{"ALoweredRoleHoldsAtOnceAndARaisedOneWithTheNextToken", func(c *check) {
			p := c.signedIn("developer")
			list := func() *answer { return c.get(keysPath + "?limit=1").bearer(p.token).send() }
			list().is(http.StatusOK)
			c.patch(p.path()).json(fields{"role": "viewer"}).send().is(http.StatusOK)
			list().fails(403, "insufficient_scope")
			c.patch(p.path()).json(fields{"role": "developer"}).send().is(http.StatusOK)
			list().is(http.StatusOK)
			c.patch(p.path()).json(fields{"role": "admin"}).send().is(http.StatusOK)
			c.get(usersPath+"?limit=1").bearer(p.token).send().fails(403, "insufficient_scope")
			next := c.refresh(p.refresh).send().is(http.StatusOK)
			c.get(usersPath + "?limit=1").bearer(next.text("accessToken")).send().is(http.StatusOK)
		}},
		{"ADisabledUserIsOutAtOnce", func(c *check) {
			p := c.signedIn("member")
			c.get(profilePath).bearer(p.token).send().is(http.StatusOK)
			c.patch(p.path()).json(fields{"disabled": true}).send().is(http.StatusOK).has(fields{"disabled": true})
			c.get(profilePath).bearer(p.token).send().fails(401, "invalid_token")
			c.refresh(p.refresh).send().fails(401, "invalid_token")
			c.patch(p.path()).json(fields{"disabled": false}).send().is(http.StatusOK)
			c.get(profilePath).bearer(p.token).send().fails(401, "invalid_token")
			p.signIn(c)
		}},
		{"ADeletedUserIsOutAtOnce", func(c *check) {
			p := c.signedIn("member")
			c.delete(p.path()).send().is(http.StatusNoContent)
			c.get(profilePath).bearer(p.token).send().fails(401, "invalid_token")
			c.refresh(p.refresh).send().fails(401, "invalid_token")
			c.login(p.email, p.password).send().fails(401, "invalid_credentials")
			c.newUser(fields{"email": p.email}) // the email is free again
			c.get(profilePath).bearer(p.token).send().fails(401, "invalid_token")
		}},
		{"APasswordThatAnAdministratorSetsEndsTheSessions", func(c *check) {
			p := c.signedIn("member")
			c.patch(p.path()).json(fields{"password": "conformance set by another"}).send().is(http.StatusOK).lacks("password")
			c.get(profilePath).bearer(p.token).send().fails(401, "invalid_token")
			c.login(p.email, p.password).send().fails(401, "invalid_credentials")
			c.login(p.email, "conformance set by another").send().is(http.StatusOK)
		}},
		{"KeysOutliveWhoMadeThem", func(c *check) {
			p := c.signedIn("developer")
			a := c.post(keysPath).bearer(p.token).json(fields{"name": "conformance " + c.suite.mark, "scopes": []string{"read"}}).send().is(http.StatusCreated)
			c.removeKey(a.text("id"))
			a.has(fields{"createdBy": p.id})
			c.post(keysPath).bearer(p.token).json(fields{"name": "conformance", "scopes": []string{"admin"}}).send().fails(403, "insufficient_scope")
			c.delete(p.path()).send().is(http.StatusNoContent)
			c.get("/api/v1/health").as(a.text("key")).send().is(http.StatusOK)
		}},
	}
}

// token is a decoded JWT.
type token struct {
	parts          [3]string
	header, claims map[string]any
	signature      []byte
}

func (t *token) signed() string { return t.parts[0] + "." + t.parts[1] }

// read decodes a token.
func (c *check) read(text string) *token {
	t := &token{}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		c.stop("the access token is no JWT: %d parts", len(parts))
	}
	copy(t.parts[:], parts)
	for i, into := range []*map[string]any{&t.header, &t.claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			c.stop("part %d of the access token: %v", i+1, err)
		}
	}
	var err error
	if t.signature, err = base64.RawURLEncoding.DecodeString(parts[2]); err != nil {
		c.stop("the signature of the access token: %v", err)
	}
	return t
}

// publicKey finds a signing key by its ID.
func (c *check) publicKey(kid string) ed25519.PublicKey {
	a := c.get(jwksPath).anonymous().send().is(http.StatusOK)
	for i, id := range a.texts("keys", "kid") {
		key, _ := a.list("keys")[i].(map[string]any)
		x, _ := key["x"].(string)
		if raw, err := base64.RawURLEncoding.DecodeString(x); id == kid && err == nil && len(raw) == ed25519.PublicKeySize {
			return raw
		}
	}
	c.stop("no Ed25519 key with the token's kid is in %s", jwksPath)
	return nil
}

// forgeries returns forged tokens, derived from a valid one (faults T1 to T4).
func (c *check) forgeries(t *token, public ed25519.PublicKey) map[string]string {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		c.stop("the suite's own key: %v", err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.stop("the suite's own key: %v", err)
	}
	part := func(m map[string]any) string {
		raw, _ := json.Marshal(m) // texts and numbers
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	with := func(m map[string]any, members fields) map[string]any {
		out := map[string]any{}
		for name, v := range m {
			out[name] = v
		}
		for name, v := range members {
			if _, leftOut := v.(gone); leftOut {
				delete(out, name)
			} else {
				out[name] = v
			}
		}
		return out
	}
	bySomebody := func(header, claims fields) string {
		text := part(with(t.header, header)) + "." + part(with(t.claims, claims))
		return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, []byte(text)))
	}
	byMAC := func(alg string, secret []byte) string {
		text := part(with(t.header, fields{"alg": alg})) + "." + t.parts[1]
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	byCurve := func() string {
		text := part(with(t.header, fields{"alg": "ES256"})) + "." + t.parts[1]
		sum := sha256.Sum256([]byte(text))
		signature, _ := ecdsa.SignASN1(rand.Reader, curve, sum[:]) // signed with a new key
		return text + "." + base64.RawURLEncoding.EncodeToString(signature)
	}
	unsigned := func(alg string) string {
		return part(with(t.header, fields{"alg": alg})) + "." + part(with(t.claims, fields{"scope": "admin"})) + "."
	}
	jwk := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(private.Public().(ed25519.PublicKey))}
	x := base64.RawURLEncoding.EncodeToString(public)
	return map[string]string{
		"alg none": unsigned("none"), "alg None": unsigned("None"), "alg NONE": unsigned("NONE"), "no alg": part(with(t.header, fields{"alg": gone{}})) + "." + t.parts[1] + ".",
		"no alg, signed":             part(with(t.header, fields{"alg": gone{}})) + "." + t.parts[1] + "." + t.parts[2],
		"HS256 under the public key": byMAC("HS256", public), "HS256 under its base64": byMAC("HS256", []byte(x)), "HS256 under nothing": byMAC("HS256", nil),
		"another curve": byCurve(), "another key": bySomebody(nil, nil), "another key, embedded": bySomebody(fields{"jwk": jwk}, nil),
		"jku": bySomebody(fields{"jku": "http://127.0.0.1:9/jwks.json"}, nil), "x5u": bySomebody(fields{"x5u": "http://127.0.0.1:9/cert.pem"}, nil),
		"kid of a path": bySomebody(fields{"kid": "../../../../etc/passwd"}, nil), "kid of SQL": bySomebody(fields{"kid": "x' UNION SELECT 'y'--"}, nil),
		"kid of a URL": bySomebody(fields{"kid": "http://127.0.0.1:9/key"}, nil), "no kid": bySomebody(fields{"kid": gone{}}, nil), "kid of a number": bySomebody(fields{"kid": 1}, nil),
		"crit": bySomebody(fields{"crit": []string{"exp"}}, nil), "b64 false": bySomebody(fields{"b64": false, "crit": []string{"b64"}}, nil),
		"typ JWT": bySomebody(fields{"typ": "JWT"}, nil), "no typ": bySomebody(fields{"typ": gone{}}, nil),
		"more scope under the old signature":  t.parts[0] + "." + part(with(t.claims, fields{"scope": strings.Join(allScopes, " ")})) + "." + t.parts[2],
		"a later end under the old signature": t.parts[0] + "." + part(with(t.claims, fields{"exp": 4102444800})) + "." + t.parts[2],
		"one bit of the signature":            t.signed() + "." + flip(t.parts[2], 3), "the signature cut off": t.signed() + ".", "half a signature": t.signed() + "." + t.parts[2][:40],
		"a longer signature": t.signed() + "." + t.parts[2] + "AAAA", "padding": t.signed() + "." + t.parts[2] + "==", "a fourth part": t.signed() + "." + t.parts[2] + ".x",
		"two parts": t.signed(), "no dots": strings.ReplaceAll(t.signed(), ".", ""), "dots": strings.Repeat(".", 3000), "JSON": `{"alg":"none"}`,
		"ten thousand characters": strings.Repeat("e", 10_000), "x": "x",
	}
}

package conformance

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// recordShape is the record of docs/spec/apikeys.md.
var recordShape = map[string]string{
	"id": "string", "name": "string", "hint": "string", "scopes": "array", "state": "string", "expiresAt": "time|null",
	"rateLimit": "object", "rateLimit.requestsPerMinute": "integer", "rateLimit.inherited": "boolean",
	"quota": "object|null", "subjectId": "string|null", "agentId": "string|null", "allowedIps": "array", "metadata": "object",
	"createdAt": "time", "createdBy": "string", "updatedAt": "time", "lastUsedAt": "time|null", "secrets": "array",
	"secrets[0].hint": "string", "secrets[0].createdAt": "time", "secrets[0].validUntil": "time|null",
	"secrets[0].lastUsedAt": "time|null", "revokedAt": "time|null", "revokeReason": "string|null", "revision": "integer",
}

// keyIDs matches the IDs of API keys.
var keyIDs = regexp.MustCompile(`^key_[0-7][0-9a-hjkmnp-tv-z]{25}$`)

// apiKeyChecks checks §2.1: keys and the response to their creation.
func apiKeyChecks() []promise {
	list := []promise{
		{"ANewKeyHasTheWholeRecord", func(c *check) {
			a := c.newKey(nil, "read", "write").made
			a.shape(recordShape).head("ETag", fmt.Sprintf(`"%d"`, a.integer("revision")))
			a.has(fields{
				"name": "conformance " + c.suite.mark, "scopes": []string{"read", "write"}, "state": "active", "expiresAt": nil,
				"rateLimit.requestsPerMinute": c.suite.limit, "rateLimit.inherited": true, "quota": nil, "subjectId": nil, "agentId": nil,
				"allowedIps": []string{}, "metadata": fields{}, "createdBy": c.suite.keyID, "lastUsedAt": nil, "revokedAt": nil, "revokeReason": nil,
				"secrets[0].validUntil": nil,
			})
			if !keyIDs.MatchString(a.text("id")) {
				a.broken("id is %q, want key_ and 26 characters", a.text("id"))
			}
			if len(a.list("secrets")) != 1 {
				a.broken("a new key has %d secrets", len(a.list("secrets")))
			}
		}},
		{"TheKeyTextCarriesItsChecksum", func(c *check) {
			a := c.newKey(nil, "read").made
			text := a.text("key")
			if !regexp.MustCompile(`^kpsk_[0-9A-Za-z]{36}$`).MatchString(text) {
				c.stop("the key is not kpsk_ and 36 letters and digits, but %d bytes", len(text))
			}
			if text[35:] != checksum(text[:35]) {
				c.broken("the last six characters of a new key are not the CRC-32 of the rest in base62")
			}
			a.has(fields{"hint": text[:9], "secrets[0].hint": text[:9]})
		}},
		{"TheKeyIsShownOnceOnly", func(c *check) {
			k := c.newKey(nil, "read")
			for _, path := range []string{k.path(), keysPath + "?limit=200", k.path() + "/limits", k.path() + "/usage"} {
				a := c.get(path).send().is(http.StatusOK)
				if strings.Contains(string(a.body), k.text) {
					c.broken("%s shows the key again", path)
				}
				a.lacks("key")
			}
			if a := c.patch(k.path()).json(fields{"name": "conformance renamed"}).send(); strings.Contains(string(a.body), k.text) {
				c.broken("PATCH shows the key again")
			}
		}},
		{"ANewKeyWorksAtOnce", func(c *check) {
			c.get("/api/v1/health").as(c.newKey(nil, "read").text).send().is(http.StatusOK)
		}},
		{"EverythingChosenAtCreationIsKept", func(c *check) {
			expires := c.suite.now().Add(48 * time.Hour).UTC().Truncate(time.Second)
			want := fields{
				"name": "conformance ключ 🔑", "scopes": []string{"read", "memory:read"}, "expiresAt": expires.Format(time.RFC3339),
				"quota": fields{"daily": 1000, "monthly": 20000}, "subjectId": "subject-1", "agentId": "agent:1@x",
				"allowedIps": []string{"0.0.0.0/0", "::/0"}, "metadata": fields{"team": "search", "n": 1.5, "on": true},
			}
			body := fields{"rateLimit": fields{"requestsPerMinute": 7}}
			for name, v := range want {
				body[name] = v
			}
			k := c.newKey(body, "read", "memory:read")
			if !k.made.moment("expiresAt").Equal(expires) {
				k.made.broken("expiresAt is another moment than was sent")
			}
			delete(want, "expiresAt")
			want["rateLimit.requestsPerMinute"], want["rateLimit.inherited"] = 7, false
			k.made.has(want)
			read := c.get(k.path()).send().is(http.StatusOK)
			read.has(want).has(fields{"expiresAt": k.made.text("expiresAt"), "createdAt": k.made.text("createdAt"), "revision": k.made.integer("revision")})
		}},
		{"AnExpiryWithAnOffsetIsTurnedToUTC", func(c *check) {
			at := c.suite.now().Add(24 * time.Hour).Truncate(time.Second)
			k := c.newKey(fields{"expiresAt": at.In(time.FixedZone("", 2*3600+1800)).Format(time.RFC3339)}, "read")
			k.made.shape(map[string]string{"expiresAt": "time"})
			if !k.made.moment("expiresAt").Equal(at) {
				k.made.broken("expiresAt is another moment than was sent")
			}
		}},
		{"ScopesAreInOneOrder", func(c *check) {
			k := c.newKey(nil, "admin", "write", "read")
			got := k.made.list("scopes")
			if !slices.Equal(got, []any{"read", "write", "admin"}) && !slices.Equal(got, []any{"admin", "write", "read"}) {
				k.made.broken("scopes are not those that were asked for")
			}
		}},
	}
	return append(list, apiKeyRefusals()...)
}

// apiKeyRefusals are invalid bodies of a creation. None of them creates a key.
func apiKeyRefusals() []promise {
	past := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	tooMuch := fields{}
	for i := range 33 {
		tooMuch[fmt.Sprintf("m%d", i)] = i
	}
	cases := []struct {
		name         string
		change       fields // of a valid body; gone leaves the field out
		field, issue string
	}{
		{"WithoutAName", fields{"name": gone{}}, "name", "required"},
		{"WithANullName", fields{"name": nil}, "name", "required|type"},
		{"WithAnEmptyName", fields{"name": ""}, "name", "required"},
		{"WithABlankName", fields{"name": "  \t "}, "name", "required"},
		{"WithANumberForAName", fields{"name": 7}, "name", "type"},
		{"WithAVeryLongName", fields{"name": strings.Repeat("n", 10_000)}, "name", "too_long"},
		{"WithoutScopes", fields{"scopes": gone{}}, "scopes", "required"},
		{"WithNoScope", fields{"scopes": []string{}}, "scopes", "required|too_short"},
		{"WithAnUnknownScope", fields{"scopes": []string{"read", "everything"}}, "scopes[1]", "not_allowed|unknown|unsupported|invalid"},
		{"WithAScopeInCapitals", fields{"scopes": []string{"READ"}}, "scopes[0]", "not_allowed|unknown|unsupported|invalid"},
		{"WithTextForScopes", fields{"scopes": "read"}, "scopes", "type"},
		{"WithANumberAmongScopes", fields{"scopes": []any{"read", 1}}, "scopes[1]", "type"},
		{"ExpiredAlready", fields{"expiresAt": past}, "expiresAt", "too_small|not_allowed|invalid|expired"},
		{"WithWordsForATime", fields{"expiresAt": "tomorrow"}, "expiresAt", "format"},
		{"WithADateForATime", fields{"expiresAt": "2099-01-01"}, "expiresAt", "format"},
		{"WithANumberForATime", fields{"expiresAt": 4102444800}, "expiresAt", "type"},
		{"WithANullElementInRateLimit", fields{"rateLimit": fields{"requestsPerMinute": "7"}}, "rateLimit.requestsPerMinute", "type"},
		{"WithAFractionOfARequest", fields{"rateLimit": fields{"requestsPerMinute": 1.5}}, "rateLimit.requestsPerMinute", "type"},
		{"WithNoRequestsAMinute", fields{"rateLimit": fields{"requestsPerMinute": 0}}, "rateLimit.requestsPerMinute", "too_small"},
		{"WithNegativeRequestsAMinute", fields{"rateLimit": fields{"requestsPerMinute": -1}}, "rateLimit.requestsPerMinute", "too_small"},
		{"WithMoreThanTheTier", fields{"rateLimit": fields{"requestsPerMinute": 1_000_000_000}}, "rateLimit.requestsPerMinute", "too_large"},
		{"WithAHugeNumber", fields{"rateLimit": fields{"requestsPerMinute": 1e300}}, "rateLimit.requestsPerMinute", "type|too_large"},
		{"WithAnUnknownLimit", fields{"rateLimit": fields{"perSecond": 1}}, "rateLimit.perSecond", "unknown"},
		{"WithANegativeQuota", fields{"quota": fields{"daily": -1}}, "quota.daily", "too_small"},
		{"WithTextForAQuota", fields{"quota": "much"}, "quota", "type"},
		{"WithABadAddress", fields{"allowedIps": []string{"10.0.0.0/8", "nowhere"}}, "allowedIps[1]", "format"},
		{"WithABadMask", fields{"allowedIps": []string{"10.0.0.0/33"}}, "allowedIps[0]", "format"},
		{"WithMetadataThatIsAList", fields{"metadata": []string{"x"}}, "metadata", "type"},
		{"WithNestedMetadata", fields{"metadata": fields{"deep": fields{"er": 1}}}, "metadata.deep", "type"},
		{"WithTooMuchMetadata", fields{"metadata": tooMuch}, "metadata", "too_long|too_large"},
		{"WithABadSubject", fields{"subjectId": "two words"}, "subjectId", "format"},
		{"WithAnEmptyAgent", fields{"agentId": ""}, "agentId", "format|required|too_short"},
		{"WithAMemberNobodyKnows", fields{"colour": "red"}, "colour", "unknown"},
		{"WithAMemberInAnotherCase", fields{"Name": "x"}, "Name", "unknown"},
	}
	for _, member := range []string{"id", "hint", "state", "key", "createdAt", "createdBy", "updatedAt", "lastUsedAt", "secrets", "revokedAt", "revision", "tier"} {
		cases = append(cases, struct {
			name         string
			change       fields
			field, issue string
		}{"WithAMemberThatIsNotForClients " + member, fields{member: "x"}, member, "unknown"})
	}
	var list []promise
	for _, bad := range cases {
		list = append(list, promise{"AKeyIsRefused/" + bad.name, func(c *check) {
			body := fields{"name": "conformance " + c.suite.mark + " refused", "scopes": []string{"read"}}
			for name, v := range bad.change {
				if _, leftOut := v.(gone); leftOut {
					delete(body, name)
				} else {
					body[name] = v
				}
			}
			a := c.post(keysPath).json(body).send().fails(http.StatusBadRequest, "validation_error", bad.field, bad.issue)
			if id := a.text("id"); id != "" {
				c.removeKey(id)
			}
		}})
	}
	return list
}

// gone marks a field that is left out of a body.
type gone struct{}

// checksum returns the end of a key (docs/spec/apikeys.md): CRC-32 (IEEE) in six characters of base62, padded with 0 on the left.
func checksum(text string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	n := crc32.ChecksumIEEE([]byte(text))
	var tail [6]byte
	for i := len(tail) - 1; i >= 0; i-- {
		tail[i] = digits[n%62]
		n /= 62
	}
	return string(tail[:])
}

// strangersKey returns a well-formed key that does not exist.
func (c *check) strangersKey() string {
	body := strings.NewReplacer("-", "0").Replace(fmt.Sprintf("%-30s", c.suite.mark+fmt.Sprint(counter.Add(1))))
	text := "kpsk_" + strings.ReplaceAll(body, " ", "Z")
	return text + checksum(text)
}

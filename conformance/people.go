package conformance

import (
	"net/http"
	"strings"
	"time"
)

const (
	usersPath      = "/api/v1/admin/users"
	workspacesPath = "/api/v1/admin/workspaces"
	profilePath    = "/api/v1/profile"
	loginPath      = "/api/auth/login"
	refreshPath    = "/api/auth/refresh"
	logoutPath     = "/api/auth/logout"
	passwordPath   = "/api/auth/password"
)

// unknownUser is a well-formed ID of a user that does not exist.
const unknownUser = "usr_01kakakakafkhvayayayayayay"

// userShape is the record of docs/spec/admin.md.
var userShape = map[string]string{
	"id": "string", "email": "string", "name": "string|null", "role": "string", "workspaceId": "string", "disabled": "boolean",
	"createdAt": "time", "lastLoginAt": "time|null", "revision": "integer",
}

// person is a user that the suite created, with a random password.
type person struct {
	id, email, password string
	token, refresh      string // of the latest login
	made                *answer
}

// path returns the path of the user's record.
func (p person) path() string { return usersPath + "/" + p.id }

// newUser creates a user that is deleted when the check ends. The given fields replace the suite's.
func (c *check) newUser(members fields) person {
	body := fields{"email": c.suite.name() + "@example.org", "role": "member"}
	for name, v := range members {
		body[name] = v
	}
	a := c.post(usersPath).json(body).send().is(http.StatusCreated)
	p := person{id: a.text("id"), email: a.text("email"), password: a.text("password"), made: a}
	if given, ok := body["password"].(string); ok {
		p.password = given
	}
	if p.id == "" || p.password == "" {
		c.stop("want id and password of a new user\n  %s", a.describe())
	}
	c.remove(p.path())
	return p
}

// signedIn creates a user with a role and signs it in.
func (c *check) signedIn(role string) person {
	p := c.newUser(fields{"role": role})
	p.signIn(c)
	return p
}

// signIn signs the user in and keeps both tokens.
func (p *person) signIn(c *check) *answer {
	a := c.login(p.email, p.password).send().is(http.StatusOK)
	p.token, p.refresh = a.text("accessToken"), a.text("refreshToken")
	if p.token == "" || p.refresh == "" {
		c.stop("want accessToken and refreshToken of a login\n  %s", a.describe())
	}
	return a
}

func (c *check) login(email, password string) *call {
	return c.post(loginPath).anonymous().json(fields{"email": email, "password": password})
}

func (c *check) refresh(token string) *call {
	return c.post(refreshPath).anonymous().json(fields{"refreshToken": token})
}

// tenant is a second workspace with its own admin and key.
type tenant struct {
	id    string
	admin person
	key   string // with all scopes
	at    time.Time
}

// path returns the path of the workspace's record.
func (t *tenant) path() string { return workspacesPath + "/" + t.id }

// tenantName is the name of the suite's workspace. Workspaces are never deleted, so a run uses the one that an earlier run
// has left suspended.
const tenantName = "conformance"

// tenant returns the run's second workspace. If the target's key is not the operator's, there is none, and the check is
// skipped.
func (c *check) tenant() *tenant {
	second := &c.suite.second
	second.Lock()
	defer second.Unlock()
	if second.tenant == nil {
		second.tenant = &tenant{}
		c.fill(second.tenant)
	} else if c.suite.now().Sub(second.at) > 10*time.Minute { // an access token lives for 15
		second.admin.signIn(c)
		second.at = c.suite.now()
	}
	t := *second.tenant // other checks can renew the token meanwhile
	return &t
}

// fill claims a workspace for t and creates its admin and its key.
func (c *check) fill(t *tenant) {
	t.id, t.at = c.claimTenant(), c.suite.now()
	admin := c.post(usersPath).json(fields{"email": c.suite.name() + "@example.org", "role": "admin", "workspaceId": t.id}).send().is(http.StatusCreated)
	t.admin = person{id: admin.text("id"), email: admin.text("email"), password: admin.text("password"), made: admin}
	for _, id := range c.get(usersPath+"?limit=200&workspace="+t.id).send().is(http.StatusOK).texts("items", "id") {
		if id != t.admin.id {
			c.delete(usersPath + "/" + id).send()
		}
	}
	t.admin.signIn(c)
	key := c.post(keysPath).bearer(t.admin.token).json(fields{"name": "conformance " + c.suite.mark, "scopes": allScopes}).send().is(http.StatusCreated)
	t.key = key.text("key")
}

// claimTenant takes over a workspace of an earlier run, or creates one.
func (c *check) claimTenant() string {
	a := c.get(workspacesPath + "?limit=200").send()
	if a.status == http.StatusForbidden {
		c.skip("the key is not of the operator workspace")
	}
	a.is(http.StatusOK)
	for i, name := range a.texts("items", "name") {
		record, _ := a.list("items")[i].(map[string]any)
		id, _ := record["id"].(string)
		if name != tenantName || record["suspended"] != true {
			continue
		}
		// Only one of two concurrent runs gets it: the other has an old revision.
		tag := c.get(workspacesPath + "/" + id).send().is(http.StatusOK).header.Get("ETag")
		if c.patch(workspacesPath+"/"+id).with("If-Match", tag).json(fields{"suspended": false, "tier": "unlimited"}).send().status == http.StatusOK {
			return id
		}
	}
	return c.post(workspacesPath).json(fields{"name": tenantName, "tier": "unlimited"}).send().is(http.StatusCreated).text("id")
}

// leaveTenant suspends the run's second workspace and removes its admin and its key.
func (s *suite) leaveTenant(c *check) {
	t := s.second.tenant
	if t == nil || t.id == "" {
		return
	}
	for _, id := range c.get(keysPath+"?limit=200&state=active").as(t.key).send().texts("items", "id") {
		c.delete(keysPath + "/" + id).as(t.key).send()
	}
	c.patch(t.path()).json(fields{"suspended": true, "tier": "free"}).send().is(http.StatusOK)
}

// roles are the roles of docs/spec/workspaces.md, with their scopes in the order of §5.3.
var roles = map[string][]string{
	"viewer":    {"read", "analytics:read"},
	"member":    {"read", "write", "analytics:read", "memory:read", "memory:write"},
	"developer": {"read", "write", "developer:manage", "analytics:read", "memory:read", "memory:write"},
	"admin":     allScopes,
}

// sameScopes reports whether a list contains exactly these scopes, in any order.
func sameScopes(got []any, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	all := " " + strings.Join(want, " ") + " "
	for _, scope := range got {
		name, ok := scope.(string)
		if !ok || !strings.Contains(all, " "+name+" ") {
			return false
		}
	}
	return true
}

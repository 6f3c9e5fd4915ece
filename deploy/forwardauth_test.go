package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/knadh/koanf/parsers/yaml"

	"keepsake/internal/govern/auth"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/api/backend"
	"keepsake/internal/web/endpoint"
)

// identity are the headers that only Keepsake can set.
var identity = []string{
	"X-Keepsake-Key-Id", "X-Keepsake-User-Id", "X-Keepsake-Workspace-Id", "X-Keepsake-Scopes", "X-Keepsake-Status", "X-Keepsake-Error", "X-Keepsake-Backend",
}

// limits are the headers that every caller gets who has a credential. API keys also get those of keyLimits.
var (
	limits = []string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Daily-Remaining", "X-RateLimit-Monthly-Remaining",
	}
	keyLimits = []string{"X-RateLimit-Key-Limit", "X-RateLimit-Key-Remaining"}
)

// TestForwardAuthRecipesStripIdentity reads the recipes: each removes or replaces the headers that a client can forge.
func TestForwardAuthRecipesStripIdentity(t *testing.T) {
	t.Parallel()
	patterns := map[string]string{ // of what replaces or removes the header NAME
		"nginx.conf":  `(?m)^\s+proxy_set_header NAME (\$keepsake_\w+|"");`,
		"traefik.yml": `(?m)^\s+NAME: ""$`,
		"envoy.yaml":  `(?mi)^\s+- remove: NAME$`,
	}
	for file, pattern := range patterns {
		text := read(t, filepath.Join("forward-auth", file))
		for _, name := range identity {
			if !regexp.MustCompile(strings.Replace(pattern, "NAME", name, 1)).MatchString(text) {
				t.Errorf("%s does not remove %s", file, name)
			}
		}
	}
	text := read(t, filepath.Join("forward-auth", "Caddyfile"))
	for _, name := range []string{"X-Keepsake*", "X_Keepsake*"} {
		if !strings.Contains(text, "\trequest_header -"+name+"\n") {
			t.Errorf("the Caddyfile does not remove %s", name)
		}
	}
	if imports, services := strings.Count(text, "import strip"), strings.Count(text, "reverse_proxy"); imports != services {
		t.Errorf("the Caddyfile removes headers for %d of %d services", imports, services)
	}
	for _, file := range []string{"traefik.yml", "envoy.yaml"} {
		if _, err := yaml.Parser().Unmarshal([]byte(read(t, filepath.Join("forward-auth", file)))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestForwardAuthRecipesAskWhatIsServed sends what the recipes ask to /forward-auth.
func TestForwardAuthRecipesAskWhatIsServed(t *testing.T) {
	t.Parallel()
	clock := &apitest.Clock{}
	place := apitest.New(clock.Now, apitest.Tiers())
	r := endpoint.NewRegistry()
	backend.AddForwardAuth(r)
	surface, err := backend.New(place.Options(r))
	if err != nil {
		t.Fatal(err)
	}
	handler := backend.ForwardAuthPaths(surface)
	key := place.Key(apitest.Operator, auth.All, nil)
	for file, c := range map[string]struct {
		pattern, method, before, after string
		asked                          int
	}{
		"nginx.conf":  {`set \$demand "(.*)";`, "GET", "/forward-auth?", "&carry429=true", 2},
		"Caddyfile":   {`import keepsake (.*)`, "GET", "/forward-auth?", "", 2},
		"traefik.yml": {`address: http://127.0.0.1:8081(.*)`, "GET", "", "", 2},
		"envoy.yaml":  {`path_prefix: (.*)`, "POST", "", "/orders/7?cost=9", 1},
	} {
		asked := regexp.MustCompile(c.pattern).FindAllStringSubmatch(read(t, filepath.Join("forward-auth", file)), -1)
		if len(asked) != c.asked {
			t.Errorf("%s asks %d questions, want %d", file, len(asked), c.asked)
		}
		for _, question := range asked {
			req := httptest.NewRequest(c.method, c.before+question[1]+c.after, nil)
			req.Header.Set("X-API-Key", key)
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, req); w.Code != http.StatusOK {
				t.Errorf("%s: %s is answered %d %s", file, req.URL, w.Code, w.Body)
			}
		}
	}
}

func TestForwardAuthBehindNginx(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "runs nginx, a service and the program")
	b := newProtected(t, func(t *testing.T, b *protected) *exec.Cmd {
		return nginx(t, b.adapt("nginx.conf", "listen 8000;", "listen "+b.address+";"))
	})
	b.judges()
	b.want(answer{"GET", "/.keepsake", b.reader, nil}, http.StatusNotFound, "") // only nginx itself can ask
	b.process.Stop()
	b.want(answer{"GET", "/orders", b.reader, nil}, http.StatusServiceUnavailable, "unavailable")
}

func TestForwardAuthBehindCaddy(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "runs Caddy, a service and the program")
	b := newProtected(t, func(t *testing.T, b *protected) *exec.Cmd {
		return caddy(t, b.adapt("Caddyfile", "\n:8000 {", "\nhttp://"+b.address+" {"))
	})
	b.judges()
	b.process.Stop()
	b.want(answer{"GET", "/orders", b.reader, nil}, http.StatusBadGateway, "")
}

// protected is a service behind a proxy that asks an instance.
type protected struct {
	t       *testing.T
	process *programtest.Process
	service *httptest.Server
	address string // of the proxy

	mu   sync.Mutex
	last *http.Request // that reached the service; nil if none did
	body string        // of it

	reader, readerID string // API keys
}

func newProtected(t *testing.T, proxy func(*testing.T, *protected) *exec.Cmd) *protected {
	b := &protected{t: t}
	b.service = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.service.Close)
	b.process = programtest.Start(t, filepath.Join(t.TempDir(), "data"), programtest.Env("KEEPSAKE_TRUSTED_PROXIES=127.0.0.1/32"))
	// Caddy listens at all addresses, also if its configuration names one.
	b.address = net.JoinHostPort("127.0.0.1", enginetest.FreePort(t, net.IPv4zero))
	runProxy(t, proxy(t, b))
	await.Until(t, "the proxy answers", func() bool {
		res, err := http.Get("http://" + b.address + "/public")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	b.reader, b.readerID = b.key(nil, "read")
	return b
}

// serve is the service. It answers with the status in the header X-Want.
func (b *protected) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	b.last, b.body = r, string(body)
	b.mu.Unlock()
	switch r.Header.Get("X-Want") {
	case "401":
		w.Header().Set("WWW-Authenticate", "Service")
		w.WriteHeader(http.StatusUnauthorized)
	case "403":
		w.WriteHeader(http.StatusForbidden)
	case "500":
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = io.WriteString(w, `{"error":"of the service"}`)
}

// refusesAmbiguousPaths sends paths that a proxy and a service can read in different ways, as they are. None reaches the service.
func (b *protected) refusesAmbiguousPaths() {
	b.t.Helper()
	for _, path := range []string{
		"/public#/../reports/7", "/public#", "/public;/../reports/7", "/orders;/x", `/public\..\reports\7`, `/orders\x`,
		"/public%23/../reports/7", "/orders%3B/x", "/orders%3b/x", "/orders%5Cx", "/orders%5cx",
	} {
		b.mu.Lock()
		b.last = nil
		b.mu.Unlock()
		conn, err := net.Dial("tcp", b.address)
		if err != nil {
			b.t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\nConnection: close\r\n\r\n", path, b.address, b.reader)
		answer, _ := io.ReadAll(conn) // an unclean end is no concern of this test
		conn.Close()
		b.mu.Lock()
		if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || b.last != nil {
			b.t.Errorf("%s: got %.40q, reached the service: %v", path, answer, b.last != nil)
		}
		b.mu.Unlock()
	}
}

// adapt puts the addresses of this test in place of those of a recipe.
func (b *protected) adapt(file string, more ...string) string {
	text := read(b.t, filepath.Join("forward-auth", file))
	replace := append([]string{
		"127.0.0.1:9000", strings.TrimPrefix(b.service.URL, "http://"), "127.0.0.1:8081", strings.TrimPrefix(b.process.BackendURL, "http://"),
	}, more...)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			b.t.Fatalf("%s does not say %q", file, replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(text)
}

// key creates an API key with scopes and other members.
func (b *protected) key(members map[string]any, scopes ...string) (text, id string) {
	b.t.Helper()
	body := map[string]any{"name": "client", "scopes": scopes}
	for name, value := range members {
		body[name] = value
	}
	created := b.process.Must(http.StatusCreated, "POST", "/api/v1/developer/api-keys", body)
	return created["key"].(string), created["id"].(string)
}

// token signs a new user in.
func (b *protected) token() (token, userID string) {
	b.t.Helper()
	user := b.process.Must(http.StatusCreated, "POST", "/api/v1/admin/users", map[string]any{"email": "reader@example.org", "role": "viewer"})
	login := b.process.Must(http.StatusOK, "POST", "/api/auth/login", map[string]any{"email": "reader@example.org", "password": user["password"]})
	return login["accessToken"].(string), user["id"].(string)
}

// answer is a request to the proxy. headers are pairs.
type answer struct {
	method, path, key string
	headers           []string
}

// want sends a request through the proxy and checks the status and the error. A refusal must not reach the service; what
// reaches it must not have a header that the client forged.
func (b *protected) want(a answer, status int, code string) (res *http.Response, reached *http.Request) {
	b.t.Helper()
	b.mu.Lock()
	b.last = nil
	b.mu.Unlock()
	body := ""
	if a.method == http.MethodPost {
		body = `{"item":7}`
	}
	req, err := http.NewRequestWithContext(context.Background(), a.method, "http://"+b.address+a.path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if a.key != "" {
		req.Header.Set("X-API-Key", a.key)
	}
	for _, name := range slices.Concat(identity, limits, keyLimits) {
		req.Header.Set(name, "forged")
	}
	for _, name := range identity { // some services read these as the same headers
		req.Header[strings.ReplaceAll(name, "-", "_")] = []string{"forged"}
		req.Header[strings.Replace(name, "Keepsake-", "Keepsake_", 1)] = []string{"forged"}
	}
	req.Header.Set("Accept-Version", "99") // of the service
	for i := 0; i < len(a.headers); i += 2 {
		req.Header.Set(a.headers[i], a.headers[i+1])
	}
	res, err = programtest.Client.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	var failure struct{ Error string }
	_ = json.Unmarshal(text, &failure) // some answers are pages of the proxy
	if res.StatusCode != status || code != "" && failure.Error != code {
		b.t.Errorf("%s %s: got %d %s, want %d %s", a.method, a.path, res.StatusCode, text, status, code)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if reached = b.last; reached == nil {
		return res, nil
	}
	for name, values := range reached.Header {
		for _, v := range values {
			if v == "forged" || strings.ContainsAny(v, "{}") {
				b.t.Errorf("%s %s: the service gets %s: %s", a.method, a.path, name, v)
			}
		}
	}
	if b.body != body || reached.Method != a.method || reached.Header.Get("Accept-Version") != "99" {
		b.t.Errorf("%s %s: the service gets %s with %q and %v", a.method, a.path, reached.Method, b.body, reached.Header)
	}
	return res, reached
}

// passes wants that a request reaches the service, with the identity of its sender.
func (b *protected) passes(a answer, keyID, userID string) (res *http.Response, reached *http.Request) {
	b.t.Helper()
	res, reached = b.want(a, http.StatusOK, "of the service")
	if reached == nil {
		b.t.Fatalf("%s %s did not reach the service", a.method, a.path)
	}
	for name, want := range map[string]string{
		"X-Keepsake-Key-Id": keyID, "X-Keepsake-User-Id": userID, "X-Keepsake-Status": "", "X-Keepsake-Error": "", "X-Keepsake-Backend": "",
		"X-API-Key": "", "Authorization": "",
	} {
		if got := reached.Header.Get(name); got != want {
			b.t.Errorf("%s %s: the service gets %s %q, want %q", a.method, a.path, name, got, want)
		}
	}
	for _, name := range []string{"X-Keepsake-Workspace-Id", "X-Keepsake-Scopes"} {
		if reached.Header.Get(name) == "" {
			b.t.Errorf("%s %s: the service gets no %s", a.method, a.path, name)
		}
	}
	b.carries(a, "the service", reached.Header, keyID != "")
	b.carries(a, "the client", res.Header, keyID != "")
	return res, reached
}

// carries wants the rate-limit headers, and those of API keys only if it was one.
func (b *protected) carries(a answer, who string, h http.Header, byKey bool) {
	b.t.Helper()
	for _, name := range limits {
		if !regexp.MustCompile(`^\d+$`).MatchString(h.Get(name)) {
			b.t.Errorf("%s %s: %s gets %s %q", a.method, a.path, who, name, h.Get(name))
		}
	}
	for _, name := range keyLimits {
		if (h.Get(name) != "") != byKey {
			b.t.Errorf("%s %s: %s gets %s %q", a.method, a.path, who, name, h.Get(name))
		}
	}
}

// refused wants that a request does not reach the service, and the headers of the refusal.
func (b *protected) refused(a answer, status int, code string) {
	b.t.Helper()
	res, reached := b.want(a, status, code)
	if reached != nil {
		b.t.Errorf("%s %s reached the service", a.method, a.path)
	}
	if (res.Header.Get("WWW-Authenticate") != "") != (status == 401) || (res.Header.Get("Retry-After") != "") != (status == 429) {
		b.t.Errorf("%s %s: the client gets %d with %v", a.method, a.path, status, res.Header)
	}
	if media := res.Header.Get("Content-Type"); media != "application/json" {
		b.t.Errorf("%s %s: the client gets %s", a.method, a.path, media)
	}
	b.carries(a, "the client", res.Header, status != 401)
}

// judges runs every path of a proxy: 200, 401, 403 and 429.
func (b *protected) judges() {
	b.t.Helper()
	b.refusesAmbiguousPaths()
	for _, method := range []string{"GET", "POST", "DELETE"} {
		b.passes(answer{method, "/orders?next=%2F&cost=9", b.reader, nil}, b.readerID, "")
	}
	b.passes(answer{"GET", "/orders", "", []string{"Authorization", "Bearer " + b.reader}}, b.readerID, "")
	token, userID := b.token()
	b.passes(answer{"GET", "/orders", "", []string{"Authorization", "Bearer " + token}}, "", userID)

	b.refused(answer{"GET", "/orders", "", nil}, 401, "missing_credentials")
	b.refused(answer{"POST", "/orders", "kpsk_wrong", nil}, 401, "invalid_api_key")
	b.refused(answer{"GET", "/orders", "", []string{"Authorization", "Bearer x.y.z"}}, 401, "invalid_token")
	b.refused(answer{"GET", "/reports/7", b.reader, nil}, 403, "insufficient_scope")

	// The proxy says which address the client has; what the client says changes nothing.
	inside, insideID := b.key(map[string]any{"allowedIps": []string{"127.0.0.1/32"}}, "read")
	outside, _ := b.key(map[string]any{"allowedIps": []string{"203.0.113.0/24"}}, "read")
	for _, forged := range []string{"203.0.113.9", "127.0.0.1, 203.0.113.9"} {
		b.passes(answer{"GET", "/orders", inside, []string{"X-Forwarded-For", forged}}, insideID, "")
		b.refused(answer{"GET", "/orders", outside, []string{"X-Forwarded-For", forged}}, 403, "ip_not_allowed")
	}

	// A report costs ten requests, and nothing if it is refused.
	analyst, analystID := b.key(map[string]any{"quota": map[string]any{"daily": 15}}, "read", "analytics:read")
	res, _ := b.passes(answer{"POST", "/reports/7", analyst, nil}, analystID, "")
	if left := res.Header.Get("X-RateLimit-Daily-Remaining"); left != "5" {
		b.t.Errorf("after a report %s of 15 requests are left, want 5", left)
	}
	b.refused(answer{"POST", "/reports/7", analyst, nil}, 429, "rate_limit_exceeded")
	res, _ = b.passes(answer{"GET", "/orders", analyst, nil}, analystID, "")
	if left := res.Header.Get("X-RateLimit-Daily-Remaining"); left != "4" {
		b.t.Errorf("after a refusal and another request %s requests are left, want 4", left)
	}

	// The service's own refusals are its own.
	for _, status := range []int{401, 403, 500} {
		_, reached := b.want(answer{"GET", "/orders", b.reader, []string{"X-Want", map[int]string{401: "401", 403: "403", 500: "500"}[status]}}, status, "of the service")
		if reached == nil {
			b.t.Errorf("a request that the service answers with %d did not reach it", status)
		}
	}
	if _, reached := b.want(answer{"GET", "/public", "", nil}, http.StatusOK, "of the service"); reached != nil {
		for _, name := range identity {
			if v := reached.Header.Get(name); v != "" {
				b.t.Errorf("an unprotected path of the service gets %s %q", name, v)
			}
		}
	}
}

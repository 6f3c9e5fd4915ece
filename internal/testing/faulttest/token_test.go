package faulttest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const goodPassword = "correct horse battery staple"

// TestForgedTokensOpenNothing holds T1 and T2 from outside, with what an attacker has: a token, and the public keys.
// internal/govern/auth tries what takes the private key.
func TestForgedTokensOpenNothing(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "")
	s.newUser("ada@example.org", goodPassword, "member")
	good := s.at(1).signIn("ada@example.org", goodPassword)
	trap := newTrap(t)
	var set struct{ Keys []struct{ X, Kid string } }
	if err := json.Unmarshal(s.at(1).ask(http.MethodGet, "/.well-known/jwks.json", nil).text, &set); err != nil || len(set.Keys) != 2 { // of tokens, and of receipts
		t.Fatalf("the key set: %+v, %v", set, err)
	}
	parts := strings.Split(good.access, ".")
	encode := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	mac := func(secret, header string) string {
		h := hmac.New(sha256.New, []byte(secret))
		io.WriteString(h, header+"."+parts[1])
		return header + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	}
	header := func(pairs ...any) string {
		m := map[string]any{"alg": "EdDSA", "typ": "at+jwt", "kid": set.Keys[0].Kid}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return encode(m)
	}
	public, _ := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
	forged := []string{
		header("alg", "none") + "." + parts[1] + ".", header("alg", "nOnE") + "." + parts[1] + "." + parts[2],
		mac(string(public), header("alg", "HS256")), mac(set.Keys[0].X, header("alg", "HS256")), mac("", header("alg", "HS256")),
		header("alg", "ES256") + "." + parts[1] + "." + parts[2],
		header("b64", false, "crit", []string{"b64"}) + "." + parts[1] + "." + parts[2],
		header("kid", "../../../../dev/null") + "." + parts[1] + "." + parts[2],
		header("kid", "x' UNION SELECT 1 --") + "." + parts[1] + "." + parts[2],
		header("kid", set.Keys[1].Kid) + "." + parts[1] + "." + parts[2],
		header("kid", trap.url) + "." + parts[1] + "." + parts[2],
		header("jku", trap.url) + "." + parts[1] + "." + parts[2],
		header("x5u", trap.url) + "." + parts[1] + "." + parts[2],
		header("jwk", map[string]string{"kty": "OKP", "crv": "Ed25519", "x": set.Keys[0].X}) + "." + parts[1] + "." + parts[2],
		parts[0] + "." + encode(map[string]any{"sub": "usr_0", "scope": "admin"}) + "." + parts[2],
		good.refresh, "eyJ", "..", "null",
	}
	var first *reply
	for i, token := range forged {
		r := s.at(100+i).ask(http.MethodGet, "/api/v1/profile", nil, "Authorization", "Bearer "+token)
		if r.status != http.StatusUnauthorized || r.code() != "invalid_token" || r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("forgery %d: %d %s", i, r.status, r.text)
		}
		delete(r.body, "requestId")
		if first == nil {
			first = r
		}
		if fmt.Sprint(r.body) != fmt.Sprint(first.body) {
			t.Errorf("forgery %d is told %v, the first was told %v", i, r.body, first.body)
		}
	}
	if r := s.at(3).ask(http.MethodGet, "/api/v1/profile", nil, "Authorization", "Bearer "+s.Key); r.status != http.StatusUnauthorized || r.code() != "invalid_token" {
		t.Errorf("an API key as a token: %d %s", r.status, r.text)
	}
	for _, query := range []string{"?access_token=" + good.access, "?token=" + good.access} {
		if r := s.at(2).ask(http.MethodGet, "/api/v1/profile"+query, nil); r.status != http.StatusUnauthorized {
			t.Errorf("a token in the query: %d", r.status)
		}
	}
	if r := good.with(http.MethodGet, "/api/v1/profile", nil); r.status != http.StatusOK {
		t.Errorf("the good token: %d", r.status)
	}
	trap.untouched()
	s.MustLive()
}

// trap is a listener that must not get a connection.
type trap struct {
	t   testing.TB
	url string
	mu  sync.Mutex
	n   int
}

func newTrap(t testing.TB) *trap {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	trap := &trap{t: t, url: "http://" + l.Addr().String() + "/jwks.json"}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
			trap.mu.Lock()
			trap.n++
			trap.mu.Unlock()
		}
	}()
	return trap
}

func (tr *trap) untouched() {
	tr.t.Helper()
	time.Sleep(50 * time.Millisecond)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.n > 0 {
		tr.t.Errorf("the server made %d connections that a token asked for", tr.n)
	}
}

// TestHugeTokensCostNothing holds T4.
func TestHugeTokensCostNothing(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "")
	for i, c := range []struct {
		token string
		want  int
	}{
		{strings.Repeat(".", 5_000), 401},
		{strings.Repeat("a.", 6_000), 401},
		{strings.Repeat(".", 100_000), 431},
		{strings.Repeat("A", 2<<20), 431},
	} {
		next := 0
		ask := func() {
			next++
			conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 9, byte(i), byte(next))}}).Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			go func() { // the server can answer and close before it has read everything
				fmt.Fprintf(conn, "GET /api/v1/profile HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", c.token)
			}()
			line := make([]byte, len("HTTP/1.1 401 "))
			n, _ := io.ReadFull(conn, line)
			if text := string(line[:n]); text != "" && !strings.HasPrefix(text, fmt.Sprintf("HTTP/1.1 %d ", c.want)) {
				t.Errorf("%d bytes: %.60q, want %d", len(c.token), text, c.want)
			}
		}
		for range 5 {
			ask()
		}
	}
	s.MustLive()
}

package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// vault keeps secrets in a map.
type vault map[string][]byte

func (v vault) Names(prefix string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

func (v vault) Find(name string) ([]byte, bool) { s, ok := v[name]; return s, ok }

func (v vault) Add(_ context.Context, name string, secret []byte) error { v[name] = secret; return nil }

func (v vault) Remove(_ context.Context, name string) error { delete(v, name); return nil }

const issuer = "https://keepsake.example"

type bundle struct {
	vault  vault
	keys   *auth.SigningKeys
	tokens *auth.Tokens
	now    time.Time
}

func setup(t testing.TB) *bundle {
	t.Helper()
	b := &bundle{vault: vault{}, now: time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return b.now }
	keys, err := auth.OpenSigningKeys(t.Context(), b.vault, clock)
	if err != nil {
		t.Fatal(err)
	}
	b.keys, b.tokens = keys, auth.NewTokens(keys, issuer, clock)
	return b
}

func (b *bundle) issue(t testing.TB) string {
	t.Helper()
	text, err := b.tokens.Issue("usr_1", "ses_1", auth.Read|auth.Admin, auth.AccessLifetime)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// private is the key that signs.
func (b *bundle) private() (kid string, key ed25519.PrivateKey) {
	kid = b.keys.Public()[0].ID
	return kid, ed25519.NewKeyFromSeed(b.vault["signing/"+kid][8:])
}

func TestATokenSaysWhoseItIsUntilItExpires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	text := b.issue(t)
	got, err := b.tokens.Check(text)
	want := auth.Access{UserID: "usr_1", SessionID: "ses_1", Scopes: auth.Read | auth.Admin, ExpiresAt: b.now.Add(15 * time.Minute)}
	if err != nil || !got.ExpiresAt.Equal(want.ExpiresAt) || got.UserID != want.UserID || got.SessionID != want.SessionID || got.Scopes != want.Scopes {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	b.now = b.now.Add(-time.Hour) // a clock that is set back ends no session
	if _, err := b.tokens.Check(text); err != nil {
		t.Errorf("before it was issued: %v", err)
	}
	b.now = b.now.Add(time.Hour + 15*time.Minute - time.Second)
	if _, err := b.tokens.Check(text); err != nil {
		t.Errorf("in its last second: %v", err)
	}
	b.now = b.now.Add(time.Second)
	if _, err := b.tokens.Check(text); !errors.Is(err, auth.ErrTokenExpired) {
		t.Errorf("after 15 minutes: %v, want token_expired", err)
	}
}

func TestATokenIsWhatRFC9068Describes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	parts := strings.Split(b.issue(t), ".")
	read := func(part string) (m map[string]any) {
		text, err := base64.RawURLEncoding.DecodeString(part)
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	header, body := read(parts[0]), read(parts[1])
	if header["typ"] != "at+jwt" || header["alg"] != "EdDSA" || header["kid"] != b.keys.Public()[0].ID {
		t.Errorf("the header is %v", header)
	}
	if got := slices.Sorted(maps.Keys(body)); !slices.Equal(got, []string{"aud", "exp", "iat", "iss", "jti", "scope", "sid", "sub"}) {
		t.Errorf("the claims are %v", got)
	}
	if body["scope"] != "read admin" {
		t.Errorf("scope is %q", body["scope"])
	}
}

// forger signs any header and claims.
type forger struct {
	header jwt.MapClaims
	claims jwt.MapClaims
	method jwt.SigningMethod
	key    any
}

// TestForgedTokensAreInvalid holds T1, T2 and T3: whatever differs from what we write is refused with one word.
func TestForgedTokensAreInvalid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	kid, private := b.private()
	public := private.Public().(ed25519.PublicKey)
	_, foreign, _ := ed25519.GenerateKey(rand.Reader)
	receiptSecret := make([]byte, ed25519.SeedSize)
	receipts := auth.NewReceiptKey(receiptSecret).Public().ID
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	right := func() forger {
		return forger{
			header: jwt.MapClaims{"typ": "at+jwt", "kid": kid},
			claims: jwt.MapClaims{
				"iss": issuer, "aud": issuer, "sub": "usr_1", "sid": "ses_1", "scope": "read",
				"exp": b.now.Add(time.Minute).Unix(), "iat": b.now.Unix(), "jti": "x",
			},
			method: jwt.SigningMethodEdDSA, key: private,
		}
	}
	sign := func(f forger) string {
		token := jwt.NewWithClaims(f.method, f.claims)
		for name, value := range f.header {
			token.Header[name] = value
		}
		text, err := token.SignedString(f.key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if _, err := b.tokens.Check(sign(right())); err != nil {
		t.Fatalf("the forger's own right token: %v", err)
	}
	for name, change := range map[string]func(f *forger){
		"alg none":                  func(f *forger) { f.method, f.key = jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType },
		"alg None":                  func(f *forger) { f.header["alg"] = "None" },
		"HS256 with the public key": func(f *forger) { f.method, f.key = jwt.SigningMethodHS256, []byte(public) },
		"HS256 with the key's text": func(f *forger) { f.method, f.key = jwt.SigningMethodHS256, []byte(b.keys.Public()[0].X) },
		"HS512 with the kid":        func(f *forger) { f.method, f.key = jwt.SigningMethodHS512, []byte(kid) },
		"ES256":                     func(f *forger) { f.method, f.key = jwt.SigningMethodES256, curve },
		"ES256 said, EdDSA done":    func(f *forger) { f.header["alg"] = "ES256" },
		"Ed25519 as a name":         func(f *forger) { f.header["alg"] = "Ed25519" },
		"another's key":             func(f *forger) { f.key = foreign },
		"the key of receipts":       func(f *forger) { f.key = ed25519.NewKeyFromSeed(receiptSecret) },
		"the key of receipts, named": func(f *forger) {
			f.key, f.header["kid"] = ed25519.NewKeyFromSeed(receiptSecret), receipts
		},
		"no kid":                       func(f *forger) { delete(f.header, "kid") },
		"a kid that is a path":         func(f *forger) { f.header["kid"] = "../../../../dev/null" },
		"a kid that is SQL":            func(f *forger) { f.header["kid"] = "' OR 1=1 --" },
		"a kid that is an address":     func(f *forger) { f.header["kid"] = "http://127.0.0.1/key" },
		"a kid that is a number":       func(f *forger) { f.header["kid"] = 7 },
		"a kid that is a list":         func(f *forger) { f.header["kid"] = []string{kid} },
		"jku":                          func(f *forger) { f.header["jku"] = "http://127.0.0.1/jwks.json" },
		"x5u":                          func(f *forger) { f.header["x5u"] = "http://127.0.0.1/cert" },
		"jwk":                          func(f *forger) { f.header["jwk"] = map[string]string{"kty": "OKP", "crv": "Ed25519"} },
		"crit":                         func(f *forger) { f.header["crit"] = []string{"exp"} },
		"b64 false":                    func(f *forger) { f.header["b64"] = false },
		"cty":                          func(f *forger) { f.header["cty"] = "JWT" },
		"typ JWT":                      func(f *forger) { f.header["typ"] = "JWT" },
		"no typ":                       func(f *forger) { delete(f.header, "typ"); f.header["typ"] = nil },
		"another issuer":               func(f *forger) { f.claims["iss"] = "keepsake" },
		"no issuer":                    func(f *forger) { delete(f.claims, "iss") },
		"another audience":             func(f *forger) { f.claims["aud"] = "https://other.example" },
		"no audience":                  func(f *forger) { delete(f.claims, "aud") },
		"no exp":                       func(f *forger) { delete(f.claims, "exp") },
		"an exp that is text":          func(f *forger) { f.claims["exp"] = "tomorrow" },
		"an exp of digits in a string": func(f *forger) { f.claims["exp"] = strconv.FormatInt(b.now.Add(time.Minute).Unix(), 10) },
		"an exp that is null":          func(f *forger) { f.claims["exp"] = nil },
		"an exp that is a list":        func(f *forger) { f.claims["exp"] = []int64{b.now.Add(time.Minute).Unix()} },
		"nbf in the future":            func(f *forger) { f.claims["nbf"] = b.now.Add(time.Minute).Unix() },
		"no subject":                   func(f *forger) { delete(f.claims, "sub") },
		"no session":                   func(f *forger) { delete(f.claims, "sid") },
		"a scope that is none":         func(f *forger) { f.claims["scope"] = "read root" },
		"a scope that is a list":       func(f *forger) { f.claims["scope"] = []string{"read"} },
		"expired, of another issuer":   func(f *forger) { f.claims["iss"], f.claims["exp"] = "x", b.now.Add(-time.Hour).Unix() },
		"expired, for another":         func(f *forger) { f.claims["aud"], f.claims["exp"] = "x", b.now.Add(-time.Hour).Unix() },
		"expired, with another's key":  func(f *forger) { f.key, f.claims["exp"] = foreign, b.now.Add(-time.Hour).Unix() },
		"expired, and not yet to come": func(f *forger) { f.claims["nbf"], f.claims["exp"] = b.now.Add(time.Hour).Unix(), b.now.Unix() },
	} {
		f := right()
		change(&f)
		if got, err := b.tokens.Check(sign(f)); !errors.Is(err, auth.ErrInvalidToken) || got != (auth.Access{}) {
			t.Errorf("%s: got %+v, %v, want invalid_token", name, got, err)
		}
	}
	old := right()
	old.claims["exp"] = b.now.Unix()
	if _, err := b.tokens.Check(sign(old)); !errors.Is(err, auth.ErrTokenExpired) {
		t.Errorf("expired and nothing else: %v, want token_expired", err)
	}
}

func TestTextsThatAreNoTokensAreInvalid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := b.issue(t)
	parts := strings.Split(good, ".")
	mac := hmac.New(sha256.New, []byte("x"))
	texts := []string{
		"", ".", "..", "a.b.c", good + ".", "." + good, good + "=", good[:len(good)-1], parts[0] + "." + parts[1], parts[0] + "." + parts[1] + ".",
		parts[0] + ".." + parts[2], strings.ToUpper(good), good + " ", strings.Repeat(".", 100_000), strings.Repeat("a", 5_000),
		parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte("{}")) + "." + parts[2],
		parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
		base64.RawURLEncoding.EncodeToString([]byte("[]")) + "." + parts[1] + "." + parts[2],
		parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		parts[0] + "." + parts[1] + "." + parts[2][:len(parts[2])-1] + "B", // the same bits but for those that base64 leaves over
	}
	for _, text := range texts {
		if _, err := b.tokens.Check(text); !errors.Is(err, auth.ErrInvalidToken) {
			t.Errorf("%.40q: got %v, want invalid_token", text, err)
		}
	}
}

// hugeTexts are more than a token can be, by their length or by their parts.
func hugeTexts(good string) map[string]string {
	return map[string]string{
		"Dots": strings.Repeat(".", 100_000), "Letters": strings.Repeat("a", 100_000),
		"Parts": strings.Repeat("a.", auth.MaxToken/2), "LongToken": good + strings.Repeat("A", 1<<20),
	}
}

// A text that is too large, or has too many parts, is not decoded. The test is not parallel, because AllocsPerRun counts what
// the whole process allocates.
func TestHugeTextIsRefusedUndecoded(t *testing.T) {
	b := setup(t)
	for name, text := range hugeTexts(b.issue(t)) {
		n := testing.AllocsPerRun(10, func() {
			if _, err := b.tokens.Check(text); !errors.Is(err, auth.ErrInvalidToken) {
				t.Errorf("%s: got %v, want invalid_token", name, err)
			}
		})
		if n != 0 {
			t.Errorf("%s: a check allocates %v times, want none", name, n)
		}
	}
}

// A forged token allocates no more than a right one, which is decoded once. The test is not parallel, because AllocsPerRun
// counts what the whole process allocates.
func TestForgedTokenCostsNoMoreThanARightOne(t *testing.T) {
	b := setup(t)
	good := b.issue(t)
	cost := func(text string) float64 {
		return testing.AllocsPerRun(100, func() { _, _ = b.tokens.Check(text) })
	}
	most := cost(good) + 10 // an error names what is wrong
	parts := strings.Split(good, ".")
	for name, text := range map[string]string{
		"Signature": parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"Claims":    parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte("{}")) + "." + parts[2],
		"Header":    base64.RawURLEncoding.EncodeToString([]byte("[]")) + "." + parts[1] + "." + parts[2],
		"Largest":   "a." + strings.Repeat("a", auth.MaxToken-4) + ".a",
	} {
		if n := cost(text); n > most {
			t.Errorf("%s: a check allocates %v times, want at most %v", name, n, most)
		}
	}
}

// BenchmarkCheck is what a token costs: a right one, one with a wrong signature, and texts that are none.
func BenchmarkCheck(b *testing.B) {
	bundle := setup(b)
	good := bundle.issue(b)
	parts := strings.Split(good, ".")
	texts := hugeTexts(good)
	texts["Right"] = good
	texts["WrongSignature"] = parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = bundle.tokens.Check(texts[name])
			}
		})
	}
}

func TestSigningKeysOverlap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.keys.Public()[0].ID
	early := b.issue(t)
	b.now = b.now.Add(24 * time.Hour)
	late := b.issue(t)
	second, err := b.keys.Rotate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := func() (list []string) {
		for _, k := range b.keys.Public() {
			list = append(list, k.ID)
		}
		return list
	}
	if got := ids(); !slices.Equal(got, []string{second, first}) {
		t.Errorf("after the rotation the keys are %v, want %s, %s", got, second, first)
	}
	if _, err := b.tokens.Check(late); err != nil {
		t.Errorf("a token of the key before: %v", err)
	}
	if _, err := b.tokens.Check(early); !errors.Is(err, auth.ErrTokenExpired) {
		t.Errorf("an old token of the key before: %v", err)
	}
	if kid, _ := b.private(); kid != second {
		t.Errorf("%s signs, want %s", kid, second)
	}

	// A start in between finds the same.
	again, err := auth.OpenSigningKeys(t.Context(), b.vault, func() time.Time { return b.now })
	if err != nil || len(again.Public()) != 2 || again.Public()[0].ID != second {
		t.Errorf("after a start: %v, %v", again.Public(), err)
	}

	b.now = b.now.Add(16 * time.Minute)
	if got := ids(); !slices.Equal(got, []string{second}) {
		t.Errorf("when its last token has expired the first key is still shown: %v", got)
	}
	if _, err := b.tokens.Check(late); !errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("a token of a key that is gone: %v", err)
	}
	b.now = b.now.Add(-time.Hour) // also where the clock was set back the newest key signs
	third, err := b.keys.Rotate(t.Context())
	if err != nil || b.keys.Public()[0].ID != third {
		t.Errorf("after a rotation at an earlier time %v sign, want %s first: %v", ids(), third, err)
	}
	b.now = b.now.Add(48 * time.Hour)
	if _, err := b.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.vault) != 2 {
		t.Errorf("the vault keeps %v, want the last two", slices.Sorted(maps.Keys(b.vault)))
	}
}

func TestADamagedSigningKeyStopsTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, kept := range b.vault {
		b.vault[name] = kept[:len(kept)-1]
	}
	if _, err := auth.OpenSigningKeys(t.Context(), b.vault, time.Now); err == nil {
		t.Error("a damaged key was taken")
	}
	if p, ok := problem.As(auth.ErrInvalidToken); !ok || p.Kind != problem.Unauthenticated {
		t.Error("an invalid token is no 401")
	}
}

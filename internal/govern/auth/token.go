package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"keepsake/internal/base/problem"
)

// AccessLifetime is how long an access token is valid.
const AccessLifetime = 15 * time.Minute

// tokenType is the typ of an access token (RFC 9068). It keeps any other token we might ever sign from being one.
const tokenType = "at+jwt"

// MaxToken is the largest text that is looked at, in bytes. Ours have about 600.
const MaxToken = 4096

// The errors of a bearer token. They are shared and never changed.
var (
	ErrInvalidToken = problem.New(problem.Unauthenticated, problem.CodeInvalidToken, "This access token is not valid.")
	ErrTokenExpired = problem.New(problem.Unauthenticated, problem.CodeTokenExpired, "This access token has expired.")
)

// Access is what an access token says.
type Access struct {
	UserID    string
	SessionID string
	Scopes    Scopes
	ExpiresAt time.Time
}

// Tokens signs and checks access tokens. It is safe for concurrent use.
type Tokens struct {
	keys   *SigningKeys
	issuer string
	now    func() time.Time
	parser *jwt.Parser
}

// NewTokens makes Tokens of one issuer, who is also the audience: the instance itself.
func NewTokens(keys *SigningKeys, issuer string, now func() time.Time) *Tokens {
	return &Tokens{keys: keys, issuer: issuer, now: now, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithIssuer(issuer), jwt.WithAudience(issuer),
		jwt.WithExpirationRequired(), jwt.WithStrictDecoding(), jwt.WithTimeFunc(now),
	)}
}

// claims is the body of an access token. It has no iat check: a clock that is set back must not end every session.
type claims struct {
	jwt.RegisteredClaims
	ExpiresAt *seconds `json:"exp"` // in place of the one that is registered
	SessionID string   `json:"sid"`
	Scope     string   `json:"scope"`
}

// GetExpirationTime implements jwt.Claims.
func (c claims) GetExpirationTime() (*jwt.NumericDate, error) {
	if c.ExpiresAt == nil {
		return nil, nil
	}
	return &c.ExpiresAt.NumericDate, nil
}

// seconds is a NumericDate that is a JSON number (RFC 7519, section 2). The library also takes a string of digits.
type seconds struct{ jwt.NumericDate }

func (s *seconds) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return errors.New("a time is a number")
	}
	return s.NumericDate.UnmarshalJSON(text)
}

// Issue signs a token that is valid for a lifetime, which is AccessLifetime or what is left of the session.
func (t *Tokens) Issue(userID, sessionID string, scopes Scopes, lifetime time.Duration) (string, error) {
	now := t.now()
	key := t.keys.signer()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: t.issuer, Audience: jwt.ClaimStrings{t.issuer}, Subject: userID, ID: rand.Text(),
			IssuedAt: jwt.NewNumericDate(now),
		},
		ExpiresAt: &seconds{*jwt.NewNumericDate(now.Add(lifetime))}, SessionID: sessionID, Scope: scopes.String(),
	})
	token.Header["typ"], token.Header["kid"] = tokenType, key.id
	text, err := token.SignedString(key.private)
	if err != nil {
		return "", fmt.Errorf("sign an access token: %w", err)
	}
	return text, nil
}

// Check verifies the signature and the claims of a token, not whether its session has ended. It returns ErrInvalidToken,
// ErrTokenExpired for a token that was valid, or, if other processes sign tokens too, ErrUnknownKey for a token that is
// possibly valid after ReloadKeys.
func (t *Tokens) Check(text string) (Access, error) {
	if len(text) > MaxToken || strings.Count(text, ".") != 2 {
		return Access{}, ErrInvalidToken
	}
	var c claims
	switch _, err := t.parser.ParseWithClaims(text, &c, t.key); {
	case err == nil:
	case onlyExpired(err):
		return Access{}, ErrTokenExpired
	case errors.Is(err, ErrUnknownKey):
		return Access{}, ErrUnknownKey
	default:
		return Access{}, ErrInvalidToken
	}
	scopes := None
	for name := range strings.FieldsSeq(c.Scope) {
		scope, ok := ParseScope(name)
		if !ok {
			return Access{}, ErrInvalidToken
		}
		scopes |= scope
	}
	if c.Subject == "" || c.SessionID == "" {
		return Access{}, ErrInvalidToken
	}
	return Access{UserID: c.Subject, SessionID: c.SessionID, Scopes: scopes, ExpiresAt: c.ExpiresAt.Time}, nil
}

var errHeader = errors.New("the header is none of ours")

// key finds the key for a token by its header, which must be exactly as we write it: whatever else a header may carry
// (jku, jwk, x5u, crit, b64) would only choose another key or another reading.
func (t *Tokens) key(token *jwt.Token) (any, error) {
	id, _ := token.Header["kid"].(string)
	if token.Header["typ"] != tokenType || len(token.Header) != 3 {
		return nil, errHeader
	}
	key, ok := t.keys.find(id)
	switch {
	case ok:
		return key, nil
	case t.keys.reloader != nil:
		return nil, ErrUnknownKey
	default:
		return nil, errHeader
	}
}

// onlyExpired reports whether age is the one thing wrong with a token. Its signature was right then, because claims are
// looked at last.
func onlyExpired(err error) bool {
	for _, other := range []error{
		jwt.ErrTokenInvalidIssuer, jwt.ErrTokenInvalidAudience, jwt.ErrTokenNotValidYet, jwt.ErrTokenRequiredClaimMissing,
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	return errors.Is(err, jwt.ErrTokenExpired)
}

package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Profile is the record of the signed-in user.
type Profile struct {
	ID        string   `json:"id"`
	Email     string   `json:"email"`
	Name      *string  `json:"name"`
	Role      string   `json:"role"`
	Scopes    []string `json:"scopes"`
	Workspace struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Tier string `json:"tier"`
	} `json:"workspace"`
	CreatedAt   time.Time  `json:"createdAt"`
	LastLoginAt *time.Time `json:"lastLoginAt"`
	Revision    int64      `json:"revision"`
}

// Tokens is the result of a login. Use the access token with AccessToken. When it has expired, Refresh returns a new pair.
type Tokens struct {
	AccessToken      string  `json:"accessToken"`
	TokenType        string  `json:"tokenType"`
	ExpiresIn        int64   `json:"expiresIn"` // seconds
	RefreshToken     string  `json:"refreshToken"`
	RefreshExpiresIn int64   `json:"refreshExpiresIn"` // seconds
	User             Profile `json:"user"`
}

// Login signs in with email and password.
func (c *Client) Login(ctx context.Context, email, password string) (*Tokens, error) {
	in := struct {
		Email    string `json:"email"`
		Password string `json:"password"`
	}{email, password}
	r := request{method: http.MethodPost, path: "/api/auth/login"}
	return result[Tokens](func(out any) error { return c.send(ctx, r, in, out) })
}

// refreshRepeat is how long a refresh can be repeated. The server accepts a used refresh token for ten seconds.
const refreshRepeat = 8 * time.Second

// Refresh returns a new pair of tokens for a refresh token, which works once. A retry within ten seconds returns the
// same new refresh token, so that a lost response does not end the session.
func (c *Client) Refresh(ctx context.Context, refreshToken string) (*Tokens, error) {
	in := struct {
		RefreshToken string `json:"refreshToken"`
	}{refreshToken}
	r := request{method: http.MethodPost, path: "/api/auth/refresh", safe: true, within: refreshRepeat}
	return result[Tokens](func(out any) error { return c.send(ctx, r, in, out) })
}

// Logout ends the session of the client's access token.
func (c *Client) Logout(ctx context.Context) error {
	err := c.call(ctx, request{method: http.MethodPost, path: "/api/auth/logout", safe: true}, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Attempts > 1 && e.Status == http.StatusUnauthorized {
		return nil // an earlier attempt, whose response was lost, has ended the session
	}
	return err
}

// ChangePassword changes the password of the signed-in user and ends the user's other sessions.
func (c *Client) ChangePassword(ctx context.Context, current, wanted string) error {
	in := struct {
		CurrentPassword string `json:"currentPassword"`
		NewPassword     string `json:"newPassword"`
	}{current, wanted}
	return c.send(ctx, request{method: http.MethodPost, path: "/api/auth/password"}, in, nil)
}

// Profile reads the profile of the signed-in user.
func (c *Client) Profile(ctx context.Context) (*Profile, error) {
	return result[Profile](func(out any) error { return c.get(ctx, "/api/v1/profile", nil, out) })
}

// ProfileChange contains the fields that users can change in their own profile.
type ProfileChange struct {
	Name Change[string] `json:"name,omitzero"`
}

// ChangeProfile changes the profile of the signed-in user.
func (c *Client) ChangeProfile(ctx context.Context, change ProfileChange, ifRevision *int64) (*Profile, error) {
	r := request{method: http.MethodPatch, path: "/api/v1/profile", ifMatch: ifRevision}
	return result[Profile](func(out any) error { return c.send(ctx, r, change, out) })
}

// SigningKey is the public key that verifies access tokens or receipts, as a JWK.
type SigningKey struct {
	ID        string `json:"kid"`
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// SigningKeys lists the keys that verify access tokens, newest first, and the key that verifies receipts.
func (c *Client) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	var set struct {
		Keys []SigningKey `json:"keys"`
	}
	err := c.get(ctx, "/.well-known/jwks.json", nil, &set)
	return set.Keys, err
}

// RotatedSigningKey is the ID of the key that signs access tokens now.
type RotatedSigningKey struct {
	ID string `json:"id"`
}

// RotateSigningKey creates a new key that signs access tokens. Existing tokens stay valid until they expire.
func (c *Client) RotateSigningKey(ctx context.Context) (*RotatedSigningKey, error) {
	r := request{method: http.MethodPost, path: "/api/v1/admin/signing-keys/rotate", keyed: true}
	return result[RotatedSigningKey](func(out any) error { return c.call(ctx, r, out) })
}

package auth

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Vault keeps signing keys sealed, on stable storage. *seal.Secrets is one.
type Vault interface {
	Names(prefix string) []string
	Find(name string) ([]byte, bool)
	Add(ctx context.Context, name string, secret []byte) error
	Remove(ctx context.Context, name string) error
}

// SigningKeys are the keys that sign access tokens. The newest one signs; older ones verify until the last token that they
// have signed expires. SigningKeys is safe for concurrent use.
type SigningKeys struct {
	vault Vault
	now   func() time.Time

	reloader *reloader // nil if no other process creates keys
	rotating sync.Mutex
	keys     atomic.Pointer[[]signingKey] // oldest first, never empty, never changed once published
}

type signingKey struct {
	id      string // RFC 7638 thumbprint of the public key
	private ed25519.PrivateKey
	since   time.Time
}

// vaultPrefix begins the name of every signing key in the vault; the rest is its id.
const vaultPrefix = "signing/"

// overlap is how long a key verifies tokens after its successor has begun to sign: the lifetime of a token, and a minute for
// services whose clock differs.
const overlap = AccessLifetime + time.Minute

// OpenSigningKeys reads the keys in the vault, and creates the first if there is none.
func OpenSigningKeys(ctx context.Context, vault Vault, now func() time.Time) (*SigningKeys, error) {
	s := &SigningKeys{vault: vault, now: now}
	keys, err := s.kept()
	if err != nil {
		return nil, err
	}
	s.keys.Store(&keys)
	if len(keys) == 0 {
		if _, err := s.Rotate(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// kept are the keys in the vault, oldest first.
func (s *SigningKeys) kept() ([]signingKey, error) {
	var keys []signingKey
	for _, name := range s.vault.Names(vaultPrefix) {
		kept, ok := s.vault.Find(name)
		if !ok {
			continue // it was removed just now
		}
		key, err := signingKeyOf(kept)
		if err != nil || vaultPrefix+key.id != name {
			return nil, fmt.Errorf("%s is not a signing key: restore the keys.db that belongs to this data", name)
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b signingKey) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.id, b.id)) })
	return keys, nil
}

// Rotate creates a new key, which signs from now on, and returns its ID. Keys whose last token has expired are removed.
func (s *SigningKeys) Rotate(ctx context.Context) (id string, err error) {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	if s.reloader != nil {
		if err := s.reload(ctx); err != nil { // keys of other processes
			return "", err
		}
	}
	seed := make([]byte, ed25519.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return "", fmt.Errorf("create a signing key: %w", err)
	}
	known := *s.keys.Load()
	since := s.now().UTC().Truncate(time.Millisecond)
	if len(known) > 0 { // the new key is the newest even if the clock was set back
		if last := known[len(known)-1].since; !since.After(last) {
			since = last.Add(time.Millisecond)
		}
	}
	key := newSigningKey(seed, since)
	if err := s.vault.Add(ctx, vaultPrefix+key.id, key.kept()); err != nil {
		return "", fmt.Errorf("store signing key %s: %w", key.id, err)
	}
	alive := verifying(append(slices.Clone(known), key), s.now())
	s.keys.Store(&alive)
	for _, old := range known {
		if slices.ContainsFunc(alive, func(k signingKey) bool { return k.id == old.id }) {
			continue
		}
		if err := s.vault.Remove(ctx, vaultPrefix+old.id); err != nil && !isMissing(err) {
			return key.id, fmt.Errorf("remove signing key %s: %w", old.id, err)
		}
	}
	return key.id, nil
}

// verifying returns the keys that have possibly signed a token that is valid at now. keys are oldest first.
func verifying(keys []signingKey, now time.Time) []signingKey {
	for i := range len(keys) - 1 {
		if now.Before(keys[i+1].since.Add(overlap)) {
			return keys[i:]
		}
	}
	return keys[len(keys)-1:]
}

// signer is the key that signs.
func (s *SigningKeys) signer() *signingKey {
	keys := *s.keys.Load()
	return &keys[len(keys)-1]
}

// find gives the public key that verifies what the key of this id has signed.
func (s *SigningKeys) find(id string) (ed25519.PublicKey, bool) {
	for _, k := range verifying(*s.keys.Load(), s.now()) {
		if k.id == id {
			return k.public(), true
		}
	}
	return nil, false
}

// PublicKey is a key as a JWK set shows it.
type PublicKey struct {
	ID string
	X  string // the 32 bytes of Ed25519 in base64url
}

// Public lists the keys with which tokens that are valid now can be checked, the newest first.
func (s *SigningKeys) Public() []PublicKey {
	keys := slices.Clone(verifying(*s.keys.Load(), s.now()))
	slices.Reverse(keys)
	list := make([]PublicKey, len(keys))
	for i, k := range keys {
		list[i] = k.shown()
	}
	return list
}

func (k *signingKey) shown() PublicKey { return PublicKey{ID: k.id, X: encode(k.public())} }

func (k *signingKey) public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

func newSigningKey(seed []byte, since time.Time) signingKey {
	k := signingKey{private: ed25519.NewKeyFromSeed(seed), since: since}
	// RFC 7638: the required members in lexical order, RFC 8037 names them for this type of key.
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + encode(k.public()) + `"}`))
	k.id = encode(sum[:])
	return k
}

// kept is how a key lies in the vault: the moment it began, in Unix milliseconds, and its seed.
func (k *signingKey) kept() []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(k.since.UnixMilli())), k.private.Seed()...)
}

func signingKeyOf(kept []byte) (signingKey, error) {
	if len(kept) != 8+ed25519.SeedSize {
		return signingKey{}, fmt.Errorf("a signing key of %d bytes", len(kept))
	}
	return newSigningKey(kept[8:], time.UnixMilli(int64(binary.BigEndian.Uint64(kept))).UTC()), nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

package idempotency

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"keepsake/internal/base/problem"
)

// KeyName names a key that seals an answer: the data key of a subject or, without a subject, the instance's own.
type KeyName struct {
	WorkspaceID string
	Subject     [16]byte
	Generation  int64
}

// Key seals and opens. about is not stored and must be the same for both.
type Key interface {
	Seal(plain, about []byte) []byte
	Open(sealed, about []byte) ([]byte, error)
}

// Keys finds keys by name. The error is a problem.NotFound if the key was destroyed.
type Keys interface {
	AnswerKey(ctx context.Context, name KeyName) (Key, error)
}

// SealWith is called inside a Work whose answer must be sealed with a key. If it is called for several keys, all of
// them are needed to open the answer, so the erasure of any subject makes it unreadable. Without an answer to store,
// SealWith does nothing.
func SealWith(ctx context.Context, name KeyName) {
	seals, ok := ctx.Value(sealsKey{}).(*seals)
	if !ok {
		return
	}
	seals.mu.Lock()
	defer seals.mu.Unlock()
	if !slices.Contains(seals.names, name) {
		seals.names = append(seals.names, name)
	}
}

type sealsKey struct{}

// seals collects the keys for the answer of one run of a Work.
type seals struct {
	mu    sync.Mutex
	names []KeyName
}

// collecting returns a context in which SealWith adds to the returned seals.
func collecting(ctx context.Context) (context.Context, *seals) {
	s := &seals{}
	return context.WithValue(ctx, sealsKey{}, s), s
}

// envelope describes the keys of a sealed answer. The body is sealed with a key of its own, which each of the named
// keys seals in turn.
type envelope struct {
	Keys    []envelopeKey `json:"keys"`          // in the order of sealing; opened in reverse
	Own     bool          `json:"own,omitempty"` // the answer's own key sealed last
	Wrapped string        `json:"wrapped"`
}

type envelopeKey struct {
	Workspace  string `json:"w,omitempty"`
	Subject    string `json:"s,omitempty"`
	Generation int64  `json:"g,omitempty"`
}

func (k envelopeKey) name() (KeyName, error) {
	name := KeyName{WorkspaceID: k.Workspace, Generation: k.Generation}
	raw, err := hex.DecodeString(k.Subject)
	if err != nil || (len(raw) != 0 && len(raw) != len(name.Subject)) {
		return name, errors.New("no key name")
	}
	copy(name.Subject[:], raw)
	return name, nil
}

// about is the associated data of an answer. It binds the ciphertext to the claim.
func about(claim [32]byte) []byte { return append([]byte("keepsake answer\x00"), claim[:]...) }

// seal replaces the body of a with its sealed form. If a key was destroyed meanwhile, the answer stays without a body,
// as after an erasure.
func (s *Service) seal(ctx context.Context, a *Answer, names []KeyName) error {
	slices.SortFunc(names, func(a, b KeyName) int {
		return cmp.Or(cmp.Compare(a.WorkspaceID, b.WorkspaceID), slices.Compare(a.Subject[:], b.Subject[:]), cmp.Compare(a.Generation, b.Generation))
	})
	body := a.Body
	a.Body = nil
	e := envelope{}
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	box, err := newBox(raw)
	if err != nil {
		return err
	}
	for _, name := range names {
		subject := ""
		if name.Subject != ([16]byte{}) {
			subject = hex.EncodeToString(name.Subject[:])
			a.Subjects = append(a.Subjects, name)
		}
		e.Keys = append(e.Keys, envelopeKey{name.WorkspaceID, subject, name.Generation})
		if raw == nil {
			continue
		}
		key, err := s.answerKey(ctx, name)
		if isMissing(err) {
			raw = nil
			continue
		}
		if err != nil {
			return err
		}
		raw = key.Seal(raw, about(a.Claim))
	}
	if raw != nil && len(a.Subjects) > 0 {
		// Erasing one memory erases this key, and so the answer.
		a.Own, e.Own = make([]byte, 32), true
		rand.Read(a.Own) // never fails
		own, err := newBox(a.Own)
		if err != nil {
			return err
		}
		raw = own.Seal(nil, nil, raw, about(a.Claim))
	}
	e.Wrapped = base64.StdEncoding.EncodeToString(raw)
	if raw != nil {
		a.Sealed = box.Seal(nil, nil, body, about(a.Claim))
	}
	text, err := json.Marshal(e)
	a.SealedBy = string(text)
	return err
}

// open returns the body of a sealed answer. The error is problem.NotFound if a key was destroyed or the body was
// dropped.
func (s *Service) open(ctx context.Context, a *Answer) ([]byte, error) {
	if len(a.Sealed) == 0 {
		return nil, problem.Missing()
	}
	var e envelope
	if err := json.Unmarshal([]byte(a.SealedBy), &e); err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	raw, err := base64.StdEncoding.DecodeString(e.Wrapped)
	if err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	if e.Own {
		if len(a.Own) == 0 {
			return nil, problem.Missing()
		}
		own, err := newBox(a.Own)
		if err != nil {
			return nil, err
		}
		if raw, err = own.Open(nil, nil, raw, about(a.Claim)); err != nil {
			return nil, fmt.Errorf("open with the answer's own key: %w", err)
		}
	}
	for _, k := range slices.Backward(e.Keys) {
		name, err := k.name()
		if err != nil {
			return nil, err
		}
		key, err := s.answerKey(ctx, name)
		if err != nil {
			return nil, err
		}
		if raw, err = key.Open(raw, about(a.Claim)); err != nil {
			return nil, err
		}
	}
	box, err := newBox(raw)
	if err != nil {
		return nil, err
	}
	return box.Open(nil, nil, a.Sealed, about(a.Claim))
}

func (s *Service) answerKey(ctx context.Context, name KeyName) (Key, error) {
	if s.keys == nil {
		return nil, errors.New("idempotency: no keys to seal an answer")
	}
	return s.keys.AnswerKey(ctx, name)
}

func newBox(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func isMissing(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.NotFound
}

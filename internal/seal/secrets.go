package seal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"
)

const secretSize = 32

// names are the secrets of an instance; Check first, because it tells a wrong key from a damaged secret.
var names = [...]string{Check, Pepper, Cursor, Replay, Log}

// addable are those that data of an earlier release may lack: nothing is worthless for a new one.
var addable = []string{Log}

// ErrWrongMasterKey says that the key is not the one the secrets were wrapped with. It names the setting.
var ErrWrongMasterKey = errors.New("masterKey: this is not the key the data was sealed with; give the key that was in use when this data folder was made")

// Secrets are the instance's unwrapped secrets. They live in memory only.
type Secrets struct {
	byName map[string][]byte
}

// Get gives the secret of a name among this package's constants. It panics for any other: a secret that is silently
// empty would hash and sign with nothing. The caller must not change it.
func (s *Secrets) Get(name string) []byte {
	secret, ok := s.byName[name]
	if !ok {
		panic("seal: no secret named " + name)
	}
	return secret
}

// Open unwraps the secrets in st. Where there are none it makes them, but only if the place is fresh: data without its
// secrets has lost them, and new ones would make every API key in it worthless without a word.
func Open(ctx context.Context, st Store, master MasterKey, fresh bool) (*Secrets, error) {
	instance, err := st.InstanceID(ctx)
	if err != nil {
		return nil, fmt.Errorf("read instance id: %w", err)
	}
	box, err := newBox(master, instance)
	if err != nil {
		return nil, err
	}
	wrapped, err := st.Secrets(ctx)
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	if len(wrapped) > 0 {
		return box.unwrap(ctx, st, wrapped)
	}
	if !fresh {
		return nil, errors.New("the secrets of this data are missing: restore the keys.db that belongs to it")
	}
	s := &Secrets{byName: make(map[string][]byte, len(names))}
	return s, box.make(ctx, st, s, names[:])
}

// box wraps and unwraps the secrets of one instance under one master key.
type box struct {
	aead     *subtle.AESGCM
	instance string
}

func newBox(master MasterKey, instance string) (*box, error) {
	aead, err := subtle.NewAESGCM(master[:])
	if err != nil {
		return nil, fmt.Errorf("masterKey: %w", err)
	}
	return &box{aead: aead, instance: instance}, nil
}

// about is the associated data of a secret: it cannot be put in another's place, nor into another instance.
func (b *box) about(name string) []byte {
	return []byte("keepsake secret\x00" + b.instance + "\x00" + name)
}

// make adds new secrets of these names to s, and keeps them.
func (b *box) make(ctx context.Context, st Store, s *Secrets, names []string) error {
	var wrapped []Wrapped
	for _, name := range names {
		secret := make([]byte, secretSize)
		if _, err := rand.Read(secret); err != nil {
			return fmt.Errorf("make secret %s: %w", name, err)
		}
		sealed, err := b.aead.Encrypt(secret, b.about(name))
		if err != nil {
			return fmt.Errorf("wrap secret %s: %w", name, err)
		}
		s.byName[name] = secret
		wrapped = append(wrapped, Wrapped{Name: name, Sealed: sealed, CreatedAt: time.Now()})
	}
	if err := st.AddSecrets(ctx, wrapped); err != nil {
		return fmt.Errorf("keep secrets: %w", err)
	}
	return nil
}

func (b *box) unwrap(ctx context.Context, st Store, wrapped []Wrapped) (*Secrets, error) {
	sealed := make(map[string][]byte, len(wrapped))
	for _, w := range wrapped {
		sealed[w.Name] = w.Sealed
	}
	s := &Secrets{byName: make(map[string][]byte, len(names))}
	var absent []string
	for _, name := range names {
		text, ok := sealed[name]
		if !ok && slices.Contains(addable, name) {
			absent = append(absent, name)
			continue
		}
		if !ok {
			return nil, fmt.Errorf("secret %s is missing: restore the keys.db that belongs to this data", name)
		}
		secret, err := b.aead.Decrypt(text, b.about(name))
		if err != nil && name == Check {
			return nil, ErrWrongMasterKey
		}
		if err != nil || len(secret) != secretSize {
			return nil, fmt.Errorf("secret %s is damaged: restore the keys.db that belongs to this data", name)
		}
		s.byName[name] = secret
	}
	if len(absent) == 0 {
		return s, nil
	}
	return s, b.make(ctx, st, s, absent)
}

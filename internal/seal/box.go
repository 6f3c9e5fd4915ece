package seal

import (
	"context"
	"fmt"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"
)

// box wraps and unwraps the secrets of one instance under one master key.
type box struct {
	aead     *subtle.AESGCM
	instance string
}

func openBox(ctx context.Context, st Store, master MasterKey) (*box, error) {
	instance, err := st.InstanceID(ctx)
	if err != nil {
		return nil, fmt.Errorf("read instance id: %w", err)
	}
	return newBox(master, instance)
}

func newBox(master MasterKey, instance string) (*box, error) {
	aead, err := subtle.NewAESGCM(master[:])
	if err != nil {
		return nil, fmt.Errorf("masterKey: %w", err)
	}
	return &box{aead: aead, instance: instance}, nil
}

// about returns the associated data of a secret. It binds the ciphertext to the name and the instance.
func (b *box) about(name string) []byte {
	return []byte("keepsake secret\x00" + b.instance + "\x00" + name)
}

func (b *box) wrap(name string, secret []byte) (Wrapped, error) {
	sealed, err := b.aead.Encrypt(secret, b.about(name))
	if err != nil {
		return Wrapped{}, fmt.Errorf("wrap secret %s: %w", name, err)
	}
	return Wrapped{Name: name, Sealed: sealed, CreatedAt: time.Now()}, nil
}

func (b *box) unwrap(w Wrapped) ([]byte, error) { return b.aead.Decrypt(w.Sealed, b.about(w.Name)) }

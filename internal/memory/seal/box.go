package seal

import (
	"context"
	"crypto/cipher"
	"fmt"
	"time"
)

// box wraps and unwraps the secrets of one instance under one master key.
type box struct {
	aead     cipher.AEAD
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
	aead, err := newAEAD(master[:])
	if err != nil {
		return nil, fmt.Errorf("masterKey: %w", err)
	}
	return &box{aead: aead, instance: instance}, nil
}

// about returns the associated data of a secret. It binds the ciphertext to the name and the instance.
func (b *box) about(name string) []byte {
	return []byte("keepsake secret\x00" + b.instance + "\x00" + name)
}

func (b *box) wrap(name string, secret []byte) Wrapped {
	return Wrapped{Name: name, Sealed: encrypt(b.aead, secret, b.about(name)), CreatedAt: time.Now()}
}

func (b *box) unwrap(w Wrapped) ([]byte, error) { return decrypt(b.aead, w.Sealed, b.about(w.Name)) }

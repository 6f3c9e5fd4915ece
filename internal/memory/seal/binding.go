package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/daead/subtle"
)

// Binding encrypts the names that API keys are bound to, deterministically (AES-SIV): the same name in the same
// workspace always has the same ciphertext. So keys with the same binding are found by it.
type Binding struct{ siv *subtle.AESSIV }

// bindingPrefix marks encrypted names. No plain name begins with it.
const bindingPrefix = "~1"

// NewBinding creates a Binding from the secret named Bindings.
func NewBinding(secret []byte) (*Binding, error) {
	key, err := hkdf.Expand(sha256.New, secret, "keepsake binding", subtle.AESSIVKeySize)
	if err != nil {
		return nil, fmt.Errorf("make the key of bindings: %w", err)
	}
	siv, err := subtle.NewAESSIV(key)
	if err != nil {
		return nil, fmt.Errorf("make the key of bindings: %w", err)
	}
	return &Binding{siv}, nil
}

// Seal encrypts a name. An empty or already encrypted name stays as it is. kind separates subjects from agents.
func (b *Binding) Seal(workspaceID, kind, name string) string {
	if name == "" || b.Sealed(name) {
		return name
	}
	sealed, err := b.siv.EncryptDeterministically([]byte(name), bindingAbout(workspaceID, kind))
	if err != nil {
		panic("seal: " + err.Error()) // impossible: the name would have to be gigabytes long
	}
	return bindingPrefix + base64.RawURLEncoding.EncodeToString(sealed)
}

// Sealed reports whether Seal returned a text.
func (*Binding) Sealed(text string) bool { return strings.HasPrefix(text, bindingPrefix) }

// Open decrypts what Seal returned. A text that is not encrypted stays as it is. So does one that cannot be decrypted, for
// example because of another secret: no subject or agent has such a name, so the key reaches nothing.
func (b *Binding) Open(workspaceID, kind, text string) string {
	encoded, sealed := strings.CutPrefix(text, bindingPrefix)
	if !sealed {
		return text
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return text
	}
	name, err := b.siv.DecryptDeterministically(raw, bindingAbout(workspaceID, kind))
	if err != nil {
		return text
	}
	return string(name)
}

func bindingAbout(workspaceID, kind string) []byte { return []byte(workspaceID + "\x00" + kind) }

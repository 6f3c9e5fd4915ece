package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/daead/subtle"
)

// Binding seals the names that API keys are bound to. The same name in the same workspace is sealed to the same text (AES-SIV),
// so that keys that are bound alike are found by it, and whoever can not open it can still tell them apart: the previous
// release, too, beside which this one may run.
type Binding struct{ siv *subtle.AESSIV }

// bindingPrefix begins what is sealed. No name begins like that.
const bindingPrefix = "~1"

// NewBinding makes a Binding of the secret named Bindings.
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

// Seal gives the sealed text of a name, none for none. kind tells subjects from agents. What is sealed stays as it is.
func (b *Binding) Seal(workspaceID, kind, name string) string {
	if name == "" || b.Sealed(name) {
		return name
	}
	sealed, err := b.siv.EncryptDeterministically([]byte(name), bindingAbout(workspaceID, kind))
	if err != nil {
		panic("seal: " + err.Error()) // of no key and no name: it would have to be gigabytes
	}
	return bindingPrefix + base64.RawURLEncoding.EncodeToString(sealed)
}

// Sealed reports whether a text is one that Seal gave.
func (*Binding) Sealed(text string) bool { return strings.HasPrefix(text, bindingPrefix) }

// Open gives the name of a sealed text. One that an earlier release wrote is not sealed, and comes back as it is; so does one
// that does not open, as of another secret: it is then a name that nobody has, and what is bound to it reaches nothing.
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

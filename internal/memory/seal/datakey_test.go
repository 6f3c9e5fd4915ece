package seal_test

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"

	"keepsake/internal/memory/seal"
)

// What earlier releases encrypted by Tink's AES-GCM opens, with and without a key of its own.
func TestCiphertextsOfEarlierReleasesOpen(t *testing.T) {
	t.Parallel()
	secret, own, about := []byte("a secret of thirty-two bytes ..."), []byte("a key of its own"), []byte("about")
	derive := func(use string) []byte {
		key, err := hkdf.Expand(sha256.New, secret, use, 32)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	mixed := hmac.New(sha256.New, derive("keepsake own"))
	mixed.Write(own)
	encrypt := func(key []byte) []byte {
		aead, err := subtle.NewAESGCM(key)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := aead.Encrypt([]byte("text"), about)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	key, err := seal.InstanceKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := key.Open(encrypt(derive("keepsake seal")), about); err != nil || string(plain) != "text" {
		t.Errorf("got %q, %v", plain, err)
	}
	deriver := key.Deriver()
	for range 2 { // a deriver is used for many records
		ownKey, err := deriver.With(own)
		if err != nil {
			t.Fatal(err)
		}
		sealed := encrypt(mixed.Sum(nil))
		if plain, err := ownKey.AppendOpen([]byte("some "), sealed, about); err != nil || string(plain) != "some text" {
			t.Errorf("got %q, %v", plain, err)
		}
		if _, err := ownKey.Open(sealed, []byte("other")); err == nil {
			t.Error("it opens about something else")
		}
		if _, err := key.Open(sealed, about); err == nil {
			t.Error("it opens without its own key")
		}
	}
	for _, v := range []any{key, deriver} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			if got := fmt.Sprintf(verb, v); len(got) > 12 {
				t.Errorf("%s prints %q", verb, got)
			}
		}
	}
}

package auth_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"keepsake/internal/govern/auth"
)

func TestAReceiptIsSignedByItsOwnKeyAndIsNoToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	secret := []byte("thirty-two bytes that are random")
	key := auth.NewReceiptKey(secret)
	text, err := key.Sign([]byte(`{"receiptId":"rcp_1"}`))
	if err != nil {
		t.Fatal(err)
	}
	public := key.Public()
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		t.Fatalf("got %s", text)
	}
	decode := func(part string) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	if !ed25519.Verify(decode(public.X), []byte(parts[0]+"."+parts[1]), decode(parts[2])) {
		t.Error("it is not signed by the key that is shown")
	}
	if got, want := string(decode(parts[0])), `{"alg":"EdDSA","kid":"`+public.ID+`","typ":"keepsake-receipt+jws"}`; got != want {
		t.Errorf("the header is %s, want %s", got, want)
	}
	if got := string(decode(parts[1])); got != `{"receiptId":"rcp_1"}` {
		t.Errorf("signed is %s", got)
	}
	if again := auth.NewReceiptKey(secret).Public(); again != public {
		t.Errorf("of the same secret come %v and %v", public, again)
	}
	if _, err := b.tokens.Check(text); !errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("taken for a token: %v", err)
	}
}

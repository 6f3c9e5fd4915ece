package client_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/client"
)

// notary signs as a server does.
type notary struct {
	kid     string
	private ed25519.PrivateKey
}

func newNotary(kid string) *notary {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, kid)
	return &notary{kid, ed25519.NewKeyFromSeed(seed)}
}

func (n *notary) key() client.SigningKey {
	x := base64.RawURLEncoding.EncodeToString(n.private.Public().(ed25519.PublicKey))
	return client.SigningKey{ID: n.kid, KeyType: "OKP", Curve: "Ed25519", X: x, Use: "sig", Algorithm: "EdDSA"}
}

func (n *notary) sign(header, payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(payload))
	return signed + "." + encode(ed25519.Sign(n.private, []byte(signed)))
}

const (
	receiptHeader  = `{"alg":"EdDSA","kid":"one","typ":"keepsake-receipt+jws"}`
	receiptMembers = `"receiptId":"rcp_1","memories":2,"erasedAt":"2026-11-22T07:00:00.120Z","liveKeyDestroyed":true,"keyBackupsBefore":"2026-11-22T07:00:00.120Z"`
	receiptPayload = `{"workspaceId":"wsp_1",` + receiptMembers + `}`
)

func receiptOf(t *testing.T, signature string) *client.Receipt {
	t.Helper()
	var r client.Receipt
	if err := json.Unmarshal(fmt.Appendf(nil, `{%s,"signature":%q}`, receiptMembers, signature), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func TestAReceiptHoldsAsItWasSigned(t *testing.T) {
	t.Parallel()
	one := newNotary("one")
	keys := []client.SigningKey{newNotary("two").key(), {ID: "one", KeyType: "EC"}, one.key()}
	r := receiptOf(t, one.sign(receiptHeader, receiptPayload))
	for _, form := range []string{"as it came", "kept and read again", "in another time zone"} {
		switch form {
		case "kept and read again":
			text, err := json.Marshal(r)
			if err == nil {
				err = json.Unmarshal(text, r)
			}
			if err != nil {
				t.Fatal(err)
			}
		case "in another time zone":
			r.ErasedAt = r.ErasedAt.In(time.FixedZone("", 3600))
		}
		if by, err := r.Verify(keys); err != nil || *by != (client.ReceiptSigner{KeyID: "one", WorkspaceID: "wsp_1"}) {
			t.Errorf("%s: %+v, %v", form, by, err)
		}
	}
}

func TestAReceiptThatWasChangedDoesNotHold(t *testing.T) {
	t.Parallel()
	one, two := newNotary("one"), newNotary("two")
	signature := one.sign(receiptHeader, receiptPayload)
	part := strings.Split(signature, ".")
	other := strings.Split(one.sign(receiptHeader, strings.Replace(receiptPayload, ":2,", ":3,", 1)), ".")
	headed := func(header string) func(*client.Receipt) {
		return func(r *client.Receipt) { r.Signature = one.sign(header, receiptPayload) }
	}
	says := func(payload string) func(*client.Receipt) {
		return func(r *client.Receipt) { r.Signature = one.sign(receiptHeader, payload) }
	}
	for name, c := range map[string]struct {
		change func(r *client.Receipt)
		reason string
	}{
		"another id":             {func(r *client.Receipt) { r.ReceiptID = "rcp_2" }, "receiptId differs from the signed value"},
		"another number":         {func(r *client.Receipt) { r.Memories = 3 }, "memories differs"},
		"another time":           {func(r *client.Receipt) { r.ErasedAt = r.ErasedAt.Add(time.Millisecond) }, "erasedAt differs"},
		"a key that is there":    {func(r *client.Receipt) { r.LiveKeyDestroyed = false }, "liveKeyDestroyed differs"},
		"other backups":          {func(r *client.Receipt) { r.KeyBackupsBefore = r.KeyBackupsBefore.AddDate(-1, 0, 0) }, "keyBackupsBefore differs"},
		"nothing signed":         {func(r *client.Receipt) { r.Signature = "" }, "not that of a receipt"},
		"a part is missing":      {func(r *client.Receipt) { r.Signature = part[0] + "." + part[1] }, "not that of a receipt"},
		"no base64":              {func(r *client.Receipt) { r.Signature += "=" }, "not that of a receipt"},
		"other words, signed so": {func(r *client.Receipt) { r.Signature = part[0] + "." + other[1] + "." + part[2] }, "was changed"},
		"signed by another":      {func(r *client.Receipt) { r.Signature = two.sign(receiptHeader, receiptPayload) }, "was changed"},
		"an unknown key": {func(r *client.Receipt) {
			r.Signature = two.sign(strings.Replace(receiptHeader, "one", `two\u001b[2J`, 1), receiptPayload)
		}, "another server signed the receipt"},
		"a token":                {headed(`{"alg":"EdDSA","kid":"one","typ":"at+jwt"}`), "not that of a receipt"},
		"no type":                {headed(`{"alg":"EdDSA","kid":"one"}`), "not that of a receipt"},
		"another algorithm":      {headed(strings.Replace(receiptHeader, "EdDSA", "none", 1)), "not that of a receipt"},
		"a header with more":     {headed(strings.Replace(receiptHeader, "{", `{"b64":false,`, 1)), "not that of a receipt"},
		"a payload with more":    {says(strings.Replace(receiptPayload, "{", `{"more":1,`, 1)), "not a receipt that this release knows"},
		"a payload and a rest":   {says(receiptPayload + "}"), "not a receipt that this release knows"},
		"a payload with nothing": {says("{}"), "receiptId differs"},
	} {
		r := receiptOf(t, signature)
		c.change(r)
		by, err := r.Verify([]client.SigningKey{one.key()})
		if by != nil || err == nil || !strings.Contains(err.Error(), c.reason) || strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("%s: %+v, %v, want %q", name, by, err, c.reason)
		}
	}
}

package app_test

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
)

// erasure erases a subject with one memory and returns the receipt and the ID of the key that signed it.
func erasure(t *testing.T, r *apptest.Running) (receipt *client.Receipt, keyID string) {
	t.Helper()
	remember(t, r, "ann@example.com", "She likes tea.")
	c, err := client.New(r.URL, r.Key)
	if err != nil {
		t.Fatal(err)
	}
	receipt, err = c.EraseSubject(t.Context(), "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(receipt.Signature, ".")[0])
	var named struct {
		KeyID string `json:"kid"`
	}
	if err != nil || json.Unmarshal(header, &named) != nil || named.KeyID == "" {
		t.Fatalf("the header of the signature is %s, %v", header, err)
	}
	return receipt, named.KeyID
}

func signingKeysOf(t *testing.T, r *apptest.Running) []client.SigningKey {
	t.Helper()
	c, err := client.New(r.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := c.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// A receipt is checked long after the keys that signed tokens in its time are gone, also after a start.
func TestAReceiptOutlivesTheKeysOfTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := apptest.DatabaseURL(t, dir) // until this test ends, not its first part
	in := apptest.With(func(c *config.Config) { c.Data, c.DatabaseURL = dir, database })
	var later atomic.Int64
	clock := apptest.Clock(func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	var receipt *client.Receipt
	var signed, adminKey string
	t.Run("while it runs", func(t *testing.T) {
		r := apptest.Start(t, in, clock)
		adminKey = r.Key
		c, err := client.New(r.URL, r.Key)
		if err != nil {
			t.Fatal(err)
		}
		before := signingKeysOf(t, r)
		receipt, signed = erasure(t, r)
		for range 2 {
			if _, err := c.RotateSigningKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			later.Add(int64(time.Hour))
		}
		after := signingKeysOf(t, r)
		if len(before) != 2 || len(after) != 2 || before[0].ID == after[0].ID || before[0].ID == signed || after[1].ID != signed {
			t.Errorf("the keys are %+v, and after two changes %+v; %s signed the receipt", before, after, signed)
		}
		if by, err := receipt.Verify(after); err != nil || by.WorkspaceID != r.Workspace {
			t.Errorf("after two changes of the signing key: %+v, %v", by, err)
		}
	})
	t.Run("after a start", func(t *testing.T) {
		r := apptest.Start(t, in, clock)
		r.Key = adminKey
		if _, err := receipt.Verify(signingKeysOf(t, r)); err != nil {
			t.Error(err)
		}
		if _, again := erasure(t, r); again != signed {
			t.Errorf("another key signs: %s, before %s", again, signed)
		}
	})
}

// A token signed with the stolen receipt key is refused, though the key is published.
func TestTheKeyOfReceiptsOpensNothing(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "the keys are read from its files")
	r := apptest.Start(t)
	_, receipts := erasure(t, r)
	nobody, err := client.New(r.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	first, _ := r.App.First()
	good, err := nobody.Login(t.Context(), first.Email, first.Password)
	if err != nil {
		t.Fatal(err)
	}
	secrets := secretsOf(t, r.Config.Data)
	tokens := signingKeysOf(t, r)[0].ID
	claims := strings.Split(good.AccessToken, ".")[1]
	forge := func(kid string, seed []byte) string {
		header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","kid":"` + kid + `","typ":"at+jwt"}`))
		signature := ed25519.Sign(ed25519.NewKeyFromSeed(seed), []byte(header+"."+claims))
		return header + "." + claims + "." + base64.RawURLEncoding.EncodeToString(signature)
	}
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"the key of tokens":                   {forge(tokens, secrets.Get("signing/" + tokens)[8:]), http.StatusOK}, // or the test proves nothing
		"the key of receipts":                 {forge(receipts, secrets.Get(seal.Receipts)), http.StatusUnauthorized},
		"the key of receipts, by another kid": {forge(tokens, secrets.Get(seal.Receipts)), http.StatusUnauthorized},
	} {
		n := &tenant{t: t, base: r.URL, token: c.token}
		if status, _, answer := n.send(http.MethodGet, "/api/v1/profile", "", true); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, answer, c.want)
		}
	}
}

// secretsOf reads the secrets of a data folder, also while a server has it.
func secretsOf(t *testing.T, dir string) *seal.Secrets {
	t.Helper()
	view, err := sqlite.OpenView(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	master, err := seal.LoadMasterKey(instance.MasterKeyPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := seal.Open(t.Context(), store.New(view).Secrets, master, false)
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// Of two members that make the first start of an instance at once, both sign receipts with one key.
func TestMembersSignReceiptsWithOneKey(t *testing.T) {
	t.Parallel()
	url := apptest.Database(t)
	var beside [2]config.Config
	var firsts [2]instance.First
	var errs [2]error
	var all sync.WaitGroup
	for i := range beside {
		cfg := apptest.Local(t, t.TempDir())
		cfg.DatabaseURL, cfg.MasterKey = url, strings.Repeat("A", 43)+"="
		beside[i] = cfg
		all.Go(func() {
			a, err := app.New(context.Background(), cfg, silent())
			if errs[i] = err; err == nil {
				firsts[i], _ = a.First()
				errs[i] = a.Close()
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	var signed [2]string
	var members [2]*apptest.Running
	for i, cfg := range beside {
		members[i] = apptest.Start(t, apptest.With(func(c *config.Config) { *c = cfg }))
		members[i].Key = cmp.Or(firsts[0].APIKey, firsts[1].APIKey)
	}
	for i, r := range members {
		var receipt *client.Receipt
		receipt, signed[i] = erasure(t, r)
		if _, err := receipt.Verify(signingKeysOf(t, members[1-i])); err != nil {
			t.Errorf("the receipt of member %d at the other: %v", i, err)
		}
	}
	if signed[0] != signed[1] {
		t.Errorf("the members sign with %v", signed)
	}
}

// The access log tells of an erasure how many memories went, as the receipt does: several, and none.
func TestTheAccessLogAgreesWithTheReceipt(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	c, err := client.New(r.URL, r.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{3, 1, 0} {
		who := fmt.Sprintf("erased-with-%d", want)
		for n := range want {
			remember(t, r, who, fmt.Sprint("She likes tea number ", n))
		}
		if want == 0 {
			if err := c.DeleteMemory(t.Context(), remember(t, r, who, "She likes nothing."), nil); err != nil {
				t.Fatal(err)
			}
		}
		receipt, err := c.EraseSubject(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		log, err := c.AccessLog(t.Context(), who, 1, "")
		if err != nil {
			t.Fatal(err)
		}
		if row := log.Items[0]; row.Action != "subject.erased" || row.Count != want || receipt.Memories != want || len(row.MemoryIDs) != 0 {
			t.Errorf("the receipt tells of %d memories and the log of %d (%s), want %d", receipt.Memories, row.Count, row.Action, want)
		}
		audited, err := c.ListAuditLog(t.Context(), client.AuditQuery{Action: "subject.erased", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := audited.Items[0].Details["receiptId"]; got != receipt.ReceiptID {
			t.Errorf("the audit log names the receipt %v, want %s", got, receipt.ReceiptID)
		}
	}
}

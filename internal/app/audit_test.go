package app_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/testing/await"
)

// export reads the whole log as lines.
func export(t *testing.T, p *apptest.Running, key string) []client.AuditEntry {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", p.URL+"/api/v1/admin/audit-log", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", key)
	r.Header.Set("Accept", "application/x-ndjson")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("export: %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	var list []client.AuditEntry
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		var e client.AuditEntry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		list = append(list, e)
	}
	return list
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// An admin sees what was done in the own workspace, and the operator's admin everything; who did it, from where and in
// which request is there, and no name of a person.
func TestTheAuditLogTellsEachAdminTheirOwn(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	alpha, beta := newTenant(t, p, "alpha", "canary"), newTenant(t, p, "beta", "sparrow")
	r, err := http.NewRequestWithContext(t.Context(), "DELETE", p.URL+"/api/v1/developer/api-keys/"+alpha.keyID, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", alpha.key)
	r.Header.Set("X-Request-Id", "revoking-the-key")
	if res, err := http.DefaultClient.Do(r); err != nil || res.Body.Close() != nil || res.StatusCode != 204 {
		t.Fatalf("revoke: %v, %v", res, err)
	}

	own, all := export(t, p, alpha.key), export(t, p, p.Key)
	if len(own) < 5 || len(all) < 2*len(own)-2 {
		t.Fatalf("%d of %d entries are alpha's", len(own), len(all))
	}
	newest := own[0]
	if newest.Action != "api_key.revoked" || text(newest.Target) != alpha.keyID || !strings.HasPrefix(text(newest.Actor), "key_") ||
		text(newest.Address) != "127.0.0.1" || text(newest.RequestID) != "revoking-the-key" || newest.Link != nil {
		t.Errorf("the newest entry is %+v", newest)
	}
	for _, e := range own {
		if text(e.WorkspaceID) != alpha.workspace || e.Link != nil {
			t.Errorf("alpha sees %+v", e)
		}
	}
	foreign := map[string]bool{}
	for _, e := range all {
		foreign[text(e.WorkspaceID)] = true
		if e.Link == nil || e.Link.Hash == "" {
			t.Errorf("the operator does not see where %+v lies", e)
		}
	}
	if !foreign[""] || !foreign[alpha.workspace] || !foreign[beta.workspace] {
		t.Errorf("the operator sees entries of %v", foreign)
	}
	written, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"@example.org", "@localhost", "second-alpha", tenantPassword, alpha.key, alpha.other} {
		if bytes.Contains(written, []byte(name)) {
			t.Errorf("the log holds %s", name)
		}
	}
	if status, _, body := alpha.send("GET", "/api/v1/admin/audit-log/verify", "", false); status != 403 {
		t.Errorf("alpha verifies: %d %s", status, body)
	}
	if status, _, body := alpha.send("GET", "/api/v1/admin/audit-log?workspace="+beta.workspace, "", true); status != 404 {
		t.Errorf("alpha asks for beta: %d %s", status, body)
	}
}

// An export shows how its entries are linked; only the instance can make or check a hash.
func TestExportedChainIsKeyed(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	newTenant(t, p, "alpha", "canary")
	all := export(t, p, p.Key)
	next := map[string]string{} // what the entry after the one at hand says comes before it, by chain
	for _, e := range all {     // newest first
		if hash, there := next[e.Link.Chain]; there && hash != e.Link.Hash {
			t.Errorf("entry %d (%s) is not what the next one links to", e.Link.Sequence, e.Action)
		}
		next[e.Link.Chain] = e.Link.Previous
		var m bytes.Buffer
		number := func(n int64) { _ = binary.Write(&m, binary.BigEndian, n) }
		field := func(s string) {
			number(int64(len(s)))
			m.WriteString(s)
		}
		details, err := json.Marshal(e.Details)
		if err != nil {
			t.Fatal(err)
		}
		field("keepsake audit row 1")
		field(e.Link.Chain)
		number(e.Link.Sequence)
		m.Write(decodeHash(t, e.Link.Previous))
		field(e.ID)
		number(e.At.UnixMicro())
		for _, s := range []string{
			text(e.WorkspaceID), text(e.Actor), e.Action, text(e.Target), e.Outcome, string(details), text(e.Address), text(e.RequestID),
		} {
			field(s)
		}
		number(e.Count)
		if sum := sha256.Sum256(m.Bytes()); bytes.Equal(sum[:], decodeHash(t, e.Link.Hash)) {
			t.Errorf("entry %d (%s) has a hash that anybody can make", e.Link.Sequence, e.Action)
		}
	}
}

func decodeHash(t *testing.T, text string) []byte {
	t.Helper()
	hash, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// If the audit log is truncated while no process runs, the next start finds it and logs it, and verification fails.
func TestACutLogIsToldAtTheNextStart(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "an old copy of its file is put back; TestALogThatWasCutInTheDatabaseIsTold is the same elsewhere")
	dir := t.TempDir()
	serve := func(work func(p *apptest.Running, log *apptest.Buffer)) {
		t.Run("serve", func(t *testing.T) {
			var written apptest.Buffer
			work(apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = dir }), apptest.Log(&written)), &written)
		})
	}
	var key string
	serve(func(p *apptest.Running, _ *apptest.Buffer) { key = p.Key })
	old, err := os.ReadFile(filepath.Join(dir, "main.db"))
	if err != nil {
		t.Fatal(err)
	}
	serve(func(p *apptest.Running, _ *apptest.Buffer) {
		c, err := client.New(p.URL, key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "later", Scopes: []string{"read"}}); err != nil {
			t.Fatal(err)
		}
	})
	if info, err := os.Stat(instance.CheckpointsPath(dir)); err != nil || info.Size() == 0 {
		t.Fatalf("a stop left no checkpoint: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.db"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	const told = "the audit log does not hold what its last checkpoint says"
	serve(func(p *apptest.Running, soFar *apptest.Buffer) {
		c, err := client.New(p.URL, key)
		if err != nil {
			t.Fatal(err)
		}
		// It is compared beside the requests, and a stop that comes too soon ends that.
		await.Until(t, "the log of the start says so", func() bool { return strings.Contains(soFar.String(), told) })
		v, err := c.VerifyAuditLog(t.Context())
		if err != nil || v.OK || v.Break == nil || v.Break.Reason != "cut_off" {
			t.Errorf("verified: %+v, %v", v, err)
		}
	})
}

package app_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
)

// makeOlder makes a data folder what a release left that authenticated neither the journal nor the rows of the audit log.
func makeOlder(t *testing.T, dir string) {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(engine)
	rows, err := st.Audit.AuditRowsAfter(t.Context(), "main", 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	id, err := st.Secrets.InstanceID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	exec := func(file, statement string, args ...any) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var previous audit.Hash
	for _, r := range rows {
		hash := audittest.OlderHash(r, r.Chain, previous)
		exec("main.db", "UPDATE audit_log SET previous_hash = $1, hash = $2 WHERE sequence = $3", previous[:], hash[:], r.Sequence)
		previous = hash
	}
	exec("main.db", "UPDATE audit_chain SET hash = $1", previous[:])
	if err := os.Remove(instance.CheckpointsPath(dir)); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(instance.MasterKeyPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	master, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	box, err := subtle.NewAESGCM(master)
	if err != nil {
		t.Fatal(err)
	}
	check, err := box.Encrypt(make([]byte, 32), []byte("keepsake secret\x00"+id+"\x00check"))
	if err != nil {
		t.Fatal(err)
	}
	exec("keys.db", "UPDATE wrapped_secret SET sealed = $1 WHERE name = 'check'", check)
	exec("keys.db", "DELETE FROM wrapped_secret WHERE name LIKE 'journal/%'")
	exec("keys.db", "DELETE FROM audit_record")

	journal, err := os.ReadFile(instance.JournalPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile(`,"mac":"[0-9a-f]{64}"}`).ReplaceAll(journal, []byte("}"))
	if bytes.Equal(bare, journal) {
		t.Fatalf("there is no line to take the authentication from: %s", journal)
	}
	if err := os.WriteFile(instance.JournalPath(dir), bare, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFolderOfOlderReleaseIsTakenOver(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files are changed behind the program")
	dir := t.TempDir()
	var key string
	serve := func(work func(p *apptest.Running)) (log *apptest.Buffer) {
		log = &apptest.Buffer{}
		t.Run("serve", func(t *testing.T) {
			p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = dir }), apptest.Log(log))
			if key == "" {
				key = p.Key
			}
			work(p)
		})
		return log
	}
	revoke := func(p *apptest.Running) {
		t.Helper()
		c, err := client.New(p.URL, key)
		if err != nil {
			t.Fatal(err)
		}
		made, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "leaked", Scopes: []string{"read"}})
		if err != nil {
			t.Fatal(err)
		}
		if status, body := call(t, http.MethodDelete, p.URL+"/api/v1/developer/api-keys/"+made.ID, key, ""); status != http.StatusNoContent {
			t.Fatalf("revoke: %d %s", status, body)
		}
	}
	authenticated := func() (lines, with int) {
		text, err := os.ReadFile(instance.JournalPath(dir))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n"), strings.Count(string(text), `,"mac":"`)
	}
	serve(revoke)
	makeOlder(t, dir)
	if log := serve(revoke).String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the first start says %s", log)
	}
	if lines, with := authenticated(); lines != 2 || with != 2 {
		t.Errorf("%d of %d lines of the journal are authenticated", with, lines)
	}
	verified := func() *audit.Verified {
		v, err := instance.VerifyAudit(t.Context(), config.Config{Data: dir}, "")
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := verified(); v.Break() != nil || v.Rows == 0 || v.Checkpoints == 0 {
		t.Errorf("after the first start: %+v, %+v", v, v.Break())
	}

	// Later nothing more is taken over.
	forged := `{"instance":"x","at":"2026-11-21T20:00:00Z","user":{"id":"usr_x","revision":9,"role":"admin"}}` + "\n"
	f, err := os.OpenFile(instance.JournalPath(dir), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(forged)
		f.Close()
	}
	if err == nil {
		err = os.Remove(instance.CheckpointsPath(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	if v := verified(); v.Break() == nil || v.Break().Reason != audit.CheckpointMissing {
		t.Errorf("without the file of checkpoints: %+v", v.Break())
	}
	if log := serve(func(*apptest.Running) {}).String(); !strings.Contains(log, "journal authentication failed") {
		t.Errorf("a start with a forged line says %s", log)
	}
	if lines, with := authenticated(); lines != 3 || with != 2 {
		t.Errorf("%d of %d lines of the journal are authenticated", with, lines)
	}
}

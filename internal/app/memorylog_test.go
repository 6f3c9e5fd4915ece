package app_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
)

// behindItsBack runs statements in the database of a program that runs.
func behindItsBack(t *testing.T, cfg *config.Config, statements ...string) {
	t.Helper()
	ctx := context.Background()
	var exec func(statement string) error
	if cfg.DatabaseURL != "" {
		conn, err := pgx.Connect(ctx, cfg.DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		exec = func(statement string) error {
			_, err := conn.Exec(ctx, statement)
			return err
		}
		statements = append([]string{"SET search_path TO keepsake"}, statements...)
	} else {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(cfg.Data, "main.db")+"?_pragma=busy_timeout(10000)")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		exec = func(statement string) error {
			_, err := db.ExecContext(ctx, statement)
			return err
		}
	}
	for _, s := range statements {
		if err := exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// refuseRows has a database take no rows of the log about memories.
func refuseRows(t *testing.T, cfg *config.Config) {
	t.Helper()
	if cfg.DatabaseURL == "" {
		behindItsBack(t, cfg, `CREATE TRIGGER no_rows BEFORE INSERT ON audit_log WHEN NEW.action LIKE 'memory.%' OR NEW.action LIKE 'subject.%'
			BEGIN SELECT RAISE(ABORT, 'no'); END`,
			`CREATE TRIGGER no_reads BEFORE INSERT ON audit_read BEGIN SELECT RAISE(ABORT, 'no'); END`)
		return
	}
	behindItsBack(t, cfg, `CREATE FUNCTION no_rows() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF NEW.action LIKE 'memory.%' OR NEW.action LIKE 'subject.%' THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$`,
		`CREATE FUNCTION no_reads() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`,
		`CREATE TRIGGER no_rows BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION no_rows()`,
		`CREATE TRIGGER no_reads BEFORE INSERT ON audit_read FOR EACH ROW EXECUTE FUNCTION no_reads()`)
}

func takeRows(t *testing.T, cfg *config.Config) {
	t.Helper()
	if cfg.DatabaseURL == "" {
		behindItsBack(t, cfg, `DROP TRIGGER no_rows`, `DROP TRIGGER no_reads`)
		return
	}
	behindItsBack(t, cfg, `DROP TRIGGER no_rows ON audit_log`, `DROP TRIGGER no_reads ON audit_read`)
}

// What cannot be logged is neither shown nor done: T30.
func TestMemoriesAreClosedWithoutTheLog(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n := &tenant{t: t, base: p.URL, key: p.Key}
	const secret, subject = "periwinkle", "person-1"
	_, id := n.remember(subject, "The "+secret+" is hers.")
	plan := n.make("POST", "/api/v1/memories/forget", `{"subjectId":"`+subject+`","ids":["`+id+`"]}`)["planId"].(string)
	calls := everyCall(subject, id, plan, secret)
	refuseRows(t, &p.Config)
	for _, c := range calls {
		status, header, answer := n.send(c.method, c.path, c.body, false)
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || bytes.Contains(answer, []byte(secret)) ||
			bytes.Contains(answer, []byte(`"memory`)) {
			t.Errorf("%s %s without a log: %d %s", c.method, c.path, status, answer)
		}
	}
	if status, _, answer := n.send("GET", "/api/v1/search?q=anything", "", false); status != 200 {
		t.Errorf("what is no memory: %d %s", status, answer)
	}
	takeRows(t, &p.Config)
	if got := n.memoriesOf(subject); len(got) != 1 || got[id] != "The "+secret+" is hers." {
		t.Errorf("afterwards there is %v", got)
	}
	for _, c := range calls {
		if status, _, answer := n.send(c.method, c.path, c.body, false); status >= 300 {
			t.Errorf("%s %s with a log: %d %s", c.method, c.path, status, answer)
		}
	}
}

// memoryCall is a request.
type memoryCall struct{ method, path, body string }

// everyCall returns one request of each kind on memories; the last ones delete what the others need.
func everyCall(subject, id, plan, word string) []memoryCall {
	const base = "/api/v1/memories"
	of := func(more string) string { return `{"subjectId":"` + subject + `"` + more + `}` }
	return []memoryCall{
		{"GET", base + "?subjectId=" + subject, ""},
		{"GET", base + "/" + id, ""},
		{"GET", base + "/" + id + "/history", ""},
		{"POST", base + "/recall", of(`,"query":"` + word + `"`)},
		{"POST", base + "/context", of(`,"query":"` + word + `","maxTokens":100`)},
		{"GET", base + "/subjects", ""},
		{"GET", base + "/subjects/" + subject, ""},
		{"GET", base + "/subjects/" + subject + "/export", ""},
		{"GET", base + "/subjects/" + subject + "/access-log", ""},
		{"POST", base + "/forget", of(`,"query":"` + word + `"`)},
		{"POST", base, of(`,"text":"another"`)},
		{"POST", base + "/batch", `{"items":[` + of(`,"text":"more"`) + `]}`},
		{"POST", base + "/import", of(`,"text":"imported"`)},
		{"PATCH", base + "/" + id, `{"text":"changed"}`},
		{"POST", base + "/forget", of(`,"planId":"` + plan + `","dryRun":false`)},
		{"DELETE", base + "/subjects/" + subject, ""},
	}
}

// Every request on a subject writes an entry that names the caller, the action and the memories, and contains no text of
// them. This also holds if reads are relaxed.
func TestEveryAccessIsLogged(t *testing.T) {
	t.Parallel()
	for _, reads := range []string{"durable", config.ReadsRelaxed} {
		t.Run(reads, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Audit.Reads = reads }))
			n := &tenant{t: t, base: p.URL, key: p.Key}
			const secret, subject = "periwinkle", "person-1"
			_, id := n.remember(subject, "The "+secret+" is hers.")
			plan := n.make("POST", "/api/v1/memories/forget", `{"subjectId":"`+subject+`","ids":["`+id+`"]}`)["planId"].(string)
			for i, c := range everyCall(subject, id, plan, secret) {
				req, err := http.NewRequestWithContext(t.Context(), c.method, p.URL+c.path, strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				request := fmt.Sprintf("request-%02d", i)
				req.Header.Set("X-API-Key", p.Key)
				req.Header.Set("X-Request-Id", request)
				if c.body != "" {
					req.Header.Set("Content-Type", "application/json")
				}
				if strings.HasSuffix(c.path, "/import") {
					req.Header.Set("Content-Type", "application/x-ndjson")
				}
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if res.Body.Close(); res.StatusCode >= 300 {
					t.Fatalf("%s %s: %d", c.method, c.path, res.StatusCode)
				}
				awaitRow(t, p, request)
			}
		})
	}
}

// awaitRow waits until the operator's log has a row of a request.
func awaitRow(t *testing.T, p *apptest.Running, request string) {
	t.Helper()
	await.Until(t, "the log has a row of "+request, func() bool {
		for _, e := range export(t, p, p.Key) {
			if text(e.RequestID) != request {
				continue
			}
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"periwinkle", "person-1"} {
				if bytes.Contains(line, []byte(word)) {
					t.Errorf("a row of the log says %s: %s", word, line)
				}
			}
			if !strings.HasPrefix(text(e.Actor), "key_") {
				t.Errorf("a row does not say who: %s", line)
			}
			return true
		}
		return false
	})
}

package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/audit"
	"keepsake/internal/store"
)

// heard is an engine that records the queries of its main database.
type heard struct {
	store.Engine
	queries []query
}

type query struct {
	text string
	args []any
}

// last is the last query.
func (h *heard) last() query { return h.queries[len(h.queries)-1] }

func (h *heard) Main() store.Database { return &heardMain{h.Engine.Main(), h} }

type heardMain struct {
	store.Database
	*heard
}

func (m *heardMain) In(ctx context.Context) store.Querier {
	return &heardQuerier{m.Database.In(ctx), m.heard}
}

type heardQuerier struct {
	store.Querier
	*heard
}

func (q *heardQuerier) Query(ctx context.Context, text string, args ...any) (store.Rows, error) {
	q.queries = append(q.queries, query{text, args})
	return q.Querier.Query(ctx, text, args...)
}

// AuditPlans checks how an engine finds rows of a log that is mostly about memories. explain is the engine's keyword
// before a statement, columns the width of its result, and prepare a statement to run after many inserts.
func AuditPlans(t *testing.T, engine store.Engine, explain string, columns int, prepare string) {
	t.Helper()
	h := &heard{Engine: engine}
	s := store.New(h)
	fillAudit(t, s)
	noError(t, engine.Main().Run(t.Context(), func(ctx context.Context) error {
		_, err := engine.Main().In(ctx).Exec(ctx, prepare)
		return err
	}))
	day := audit.Filter{From: epoch, To: epoch.AddDate(0, 0, 1)}
	for _, c := range []struct {
		name       string
		filter     audit.Filter
		log, reads string // the indexes of changes and of reads
	}{
		{"all", audit.Filter{}, "audit_log", "audit_read_at"},
		{"all, one day", audit.Filter{From: day.From, To: day.To}, "audit_log", "audit_read_at"},
		{"the access log of a subject", audit.Filter{WorkspaceID: "wsp_1", Target: subject(1), Before: audit.FirstID(epoch.Add(70 * time.Hour))}, "audit_log_target", "audit_read_target"},
		{"what one key did to a subject", audit.Filter{WorkspaceID: "wsp_1", Target: subject(1), Actor: "key_1"}, "audit_log_target", "audit_read_target"},
		{"a workspace", audit.Filter{WorkspaceID: "wsp_1"}, "audit_log_workspace", "audit_read_workspace"},
		{"a workspace, a page on", audit.Filter{WorkspaceID: "wsp_1", Before: audit.FirstID(epoch.Add(70 * time.Hour))}, "audit_log_workspace", "audit_read_workspace"},
		{"a workspace, one day", audit.Filter{WorkspaceID: "wsp_1", From: day.From, To: day.To}, "audit_log_workspace", "audit_read_workspace"},
		{"a workspace without reads", audit.Filter{WorkspaceID: "wsp_1", Changes: true}, "audit_log_workspace", ""},
		{"what one key did", audit.Filter{WorkspaceID: "wsp_1", Actor: "key_1"}, "audit_log_actor", "audit_read_actor"},
		{"what administrators did", audit.Filter{WorkspaceID: "wsp_1", Action: audit.KeyRevoked}, "audit_log_action", ""},
		{"which keys one key revoked", audit.Filter{WorkspaceID: "wsp_1", Actor: "key_1", Action: audit.KeyRevoked}, "audit_log_action", ""},
		{"recalls", audit.Filter{WorkspaceID: "wsp_1", Action: audit.MemoryRecalled}, "audit_log_workspace", "audit_read_workspace"},
	} {
		c.filter.Limit = 51
		h.queries = nil
		if _, err := s.Audit.ListAuditRows(t.Context(), c.filter); err != nil {
			t.Fatal(err)
		}
		newest := map[string]string{c.log: "Scan Backward using audit_log_id_key"}
		want := []string{c.log}
		if c.reads != "" {
			newest[c.reads] = "Scan Backward using audit_read_at"
			want = []string{c.reads, c.log}
		}
		asked := h.queries
		if len(asked) != len(want) {
			t.Fatalf("%s takes %d queries, want %d", c.name, len(asked), len(want))
		}
		for i, q := range asked {
			rows, err := engine.Main().In(t.Context()).Query(t.Context(), explain+" "+q.text, q.args...)
			if err != nil {
				t.Fatal(err)
			}
			plan := readPlan(t, rows, columns)
			// PostgreSQL estimates the number of rows of each. If there are many, it reads all of them from the newest
			// on; if there are few, it sorts them.
			dense := !strings.HasSuffix(want[i], "_target") && !strings.HasSuffix(want[i], "_action") && strings.Contains(plan, newest[want[i]])
			// Reads of the same millisecond are sorted.
			plan = strings.ReplaceAll(plan, "USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY", "")
			if !strings.Contains(plan, want[i]) && !dense || strings.Contains(plan, "Seq Scan on audit_log") || strings.Contains(plan, "Seq Scan on audit_read") ||
				strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s is not read by %s:\n%s", c.name, want[i], plan)
			}
		}
	}
}

func subject(n int64) string { return fmt.Sprintf("subject:%022d", n) }

// fillAudit writes a log in which one row in fifty is not about memories, and every other one is a read. It has a few
// workspaces and keys, and many subjects.
func fillAudit(t *testing.T, s *store.Store) {
	t.Helper()
	const rows = 10_000
	var list []*audit.Row
	for n := int64(1); n <= rows; n++ {
		of := n / 2
		r := auditRow("a", n)
		if n%2 == 0 {
			r = auditRead("a", n)
		}
		r.At = epoch.Add(time.Duration(of) * time.Minute).Truncate(time.Millisecond)
		r.WorkspaceID, r.Actor, r.Target = fmt.Sprint("wsp_", of%3), fmt.Sprint("key_", of%7), subject(of%200)
		if r.Packed {
			r.SetID()
			list = append(list, r)
			continue
		}
		r.ID, r.Action = audit.FirstID(r.At), audit.MemoryUpdated
		if of%50 == 0 {
			r.Action = []audit.Action{audit.KeyRevoked, audit.KeyCreated}[of/50%2]
		}
		list = append(list, r)
	}
	noError(t, s.Audit.AppendAuditRows(t.Context(), list))
}

// readPlan reads the lines of a plan: one column on PostgreSQL, the last of four on SQLite.
func readPlan(t *testing.T, rows store.Rows, columns int) string {
	t.Helper()
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		var id, parent, unused int64
		dest := []any{&id, &parent, &unused, &line}
		if err := rows.Scan(dest[len(dest)-columns:]...); err != nil {
			t.Fatal(fmt.Errorf("read a plan: %w", err))
		}
		lines = append(lines, line)
	}
	noError(t, rows.Err())
	return strings.Join(lines, "\n")
}

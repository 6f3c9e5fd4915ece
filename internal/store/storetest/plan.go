package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/store"
)

// heard is an engine that remembers the last query of its main database.
type heard struct {
	store.Engine
	text string
	args []any
}

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
	q.text, q.args = text, args
	return q.Querier.Query(ctx, text, args...)
}

// AuditPlans looks at how an engine finds rows of a log that is mostly about memories. explain is the engine's word before a
// statement, columns is how wide the answer is, and prepare a statement that it wants after many rows.
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
		name   string
		filter audit.Filter
		want   string // the index
	}{
		{"the access log of a subject", audit.Filter{WorkspaceID: "wsp_1", Target: "subject:1", Before: audit.FirstID(epoch.Add(70 * time.Hour))}, "audit_log_target"},
		{"what one key did to a subject", audit.Filter{WorkspaceID: "wsp_1", Target: "subject:1", Actor: "key_1"}, "audit_log_target"},
		{"a workspace", audit.Filter{WorkspaceID: "wsp_1"}, "audit_log_workspace"},
		{"a workspace, a page on", audit.Filter{WorkspaceID: "wsp_1", Before: audit.FirstID(epoch.Add(70 * time.Hour))}, "audit_log_workspace"},
		{"a workspace, one day", audit.Filter{WorkspaceID: "wsp_1", From: day.From, To: day.To}, "audit_log_workspace"},
		{"what one key did", audit.Filter{WorkspaceID: "wsp_1", Actor: "key_1"}, "audit_log_actor"},
		{"what administrators did", audit.Filter{WorkspaceID: "wsp_1", Action: audit.KeyRevoked}, "audit_log_action"},
		{"which keys one key revoked", audit.Filter{WorkspaceID: "wsp_1", Actor: "key_1", Action: audit.KeyRevoked}, "audit_log_action"},
		{"recalls", audit.Filter{WorkspaceID: "wsp_1", Action: audit.MemoryRecalled}, "audit_log_workspace"},
	} {
		c.filter.Limit = 51
		if _, err := s.ListAuditRows(t.Context(), c.filter); err != nil {
			t.Fatal(err)
		}
		rows, err := engine.Main().In(t.Context()).Query(t.Context(), explain+" "+h.text, h.args...)
		if err != nil {
			t.Fatal(err)
		}
		plan := readPlan(t, rows, columns)
		// PostgreSQL knows how many rows there are of each: where there are many, it reads the log itself from its end, and
		// where there are few, it sorts them.
		dense := c.want != "audit_log_target" && c.want != "audit_log_action" && strings.Contains(plan, "Scan Backward using audit_log_id_key")
		if !strings.Contains(plan, c.want) && !dense || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s is not read by %s:\n%s", c.name, c.want, plan)
		}
	}
}

// fillAudit writes a log in which one row in fifty is not about memories, of a few workspaces, keys and many subjects.
func fillAudit(t *testing.T, s *store.Store) {
	t.Helper()
	const rows = 5000
	var list []*audit.Row
	for n := int64(1); n <= rows; n++ {
		r := auditRow("a", n)
		r.At = epoch.Add(time.Duration(n) * time.Minute)
		r.ID = audit.FirstID(r.At)
		r.WorkspaceID, r.Actor, r.Target = fmt.Sprint("wsp_", n%3), fmt.Sprint("key_", n%7), fmt.Sprint("subject:", n%200)
		r.Action = audit.MemoryRecalled
		if n%50 == 0 {
			r.Action = []audit.Action{audit.KeyRevoked, audit.KeyCreated}[n/50%2]
		}
		list = append(list, r)
	}
	noError(t, s.AppendAuditRows(t.Context(), list))
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

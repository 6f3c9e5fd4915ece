package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/store"
)

// AddCallers implements lifecycle.CallerStore. Several processes call it at once; all write in one order, so none waits in a
// circle. If two add new clients of one caller at the same time, some more than max can be stored.
func (s *Callers) AddCallers(ctx context.Context, callers []lifecycle.Caller, max int) error {
	sorted := slices.SortedFunc(slices.Values(callers), compareCallers)
	return s.db.Run(ctx, func(ctx context.Context) error {
		rows := slices.Clone(sorted)
		for from := 0; from < len(rows); {
			to := from + 1
			for to < len(rows) && rows[to].Version == rows[from].Version && rows[to].WorkspaceID == rows[from].WorkspaceID {
				to++
			}
			if err := s.nameClients(ctx, rows[from:to], max); err != nil {
				return err
			}
			from = to
		}
		return s.writeCallers(ctx, rows)
	})
}

func compareCallers(a, b lifecycle.Caller) int {
	return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.WorkspaceID, b.WorkspaceID), cmp.Compare(a.CallerID, b.CallerID),
		cmp.Compare(a.Route, b.Route), cmp.Compare(a.Client, b.Client), b.LastAt.Compare(a.LastAt))
}

var clientsByCallers = `SELECT DISTINCT caller_id, client FROM version_caller
	WHERE version = $1 AND workspace_id = $2 AND caller_id IN (` + store.Parameters(3, store.ListSize) + `)`

// nameClients renames the clients of a caller beyond max to ManyClients. All rows have one version and workspace.
func (s *Callers) nameClients(ctx context.Context, rows []lifecycle.Caller, max int) error {
	known := map[string]map[string]bool{}
	var ids []string
	for _, c := range rows {
		if known[c.CallerID] == nil {
			known[c.CallerID] = map[string]bool{}
			ids = append(ids, c.CallerID)
		}
	}
	for some := range slices.Chunk(ids, store.ListSize) {
		args := store.Padded([]any{rows[0].Version, rows[0].WorkspaceID}, some)
		err := s.db.EachRow(ctx, clientsByCallers, args, func(row store.Row) error {
			var caller, client string
			err := row.Scan(&caller, &client)
			if err == nil {
				known[caller][client] = true
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("read clients: %w", err)
		}
	}
	for i := range rows {
		clients := known[rows[i].CallerID]
		if !clients[rows[i].Client] && len(clients) >= max {
			rows[i].Client = lifecycle.ManyClients
		}
		clients[rows[i].Client] = true
	}
	return nil
}

var addCallers = &store.Bulk{
	Into:    `version_caller (version, workspace_id, caller_id, route, client, last_at)`,
	Columns: 6,
	Rest: `ON CONFLICT (version, workspace_id, caller_id, route, client) DO UPDATE SET last_at = excluded.last_at
		WHERE excluded.last_at > version_caller.last_at`,
}

func (s *Callers) writeCallers(ctx context.Context, rows []lifecycle.Caller) error {
	slices.SortFunc(rows, compareCallers) // among equals the latest first
	rows = slices.CompactFunc(rows, func(a, b lifecycle.Caller) bool {
		a.LastAt = b.LastAt
		return a == b
	})
	_, err := s.db.Insert(ctx, addCallers, len(rows), func(i int, values []any) []any {
		c := &rows[i]
		return append(values, c.Version, c.WorkspaceID, c.CallerID, c.Route, c.Client, store.Micros(c.LastAt))
	})
	if err != nil {
		return fmt.Errorf("add callers: %w", err)
	}
	return nil
}

// Callers implements lifecycle.CallerStore.
func (s *Callers) Callers(ctx context.Context, q lifecycle.CallerQuery) ([]lifecycle.Caller, error) {
	var c store.Conditions
	c.Where("version = ?", q.Version)
	if q.WorkspaceID != "" {
		c.Where("workspace_id = ?", q.WorkspaceID)
	}
	if !q.From.IsZero() {
		c.Where("last_at >= ?", store.Micros(q.From))
	}
	if q.NoConsole {
		c.Where("client <> ?", lifecycle.Console)
	}
	if a := q.After; a != nil {
		c.Where("(workspace_id, caller_id, route, client) > (?, ?, ?, ?)", a.WorkspaceID, a.CallerID, a.Route, a.Client)
	}
	query := `SELECT workspace_id, caller_id, route, client, last_at FROM version_caller WHERE ` + c.String() +
		` ORDER BY workspace_id, caller_id, route, client LIMIT ` + c.Arg(q.Limit)
	var list []lifecycle.Caller
	err := s.db.EachRow(ctx, query, c.Args, func(row store.Row) error {
		found := lifecycle.Caller{Version: q.Version}
		var at int64
		if err := row.Scan(&found.WorkspaceID, &found.CallerID, &found.Route, &found.Client, &at); err != nil {
			return err
		}
		found.LastAt = store.TimeOf(at)
		list = append(list, found)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list callers: %w", err)
	}
	return list, nil
}

// PruneCallers implements lifecycle.CallerStore.
func (s *Callers) PruneCallers(ctx context.Context, before time.Time) error {
	return s.db.Run(ctx, func(ctx context.Context) error {
		if _, err := s.db.In(ctx).Exec(ctx, `DELETE FROM version_caller WHERE last_at < $1`, store.Micros(before)); err != nil {
			return fmt.Errorf("prune callers: %w", err)
		}
		return nil
	})
}

// LastCalls implements analytics.CallStore.
func (s *Callers) LastCalls(ctx context.Context, workspaceID string, noConsole bool) (map[int]time.Time, error) {
	var c store.Conditions
	if workspaceID != "" {
		c.Where("workspace_id = ?", workspaceID)
	}
	if noConsole {
		c.Where("client <> ?", lifecycle.Console)
	}
	query := `SELECT version, max(last_at) FROM version_caller` + c.Clause()
	calls := map[int]time.Time{}
	err := s.db.EachRow(ctx, query+` GROUP BY version`, c.Args, func(row store.Row) error {
		var version int
		var at int64
		err := row.Scan(&version, &at)
		calls[version] = store.TimeOf(at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read last calls: %w", err)
	}
	return calls, nil
}

package audit

import (
	"context"
	"iter"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// List reads the rows that p may see, newest first: an operator sees all workspaces and the instance, other callers their own
// workspace. For them, another workspace is problem.Missing.
func (l *Log) List(ctx context.Context, p *auth.Principal, f Filter) ([]*Row, error) {
	if err := f.confine(p); err != nil {
		return nil, err
	}
	return l.list(ctx, f)
}

// list reads rows with the hash of the row before, even if that row was removed as an old read.
func (l *Log) list(ctx context.Context, f Filter) ([]*Row, error) {
	rows, err := l.Store.ListAuditRows(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if !r.Packed || r.Sequence == 1 || r.Previous != (Hash{}) {
			continue
		}
		done, err := l.removals(ctx, r.Chain)
		if err != nil {
			return nil, err
		}
		for _, m := range done {
			if m.Last == r.Sequence-1 {
				r.Previous = m.Hash
			}
		}
	}
	return rows, nil
}

// exportPage is how many rows an export reads at a time.
const exportPage = 500

// Export is List without an end: f.Limit does not count.
func (l *Log) Export(ctx context.Context, p *auth.Principal, f Filter) (iter.Seq2[*Row, error], error) {
	if err := f.confine(p); err != nil {
		return nil, err
	}
	f.Limit = exportPage
	return func(yield func(*Row, error) bool) {
		for {
			rows, err := l.list(ctx, f)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
			if len(rows) < exportPage {
				return
			}
			f.Before = rows[len(rows)-1].ID
		}
	}, nil
}

// confine restricts a caller outside the operator workspace to its own workspace, and a key that is bound to a subject or
// agent to its own entries.
func (f *Filter) confine(p *auth.Principal) error {
	if p.Bound() {
		if f.Actor != "" && f.Actor != p.Actor() {
			return problem.Missing()
		}
		f.Actor = p.Actor()
	}
	switch {
	case p.Operator:
	case f.WorkspaceID == "":
		f.WorkspaceID = p.WorkspaceID
	case f.WorkspaceID != p.WorkspaceID:
		return problem.Missing()
	}
	return nil
}

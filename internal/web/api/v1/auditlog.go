package v1

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddAuditLog declares the operations of the audit log.
func AddAuditLog(r *endpoint.Registry, log *audit.Log, cursors *page.Sealer) {
	op := func(id, path, summary string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: "GET", Path: "/admin/audit-log" + path, Since: 1, Tag: "admin", Summary: summary,
			Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Class: endpoint.Stream, Status: 200, Vital: true,
		}
	}

	list := op("listAuditLog", "", "List audit log entries, newest first")
	list.Description = "Admins of the operator workspace see the entries of all workspaces and of the instance. Other admins see the entries of " +
		"their own workspace. With Accept: " + endpoint.MediaLines + " the response contains all entries that match, one on each line, and limit is ignored."
	list.Errors = []string{problem.CodeNotFound}
	endpoint.Add(r, list, func(ctx context.Context, in *listAuditLog) (*auditLogAnswer, error) {
		if in.Accept.Lines() {
			return in.export(ctx, log, cursors)
		}
		return in.list(ctx, log, cursors)
	})

	verify := op("verifyAuditLog", "/verify", "Verify the audit log")
	verify.Operator = true
	verify.Description = "Only credentials of the operator workspace can call this operation. The operation reads the whole log and its " +
		"checkpoints and names the first entry of each chain that was changed, removed or cut off. Reads that were removed " +
		"because of audit.readRetentionDays are on record and do not count as missing. The command keepsake audit verify does " +
		"the same without the server."
	verify.Errors = []string{problem.CodeConflict}
	endpoint.Add(r, verify, func(ctx context.Context, _ *struct{}) (*auditVerified, error) {
		v, err := log.Verify(ctx, log.Checkpoints)
		if err != nil {
			return nil, err
		}
		return viewOfVerified(v), nil
	})
}

type listAuditLog struct {
	Accept endpoint.Accept `header:"Accept"`
	pageQuery
	Workspace string     `query:"workspace" maxLength:"64" doc:"List only entries of this workspace."`
	Actor     string     `query:"actor" maxLength:"64" doc:"List only entries of this key or user, or of local." example:"key_01kakakakafkhvayayayayayay"`
	Action    string     `query:"action" maxLength:"64" doc:"List only entries of this action." example:"api_key.revoked"`
	Target    string     `query:"target" maxLength:"64" doc:"List only entries whose target has this ID."`
	Reads     bool       `query:"reads" default:"true" doc:"Whether reads of memories are included."`
	From      *wire.Time `query:"from" doc:"List only entries at or after this time."`
	To        *wire.Time `query:"to" doc:"List only entries before this time."`
}

type auditLogAnswer struct {
	Body struct {
		Items      []auditEntryView `json:"items"`
		NextCursor *string          `json:"nextCursor"`
	}
	Lines endpoint.Sequence[auditEntryView]
}

type auditEntryView struct {
	ID          string          `json:"id" doc:"The ID of the entry, which begins with aud_." example:"aud_01kakakakafkhvayayayayayay"`
	At          wire.Time       `json:"at" doc:"The time of the action."`
	WorkspaceID *string         `json:"workspaceId" doc:"The ID of the workspace. It is null for entries about the instance."`
	Actor       *string         `json:"actor" doc:"The ID of the key or user that acted, or local. It is null if the actor is unknown."`
	Action      string          `json:"action" doc:"The action: what it was about, and what was done." example:"api_key.revoked"`
	Target      *string         `json:"target" doc:"The ID of the target of the action. For a person it is a keyed hash. It is null if the action has no target."`
	Outcome     string          `json:"outcome" enum:"done,refused,failed" doc:"Whether the action was done, was refused, or failed."`
	Count       int64           `json:"count" doc:"The number of times the action happened since at, or the number of memories it concerns."`
	Details     wire.Metadata   `json:"details" doc:"The values that were set. The value changed stands for a value that the log does not contain. A limit that was changed is also there as it was before, such as quota.daily.before; none means no limit of its own."`
	Address     *string         `json:"address" doc:"The IP address of the client. It is null if there is none."`
	RequestID   *string         `json:"requestId" doc:"The ID of the request, as in X-Request-Id. It is null if the action has no request."`
	Link        *auditChainView `json:"link" doc:"The entry's place in the log. It is null unless the caller is an admin of the operator workspace."`
}

type auditChainView struct {
	Chain    string `json:"chain" doc:"The name of the chain of entries. Each process of the instance writes one."`
	Sequence int64  `json:"sequence" doc:"The number of the entry in its chain, starting at 1."`
	Previous string `json:"previous" doc:"The hash of the previous entry."`
	Hash     string `json:"hash" doc:"The keyed hash of the entry and of the hash before it."`
}

// filter returns the filter for up to limit entries after a position; nil: from the start.
func (in *listAuditLog) filter(after *idPosition, limit int) audit.Filter {
	f := audit.Filter{
		WorkspaceID: in.Workspace, Actor: in.Actor, Action: audit.Action(in.Action), Target: in.Target, Changes: !in.Reads, Limit: limit,
	}
	if in.From != nil {
		f.From = in.From.Time
	}
	if in.To != nil {
		f.To = in.To.Time
	}
	if after != nil {
		f.Before = after.ID
	}
	return f
}

func (in *listAuditLog) scope(p *auth.Principal) string {
	f := in.filter(nil, 0)
	return page.Scope(p.WorkspaceID, "listAuditLog", p.SubjectID, p.AgentID, in.Workspace, in.Actor, in.Action, in.Target,
		strconv.FormatBool(in.Reads), f.From.String(), f.To.String())
}

func (in *listAuditLog) list(ctx context.Context, log *audit.Log, cursors *page.Sealer) (*auditLogAnswer, error) {
	p := auth.From(ctx)
	found, next, err := readAhead(in.pageQuery, cursors, in.scope(p), func(after *idPosition, limit int) ([]*audit.Row, error) {
		return log.List(ctx, p, in.filter(after, limit))
	}, func(r *audit.Row) idPosition { return idPosition{r.ID} })
	if err != nil {
		return nil, err
	}
	out := &auditLogAnswer{}
	out.Body.NextCursor = next
	out.Body.Items = make([]auditEntryView, len(found))
	for i, row := range found {
		view, err := viewOfAuditRow(row, p)
		if err != nil {
			return nil, err
		}
		out.Body.Items[i] = *view
	}
	return out, nil
}

func (in *listAuditLog) export(ctx context.Context, log *audit.Log, cursors *page.Sealer) (*auditLogAnswer, error) {
	p := auth.From(ctx)
	after, err := startOf[idPosition](in.pageQuery, cursors, in.scope(p))
	if err != nil {
		return nil, err
	}
	rows, err := log.Export(ctx, p, in.filter(after, 0))
	if err != nil {
		return nil, err
	}
	return &auditLogAnswer{Lines: func(yield func(*auditEntryView, error) bool) {
		for row, err := range rows {
			var view *auditEntryView
			if err == nil {
				view, err = viewOfAuditRow(row, p)
			}
			if !yield(view, err) {
				return
			}
		}
	}}, nil
}

func viewOfAuditRow(r *audit.Row, p *auth.Principal) (*auditEntryView, error) {
	v := &auditEntryView{
		ID: r.ID, At: wire.At(r.At), WorkspaceID: textOrNull(r.WorkspaceID), Actor: textOrNull(r.Actor), Action: string(r.Action),
		Target: textOrNull(r.Target), Outcome: string(r.Outcome), Count: r.Count, RequestID: textOrNull(r.RequestID),
	}
	if err := json.Unmarshal([]byte(r.Details), &v.Details); err != nil {
		return nil, fmt.Errorf("audit row %s: decode its details: %w", r.ID, err)
	}
	if r.Address.IsValid() {
		v.Address = textOrNull(r.Address.String())
	}
	if p.Operator {
		v.Link = &auditChainView{Chain: r.Chain, Sequence: r.Sequence, Previous: r.Previous.String(), Hash: r.Hash.String()}
	}
	return v, nil
}

type auditVerified struct {
	Body struct {
		OK                 bool             `json:"ok" doc:"Whether the log is intact. It is true if breaks is empty."`
		Rows               int64            `json:"rows" doc:"The number of entries that were verified."`
		Chains             []auditHeadView  `json:"chains" doc:"The chains of the log, each up to its last verified entry."`
		Checkpoints        int              `json:"checkpoints" doc:"The number of checkpoints that were compared."`
		NewestCheckpointAt *wire.Time       `json:"newestCheckpointAt" doc:"The time of the newest checkpoint. Entries after it are not covered by one. It is null if there is no checkpoint."`
		Break              *auditBreakView  `json:"break" doc:"The first of breaks. It is null if there is none."`
		Breaks             []auditBreakView `json:"breaks" doc:"The first bad or missing entry of each chain that has one."`
	}
}

type auditHeadView struct {
	Chain string `json:"chain" doc:"The name of the chain of entries."`
	Rows  int64  `json:"rows" doc:"The number of the last verified entry in the chain, which counts from 1."`
	Hash  string `json:"hash" doc:"The hash of the last entry. Store a copy of it elsewhere."`
}

type auditBreakView struct {
	Chain    string  `json:"chain" doc:"The name of the chain of entries."`
	Sequence int64   `json:"sequence" doc:"The number of the entry in its chain, starting at 1."`
	ID       *string `json:"id" doc:"The ID of the entry. It is null if the entry is missing."`
	Reason   string  `json:"reason" enum:"changed,missing,unlinked,cut_off,rewritten,head_wrong,checkpoint_forged,checkpoints_unreadable,record_missing,record_forged,checkpoints_missing" doc:"The kind of damage. Entries were changed or removed, or a checkpoint or record does not match them."`
	Message  string  `json:"message" doc:"The damage in words for people."`
}

func viewOfVerified(v *audit.Verified) *auditVerified {
	out := &auditVerified{}
	b := &out.Body
	b.OK, b.Rows, b.Checkpoints, b.NewestCheckpointAt = len(v.Breaks) == 0, v.Rows, v.Checkpoints, wire.AtOrNull(v.Newest)
	b.Chains = make([]auditHeadView, len(v.Heads))
	for i, h := range v.Heads {
		b.Chains[i] = auditHeadView{h.Chain, h.Sequence, h.Hash.String()}
	}
	b.Breaks = make([]auditBreakView, len(v.Breaks))
	for i, bad := range v.Breaks {
		b.Breaks[i] = auditBreakView{bad.Chain, bad.Sequence, textOrNull(bad.ID), string(bad.Reason), bad.Reason.Message()}
	}
	if len(b.Breaks) > 0 {
		b.Break = &b.Breaks[0]
	}
	return out
}

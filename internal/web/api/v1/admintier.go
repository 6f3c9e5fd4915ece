package v1

import (
	"context"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/web/endpoint"
)

// AddAdminTiers declares the operations on tiers. They concern the whole instance.
func AddAdminTiers(r *endpoint.Registry, people *account.Service, cursors *page.Sealer) {
	op := func(id, method, path, summary string, errors ...string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: "/admin/tiers" + path, Since: 1, Tag: "admin", Summary: summary,
			Description: "Only credentials of the operator workspace can call this operation.",
			Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Operator: true, Status: 200, Vital: true, Errors: errors,
		}
	}

	endpoint.Add(r, op("listTiers", "GET", "", "List the tiers"), func(ctx context.Context, in *listTiers) (*tierList, error) {
		return in.list(ctx, people, cursors)
	})

	change := op("changeTier", "PUT", "/{name}", "Change a tier", problem.CodeNotFound, problem.CodeRevisionMismatch)
	change.Description += " The new numbers apply to all later requests and replace the configured ones. What was already used stays used. A count that " +
		"is omitted stays as it is; null means no limit, and 0 that a workspace can have none. Tiers " +
		"are added and renamed in the configuration only."
	endpoint.Add(r, change, func(ctx context.Context, in *changeTier) (*oneTier, error) {
		expected := in.IfMatch.Revisions()
		if in.IfNoneMatch.Any { // tiers are configured, so this one exists
			expected = []int64{}
		}
		t, err := people.ChangeTier(ctx, auth.From(ctx), expected, in.Name, in.Body.apply)
		if err != nil {
			return nil, err
		}
		return &oneTier{ETag: endpoint.ETag(t.Revision), Body: viewOfTier(t)}, nil
	})
}

// tierRates are the limits of a tier that always exist. The maximum is limit.MaxTierCount.
type tierRates struct {
	RequestsPerMinute int64 `json:"requestsPerMinute" minimum:"1" maximum:"137438953472" doc:"The number of requests allowed in a minute, which all keys and users of a workspace share."`
	Daily             int64 `json:"daily" minimum:"1" maximum:"137438953472" doc:"The number of requests allowed in a UTC day. It must not be above monthly."`
	Monthly           int64 `json:"monthly" minimum:"1" maximum:"137438953472" doc:"The number of requests allowed in a UTC month."`
}

// tierNumbers change a tier. A count that is omitted stays, and null means no limit.
type tierNumbers struct {
	tierRates
	Keys      wire.Optional[int64] `json:"keys" minimum:"0" maximum:"137438953472" doc:"The number of API keys that are neither revoked nor expired. null means no limit, 0 means none."`
	Users     wire.Optional[int64] `json:"users" minimum:"0" maximum:"137438953472" doc:"The number of users. null means no limit, 0 means none."`
	Documents wire.Optional[int64] `json:"documents" minimum:"0" maximum:"137438953472" doc:"The number of documents. null means no limit, 0 means none."`
	Memories  wire.Optional[int64] `json:"memories" minimum:"0" maximum:"137438953472" doc:"The number of memories. null means no limit, 0 means none."`
	Storage   wire.Optional[int64] `json:"storage" minimum:"0" maximum:"1125899906842624" doc:"The number of bytes that can be stored. null means no limit, 0 means that nothing can be stored."`
}

// apply sets the numbers of the request.
func (b *tierNumbers) apply(t *limit.Tier) {
	t.RequestsPerMinute, t.Daily, t.Monthly = b.RequestsPerMinute, b.Daily, b.Monthly
	for _, count := range []struct {
		sent *wire.Optional[int64]
		of   **int64
	}{{&b.Keys, &t.Keys}, {&b.Users, &t.Users}, {&b.Documents, &t.Documents}, {&b.Memories, &t.Memories}, {&b.Storage, &t.Storage}} {
		if count.sent.Set {
			*count.of = nil
			if !count.sent.Null {
				*count.of = &count.sent.Value
			}
		}
	}
}

type changeTier struct {
	Name        string               `path:"name" doc:"The name of the tier."`
	IfMatch     endpoint.IfMatch     `header:"If-Match"`
	IfNoneMatch endpoint.IfNoneMatch `header:"If-None-Match" doc:"With *, the request is refused with 412, because every tier exists."`
	Body        tierNumbers
}

type listTiers struct{ pageQuery }

type oneTier struct {
	ETag string `header:"ETag"`
	Body tierView
}

type tierList struct {
	Body struct {
		Items      []tierView `json:"items"`
		NextCursor *string    `json:"nextCursor"`
	}
}

type tierView struct {
	Name string `json:"name" doc:"The name of the tier, which the configuration sets." example:"pro"`
	tierRates
	Keys      *int64 `json:"keys" doc:"The number of API keys that are neither revoked nor expired. null means no limit."`
	Users     *int64 `json:"users" doc:"The number of users. null means no limit."`
	Documents *int64 `json:"documents" doc:"The number of documents. null means no limit."`
	Memories  *int64 `json:"memories" doc:"The number of memories. null means no limit."`
	Storage   *int64 `json:"storage" doc:"The number of bytes that documents, memories, their revisions, plans, stored responses and payloads of events can use. null means no limit."`
	Revision  int64  `json:"revision" doc:"The revision of the tier. It is 1 while the tier has its configured numbers."`
}

// tierPosition is the content of a list cursor: the number of tiers before. Tiers have a fixed order.
type tierPosition struct {
	After int `json:"after"`
}

func (in *listTiers) list(ctx context.Context, people *account.Service, cursors *page.Sealer) (*tierList, error) {
	scope := page.Scope(auth.From(ctx).WorkspaceID, "listTiers")
	first := 0
	found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *tierPosition, limit int) ([]account.Tier, error) {
		tiers, err := people.Tiers(ctx)
		if after != nil {
			first = min(after.After, len(tiers))
		}
		return tiers[first:min(first+limit, len(tiers))], err
	}, func(account.Tier) tierPosition { return tierPosition{first + in.Limit} })
	if err != nil {
		return nil, err
	}
	out := &tierList{}
	out.Body.Items, out.Body.NextCursor = viewsOf(found, viewOfTier), next
	return out, nil
}

func viewOfTier(t *account.Tier) tierView {
	return tierView{
		Name: t.Name, Revision: t.Revision, tierRates: tierRates{RequestsPerMinute: t.RequestsPerMinute, Daily: t.Daily, Monthly: t.Monthly},
		Keys: t.Keys, Users: t.Users, Documents: t.Documents, Memories: t.Memories, Storage: t.Storage,
	}
}

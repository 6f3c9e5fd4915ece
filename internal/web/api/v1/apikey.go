package v1

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddAPIKeys declares the operations on API keys.
func AddAPIKeys(r *endpoint.Registry, keys *apikey.Service, cursors *page.Sealer) {
	op := apiKeyOperation

	create := op("createAPIKey", "POST", "/api-keys", "Create an API key", problem.CodeNotFound, problem.CodeLimitReached)
	create.Description = "The response is the only one that contains the key. The key's scopes must be a subset of the caller's. A caller that " +
		"is bound to a subject or agent creates keys with the same binding. A key can create keys within its own expiresAt, " +
		"allowedIps, quota and rateLimit only, which also are the defaults. A wider value is refused with 403 and named in " +
		"details.field."
	create.Status, create.Idempotent = 201, true
	endpoint.Add(r, create, func(ctx context.Context, in *createAPIKey) (*createdAPIKey, error) {
		draft, err := in.Body.draft()
		if err != nil {
			return nil, err
		}
		k, err := keys.Create(ctx, auth.From(ctx), draft)
		if err != nil {
			return nil, err
		}
		sealIfBound(ctx, k.Record)
		return &createdAPIKey{
			ETag: endpoint.ETag(k.Revision), Location: "/developer/api-keys/" + k.ID,
			Body: createdAPIKeyView{apiKeyView: viewOfAPIKey(k.Record), Key: &k.Text},
		}, nil
	})

	list := op("listAPIKeys", "GET", "/api-keys", "List API keys, newest first")
	list.Description = "The list contains the keys of the caller's workspace, also those that expired or were revoked. A caller that is bound to a " +
		"subject or agent sees only keys with the same binding."
	endpoint.Add(r, list, func(ctx context.Context, in *listAPIKeys) (*apiKeyList, error) {
		return in.list(ctx, keys, cursors)
	})

	get := op("getAPIKey", "GET", "/api-keys/{id}", "Get an API key", problem.CodeNotFound)
	get.Description = "The response contains the record of the key, never the text of the key. The record of a revoked key stays readable."
	endpoint.Add(r, get, func(ctx context.Context, in *namedAPIKey) (*oneAPIKey, error) {
		return answerAPIKey(keys.APIKey(ctx, auth.From(ctx), in.ID))
	})

	change := op("changeAPIKey", "PATCH", "/api-keys/{id}", "Change an API key",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeLimitReached, problem.CodeRevisionMismatch)
	change.Description = "Fields that are omitted do not change, nor do members of rateLimit, quota and metadata that are omitted. scopes and" +
		" allowedIps replace the whole old list. A key that expired less than 30 days ago becomes active again if expiresAt is moved into the future. Revoked keys cannot be changed. A key can " +
		"change keys, including itself, within its own scopes, expiresAt, allowedIps, quota and rateLimit only. A wider value " +
		"is refused with 403 and named in details.field."
	endpoint.Add(r, change, func(ctx context.Context, in *changeAPIKey) (*oneAPIKey, error) {
		c, err := in.change()
		if err != nil {
			return nil, err
		}
		return answerAPIKey(keys.Change(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions(), c))
	})

	revoke := op("revokeAPIKey", "POST", "/api-keys/{id}/revoke", "Revoke an API key",
		problem.CodeNotFound, problem.CodeRevisionMismatch)
	revoke.Description = "All later requests with the key are refused. Its record stays readable. Revoking a revoked key has no effect. " + deferred
	revoke.Idempotent, revoke.WithoutStorage = true, true
	endpoint.Add(r, revoke, func(ctx context.Context, in *revokeAPIKey) (*revokedAPIKey, error) {
		reason := ""
		if in.Body != nil && in.Body.Reason != nil {
			reason = *in.Body.Reason
		}
		k, err := keys.Revoke(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions(), reason)
		if err != nil {
			return nil, err
		}
		sealIfBound(ctx, k)
		return &revokedAPIKey{Status: statusOfRevoked(k), ETag: endpoint.ETag(k.Revision), Body: viewOfAPIKey(k)}, nil
	})

	remove := op("deleteAPIKey", "DELETE", "/api-keys/{id}", "Revoke an API key and return nothing",
		problem.CodeNotFound, problem.CodeRevisionMismatch)
	remove.Status, remove.Description = 204, deferred
	endpoint.Add(r, remove, func(ctx context.Context, in *deleteAPIKey) (*deletedAPIKey, error) {
		k, err := keys.Revoke(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions(), "")
		if err != nil {
			return nil, err
		}
		return &deletedAPIKey{Status: statusOfRevoked(k)}, nil
	})

	usage := op("getAPIKeyUsage", "GET", "/api-keys/{id}/usage", "Get the usage of an API key over time", problem.CodeNotFound)
	usage.Description = "The response has a point for each interval of the window, also for intervals without requests."
	endpoint.Add(r, usage, func(ctx context.Context, in *apiKeyUsage) (*apiKeyUsageAnswer, error) {
		window := usageWindows[in.Window]
		u, err := keys.Usage(ctx, auth.From(ctx), in.ID, window.length, window.step)
		if err != nil {
			return nil, err
		}
		return &apiKeyUsageAnswer{Body: viewOfUsage(u)}, nil
	})

	limits := op("getAPIKeyLimits", "GET", "/api-keys/{id}/limits", "Get the limits of an API key", problem.CodeNotFound)
	limits.Description = "Reading the limits is not charged to the key."
	endpoint.Add(r, limits, func(ctx context.Context, in *namedAPIKey) (*apiKeyLimits, error) {
		l, err := keys.Limits(ctx, auth.From(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return &apiKeyLimits{Body: viewOfLimits(l)}, nil
	})

	whoami := op("whoami", "GET", "/whoami", "Get the calling API key and its scopes")
	whoami.Credentials, whoami.Scope = endpoint.Key, auth.None
	whoami.Description = "Every valid API key can call this operation, whatever its scopes. The request is charged like any other."
	endpoint.Add(r, whoami, func(ctx context.Context, _ *struct{}) (*whoamiAnswer, error) {
		self, err := keys.Self(ctx, auth.From(ctx))
		if err != nil {
			return nil, err
		}
		return &whoamiAnswer{Body: viewOfSelf(self)}, nil
	})
}

// apiKeyOperation is what the operations on API keys have in common.
func apiKeyOperation(id, method, path, summary string, errors ...string) endpoint.Operation {
	return endpoint.Operation{
		ID: id, Method: method, Path: "/developer" + path, Since: 1, Tag: "api keys", Summary: summary,
		Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.DeveloperManage, Status: 200, Errors: errors,
	}
}

type createAPIKey struct {
	Body newAPIKey
}

type newAPIKey struct {
	Name       string         `json:"name" maxLength:"120" doc:"The display name." example:"crawler"`
	Scopes     []string       `json:"scopes" minItems:"1" maxItems:"7" enum:"read,write,developer:manage,analytics:read,memory:read,memory:write,admin" doc:"The scopes of the key. The caller must have each of them."`
	ExpiresAt  *wire.Time     `json:"expiresAt" doc:"The time at which the key expires, which must be in the future. If it is omitted, the key does not expire."`
	RateLimit  *rateLimitPart `json:"rateLimit" doc:"The key's own limit per minute, which cannot exceed the tier's. If it is omitted, the tier's limit applies, also after it changes."`
	Quota      *quotaPart     `json:"quota" doc:"The key's own quotas, which apply in addition to the workspace's."`
	SubjectID  *string        `json:"subjectId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The subject that the key is bound to. This cannot be changed later."`
	AgentID    *string        `json:"agentId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The agent that the key is bound to. This cannot be changed later."`
	AllowedIPs []string       `json:"allowedIps" required:"false" maxItems:"32" format:"cidr" doc:"The networks that the key can be used from. If the list is empty, the key can be used from anywhere." example:"203.0.113.0/24"`
	Metadata   wire.Metadata  `json:"metadata" required:"false" maxProperties:"32" doc:"Named values: strings of at most 1,024 characters, numbers or booleans."`

	WorkspaceID *string `json:"workspaceId" minLength:"1" maxLength:"64" doc:"The workspace of the new key. The default is the caller's workspace. Only operators can send it."`
}

// rateLimitPart and quotaPart are of new keys, where null means absent, and of changes, where it removes.
type rateLimitPart struct {
	RequestsPerMinute wire.Optional[int64] `json:"requestsPerMinute" minimum:"1" doc:"The number of requests per minute. null means that the tier's number applies."`
}

type quotaPart struct {
	Daily   wire.Optional[int64] `json:"daily" minimum:"1" maximum:"100000000000" doc:"The number of requests in a UTC day. null means that the key has no quota of its own for a day."`
	Monthly wire.Optional[int64] `json:"monthly" minimum:"1" maximum:"100000000000" doc:"The number of requests in a UTC month. null means that the key has no quota of its own for a month."`
}

func (n *newAPIKey) draft() (apikey.Draft, error) {
	d := apikey.Draft{
		Name: n.Name, ExpiresAt: n.ExpiresAt.Moment(), SubjectID: textOrEmpty(n.SubjectID), AgentID: textOrEmpty(n.AgentID),
		Metadata: n.Metadata, WorkspaceID: textOrEmpty(n.WorkspaceID),
	}
	if n.RateLimit != nil {
		d.RequestsPerMinute = n.RateLimit.RequestsPerMinute.Pointer()
	}
	if n.Quota != nil {
		d.Quota = apikey.Quota{Daily: n.Quota.Daily.Pointer(), Monthly: n.Quota.Monthly.Pointer()}
	}
	var err error
	if d.Scopes, err = scopesOf(n.Scopes); err != nil {
		return d, err
	}
	if n.AllowedIPs != nil { // an empty list means any address
		d.AllowedIPs, err = prefixesOf(n.AllowedIPs)
	}
	return d, err
}

type changeAPIKey struct {
	ID      string           `path:"id" doc:"The ID of the API key."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    struct {
		Name       wire.Optional[string]              `json:"name" nullable:"false" maxLength:"120" doc:"The display name of the key."`
		Scopes     wire.Optional[[]string]            `json:"scopes" nullable:"false" minItems:"1" maxItems:"7" enum:"read,write,developer:manage,analytics:read,memory:read,memory:write,admin" doc:"The new scopes of the key. They replace all old ones, and the caller must have each of them."`
		ExpiresAt  wire.Optional[wire.Time]           `json:"expiresAt" doc:"The time at which the key expires. null means that it does not expire."`
		RateLimit  wire.Optional[rateLimitPart]       `json:"rateLimit" doc:"The key's own limit per minute. null means that the tier's limit applies, also after it changes."`
		Quota      wire.Optional[quotaPart]           `json:"quota" doc:"The key's own quotas. null means that it has none, and null for one of them removes that one."`
		AllowedIPs wire.Optional[[]string]            `json:"allowedIps" maxItems:"32" format:"cidr" doc:"The networks that the key can be used from. null, like an empty list, means that the key can be used from anywhere."`
		Metadata   wire.Optional[wire.MetadataChange] `json:"metadata" maxProperties:"64" doc:"The metadata to merge, name by name. A null value removes the entry. null instead of an object removes all entries."`
		Disabled   wire.Optional[bool]                `json:"disabled" nullable:"false" doc:"Whether the key is disabled. A disabled key is refused until it is enabled again."`
	}
}

func (in *changeAPIKey) change() (c apikey.Change, err error) {
	b := &in.Body
	c.Name, c.Disabled = b.Name.Pointer(), b.Disabled.Pointer()
	if b.Scopes.Set {
		scopes, err := scopesOf(b.Scopes.Value)
		if err != nil {
			return c, err
		}
		c.Scopes = &scopes
	}
	if b.ExpiresAt.Set {
		c.Expiry = &apikey.Expiry{At: b.ExpiresAt.Pointer().Moment()}
	}
	if perMinute := &b.RateLimit.Value.RequestsPerMinute; b.RateLimit.Null || perMinute.Set {
		c.RateLimit = &apikey.RateLimit{RequestsPerMinute: perMinute.Pointer()}
	}
	if q := &b.Quota.Value; b.Quota.Null || q.Daily.Set || q.Monthly.Set {
		c.Quota = &apikey.Quota{Daily: q.Daily.Pointer(), Monthly: q.Monthly.Pointer()}
		c.KeepsDaily, c.KeepsMonthly = !b.Quota.Null && !q.Daily.Set, !b.Quota.Null && !q.Monthly.Set
	}
	if b.AllowedIPs.Set {
		prefixes, err := prefixesOf(b.AllowedIPs.Value)
		if err != nil {
			return c, err
		}
		c.AllowedIPs = &prefixes
	}
	if b.Metadata.Set {
		metadata := map[string]any(b.Metadata.Value)
		c.Metadata = &metadata
	}
	return c, nil
}

type namedAPIKey struct {
	ID string `path:"id" doc:"The ID of the API key."`
}

// deferred describes status 202 of the operations that revoke a key.
const deferred = "Status 202 means that this instance refuses the key from now on but could not store the revocation yet, for example " +
	"because its disk is full. It stores the revocation as soon as it can. Only then do other instances refuse the key."

// statusOfRevoked returns 0 for the operation's own status.
func statusOfRevoked(k *apikey.Record) int {
	if k.Pending {
		return http.StatusAccepted
	}
	return 0
}

type revokedAPIKey struct {
	Status int    `enum:"200,202"`
	ETag   string `header:"ETag"`
	Body   apiKeyView
}

type deletedAPIKey struct {
	Status int `enum:"204,202"`
}

type revokeAPIKey struct {
	ID      string           `path:"id" doc:"The ID of the API key."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    *struct {
		Reason *string `json:"reason" maxLength:"512" doc:"The reason for the revocation, which is stored with the key." example:"left the company"`
	}
}

type deleteAPIKey struct {
	ID      string           `path:"id" doc:"The ID of the API key."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
}

type apiKeyUsage struct {
	ID     string `path:"id" doc:"The ID of the API key."`
	Window string `query:"window" enum:"1h,24h,7d,30d" default:"24h" doc:"The period to report. The intervals are minutes for an hour, hours for a day or a week, and days for thirty days."`
}

var usageWindows = map[string]struct{ length, step time.Duration }{
	"1h":  {time.Hour, time.Minute},
	"24h": {24 * time.Hour, time.Hour},
	"7d":  {7 * 24 * time.Hour, time.Hour},
	"30d": {30 * 24 * time.Hour, 24 * time.Hour},
}

type listAPIKeys struct {
	State     string `query:"state" enum:"active,rotating,expired,disabled,revoked" doc:"List only keys in this state."`
	CreatedBy string `query:"createdBy" maxLength:"64" doc:"List only keys created by the user or key with this ID, or by local."`
	pageQuery
}

// apiKeyPosition is a position in the list of keys.
type apiKeyPosition struct {
	At int64  `json:"at"` // Unix milliseconds
	ID string `json:"id"`
}

func (in *listAPIKeys) list(ctx context.Context, keys *apikey.Service, cursors *page.Sealer) (*apiKeyList, error) {
	p := auth.From(ctx)
	scope := page.Scope(p.WorkspaceID, "listAPIKeys", p.SubjectID, p.AgentID, in.State, in.CreatedBy)
	found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *apiKeyPosition, limit int) ([]*apikey.Record, error) {
		filter := apikey.Filter{State: apikey.State(in.State), CreatedBy: in.CreatedBy, Limit: limit}
		if after != nil {
			filter.Before = &apikey.Position{CreatedAt: time.UnixMilli(after.At).UTC(), ID: after.ID}
		}
		return keys.List(ctx, p, filter)
	}, func(k *apikey.Record) apiKeyPosition { return apiKeyPosition{k.CreatedAt.UnixMilli(), k.ID} })
	if err != nil {
		return nil, err
	}
	out := &apiKeyList{}
	out.Body.NextCursor = next
	out.Body.Items = make([]apiKeyView, len(found))
	for i, k := range found {
		out.Body.Items[i] = viewOfAPIKey(k)
	}
	return out, nil
}

func scopesOf(names []string) (auth.Scopes, error) {
	scopes := auth.None
	for i, name := range names {
		scope, ok := auth.ParseScope(name)
		if !ok {
			return auth.None, problem.Validation(item("scopes", i), problem.NotAllowed, "There is no such scope.")
		}
		scopes |= scope
	}
	return scopes, nil
}

func prefixesOf(texts []string) ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, problem.Validation(item("allowedIps", i), problem.Format, "A network must be written as address/bits, such as 203.0.113.0/24.")
		}
		prefixes[i] = p
	}
	return prefixes, nil
}

package v1

import (
	"context"
	"strconv"
	"time"

	"keepsake/internal/base/wire"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/web/endpoint"
)

type apiKeyView struct {
	ID           string        `json:"id" doc:"The ID of the key, which begins with key_. A rotation keeps it." example:"key_01kakakakafkhvayayayayayay"`
	Name         string        `json:"name" doc:"The display name of the key." example:"crawler"`
	Hint         string        `json:"hint" doc:"The first characters of the key, which help people to tell keys apart." example:"kpsk_7Hq2"`
	Scopes       []string      `json:"scopes" doc:"The scopes of the key, which say what requests with it can do."`
	State        string        `json:"state" enum:"active,rotating,expired,disabled,revoked" doc:"The state of the key. While it is rotating, two secrets work. Only active and rotating keys are accepted."`
	ExpiresAt    *wire.Time    `json:"expiresAt" doc:"The time at which the key expires. It is null if the key does not expire."`
	RateLimit    rateLimitView `json:"rateLimit" doc:"The limit of the key per minute, which applies in addition to the workspace's."`
	Quota        *quotaView    `json:"quota" doc:"The key's own quotas. It is null if only the workspace's quotas apply."`
	SubjectID    *string       `json:"subjectId" doc:"The ID of the subject that the key is bound to. It is null if the key is not bound to one."`
	AgentID      *string       `json:"agentId" doc:"The ID of the agent that the key is bound to. It is null if the key is not bound to one."`
	AllowedIPs   []string      `json:"allowedIps" doc:"The networks that the key can be used from, in CIDR notation. An empty list means any address."`
	Metadata     wire.Metadata `json:"metadata" doc:"The metadata that was stored with the key: strings, numbers or booleans by name."`
	CreatedAt    wire.Time     `json:"createdAt"`
	CreatedBy    string        `json:"createdBy" doc:"The ID of the user or key that created the key, or local."`
	UpdatedAt    wire.Time     `json:"updatedAt"`
	LastUsedAt   *wire.Time    `json:"lastUsedAt" doc:"The time of the last request with any secret of the key. It is null if there was none."`
	Secrets      []secretView  `json:"secrets" doc:"The secrets of the key, newest first. A key that is being rotated has two."`
	RevokedAt    *wire.Time    `json:"revokedAt" doc:"The time at which the key was revoked. It is null if the key is not revoked."`
	RevokeReason *string       `json:"revokeReason" doc:"The reason that was given for the revocation. It is null if there was none."`
	Revision     int64         `json:"revision"`
}

type rateLimitView struct {
	RequestsPerMinute int64 `json:"requestsPerMinute" doc:"The number of requests that the key can make in a minute."`
	Inherited         bool  `json:"inherited" doc:"Whether the limit is the tier's and changes with it."`
}

type quotaView struct {
	Daily   *int64 `json:"daily" doc:"The number of requests that the key can make in a UTC day. It is null if the key has no such quota."`
	Monthly *int64 `json:"monthly" doc:"The number of requests that the key can make in a UTC month. It is null if the key has no such quota."`
}

type secretView struct {
	Hint       string     `json:"hint" doc:"The first characters of the secret, which help people to tell secrets apart."`
	CreatedAt  wire.Time  `json:"createdAt"`
	ValidUntil *wire.Time `json:"validUntil" doc:"The time at which the secret stops working, because a newer one replaces it. It is null for the newest secret."`
	LastUsedAt *wire.Time `json:"lastUsedAt" doc:"The time of the last request with the secret. It is null if there was none."`
}

type createdAPIKeyView struct {
	apiKeyView
	Key *string `json:"key" once:"true" doc:"The text of the key." example:"kpsk_7Hq2…"`
}

type createdAPIKey struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     createdAPIKeyView
}

type oneAPIKey struct {
	ETag string `header:"ETag"`
	Body apiKeyView
}

type apiKeyList struct {
	Body struct {
		Items      []apiKeyView `json:"items"`
		NextCursor *string      `json:"nextCursor"`
	}
}

// sealIfBound encrypts the stored response if it names the subject of a bound key. k can be nil.
func sealIfBound(ctx context.Context, k *apikey.Record) {
	if k != nil && (k.SubjectID != "" || k.AgentID != "") {
		idempotency.SealWith(ctx, idempotency.KeyName{})
	}
}

func answerAPIKey(k *apikey.Record, err error) (*oneAPIKey, error) {
	if err != nil {
		return nil, err
	}
	return &oneAPIKey{ETag: endpoint.ETag(k.Revision), Body: viewOfAPIKey(k)}, nil
}

func viewOfAPIKey(k *apikey.Record) apiKeyView {
	v := apiKeyView{
		ID: k.ID, Name: k.Name, Hint: k.LiveSecrets[0].Hint, Scopes: k.Scopes.Names(), State: string(k.State),
		ExpiresAt: wire.ChosenOrNull(k.ExpiresAt),
		RateLimit: rateLimitView{RequestsPerMinute: k.PerMinute, Inherited: k.Inherited},
		SubjectID: textOrNull(k.SubjectID), AgentID: textOrNull(k.AgentID),
		AllowedIPs: make([]string, len(k.AllowedIPs)), Metadata: k.Metadata,
		CreatedAt: wire.At(k.CreatedAt), CreatedBy: k.CreatedBy, UpdatedAt: wire.At(k.UpdatedAt),
		LastUsedAt: wire.AtOrNull(k.LastUsedAt), Secrets: make([]secretView, len(k.LiveSecrets)),
		RevokedAt: wire.AtOrNull(k.RevokedAt), RevokeReason: textOrNull(k.RevokeReason), Revision: k.Revision,
	}
	if k.Daily != nil || k.Monthly != nil {
		v.Quota = &quotaView{Daily: k.Daily, Monthly: k.Monthly}
	}
	for i, p := range k.AllowedIPs {
		v.AllowedIPs[i] = p.String()
	}
	if v.Metadata == nil {
		v.Metadata = wire.Metadata{}
	}
	for i, s := range k.LiveSecrets {
		v.Secrets[i] = secretView{
			Hint: s.Hint, CreatedAt: wire.At(s.CreatedAt), ValidUntil: wire.AtOrNull(s.ValidUntil), LastUsedAt: wire.AtOrNull(s.LastUsedAt),
		}
	}
	return v
}

type apiKeyUsageAnswer struct {
	Body usageView
}

type usageView struct {
	KeyID    string           `json:"keyId" doc:"The ID of the API key."`
	From     wire.Time        `json:"from" doc:"The start of the period, which is the start of its first interval."`
	To       wire.Time        `json:"to" doc:"The end of the period, which is the time of the response."`
	Interval string           `json:"interval" enum:"minute,hour,day" doc:"The length of an interval."`
	Points   []usagePointView `json:"points" doc:"One point for each interval, oldest first. The last interval is still open."`
}

type usagePointView struct {
	T         wire.Time `json:"t" doc:"The start of the interval."`
	Requests  int64     `json:"requests" doc:"The number of requests in the interval, including refused ones."`
	Errors    int64     `json:"errors" doc:"The number of responses with a status of 400 or above, except 429."`
	Throttled int64     `json:"throttled" doc:"The number of responses with status 429."`
	Charged   int64     `json:"charged" doc:"The number of requests that were charged to the quotas."`
}

func viewOfUsage(u *apikey.Usage) usageView {
	v := usageView{
		KeyID: u.KeyID, From: wire.At(u.From), To: wire.At(u.To), Interval: intervals[u.Step],
		Points: make([]usagePointView, len(u.Points)),
	}
	for i, p := range u.Points {
		v.Points[i] = usagePointView{wire.At(p.At), p.Requests, p.Errors, p.Throttled, p.Charged}
	}
	return v
}

var intervals = map[time.Duration]string{time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day"}

type apiKeyLimits struct {
	Body limitsView
}

type limitsView struct {
	KeyID     string         `json:"keyId" doc:"The ID of the API key."`
	State     string         `json:"state" enum:"active,rotating,expired,disabled,revoked" doc:"The state of the key. Only active and rotating keys are accepted."`
	At        wire.Time      `json:"at" doc:"The time at which the counters were read."`
	RateLimit ownRateView    `json:"rateLimit" doc:"The limit of the key per minute, and what is left of it."`
	Quota     *budgetPair    `json:"quota" doc:"The key's own quotas. It is null if only the workspace's quotas apply."`
	Workspace workspaceLimit `json:"workspace" doc:"The limits that all keys and users of the workspace share."`
}

type ownRateView struct {
	budgetView
	Inherited bool `json:"inherited" doc:"Whether the limit is the tier's and changes with it."`
}

type workspaceLimit struct {
	Tier      string     `json:"tier" doc:"The name of the workspace's tier."`
	RateLimit budgetView `json:"rateLimit" doc:"The limit of the workspace per minute, and what is left of it."`
	Quota     budgetPair `json:"quota" doc:"The quotas of the workspace, and what is left of them."`
}

type budgetPair struct {
	Daily   *budgetView `json:"daily" doc:"The quota of the UTC day. It is null if there is none."`
	Monthly *budgetView `json:"monthly" doc:"The quota of the UTC month. It is null if there is none."`
}

type budgetView struct {
	Limit     int64     `json:"limit" doc:"The number of requests that are allowed until the reset."`
	Used      int64     `json:"used" doc:"The number of requests that were charged since the last reset."`
	Remaining int64     `json:"remaining" doc:"The number of requests left until the reset."`
	ResetsAt  wire.Time `json:"resetsAt" doc:"The time at which remaining is limit again."`
}

func viewOfLimits(l *apikey.Limits) limitsView {
	v := limitsView{
		KeyID: l.Key.ID, State: string(l.Key.State), At: wire.At(l.At),
		RateLimit: ownRateView{viewOfBudget(l.OfKey.Minute), l.Key.Inherited},
		Workspace: workspaceLimit{
			Tier: l.Workspace.Tier().Name, RateLimit: viewOfBudget(l.OfWorkspace.Minute), Quota: viewOfBudgets(l.OfWorkspace),
		},
	}
	if l.OfKey.Daily != nil || l.OfKey.Monthly != nil {
		own := viewOfBudgets(l.OfKey)
		v.Quota = &own
	}
	return v
}

func viewOfBudgets(b apikey.Budgets) budgetPair {
	var pair budgetPair
	if b.Daily != nil {
		daily := viewOfBudget(*b.Daily)
		pair.Daily = &daily
	}
	if b.Monthly != nil {
		monthly := viewOfBudget(*b.Monthly)
		pair.Monthly = &monthly
	}
	return pair
}

func viewOfBudget(b apikey.Budget) budgetView {
	return budgetView{Limit: b.Limit, Used: b.Limit - b.Remaining, Remaining: b.Remaining, ResetsAt: wire.At(b.ResetsAt)}
}

type whoamiAnswer struct {
	Body whoamiView
}

type whoamiView struct {
	apiKeyView
	Workspace workspaceView `json:"workspace" doc:"The workspace that the key belongs to."`
}

type workspaceView struct {
	ID       string `json:"id" doc:"The ID of the workspace."`
	Name     string `json:"name" doc:"The display name of the workspace."`
	Tier     string `json:"tier" doc:"The name of the workspace's tier, which sets its limits."`
	Operator bool   `json:"operator" doc:"Whether this is the operator workspace, whose admins administer the whole instance."`
}

func viewOfSelf(s *apikey.Self) whoamiView {
	return whoamiView{viewOfAPIKey(s.Record), workspaceView{
		ID: s.Workspace.ID(), Name: s.Workspace.Name(), Tier: s.Workspace.Tier().Name, Operator: s.Workspace.Operator(),
	}}
}

// textOrEmpty returns "" for nil.
func textOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// item names an item of a list in a problem: scopes[1].
func item(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

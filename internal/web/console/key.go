package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"keepsake/client"
)

// keyStates are the states that the list of keys can be limited to.
var keyStates = []choice{{"", "All"}, {"active", "Active"}, {"rotating", "Rotating"}, {"disabled", "Disabled"}, {"expired", "Expired"}, {"revoked", "Revoked"}}

// keysData is what the list of keys shows.
type keysData struct {
	State     string
	Keys      []client.APIKey
	Today     map[string]int64 // accepted requests of today, by key
	Throttled map[string]int64 // requests that were refused in the last hour, by key
	Pages     pages
}

func listKeys(v *visit) response {
	query := v.URL.Query()
	data := keysData{State: query.Get("state"), Today: map[string]int64{}, Throttled: map[string]int64{}}
	page, err := v.api().ListAPIKeys(v.Context(), client.APIKeyQuery{State: data.State, Cursor: query.Get("cursor"), Limit: 50})
	if err != nil {
		return v.fail(err)
	}
	data.Keys = page.Items
	data.Pages = v.pages("/console/keys", url.Values{"state": {data.State}}, page.NextCursor)
	if v.can("analytics:read") {
		used, err := v.api().QuotaUsage(v.Context(), "")
		if err != nil {
			return v.fail(err)
		}
		for _, k := range used.Keys {
			data.Today[k.KeyID] = k.Daily
		}
		throttled, err := v.api().TopUsage(v.Context(), client.UsageQuery{Window: "1h", GroupBy: []string{"key"}, Filter: []string{throttledFilter}, Limit: 200})
		if err != nil {
			return v.fail(err)
		}
		for _, r := range throttled {
			if hasKey(r.Group) {
				data.Throttled[*r.Group.Key] = r.Throttled
			}
		}
	}
	return show(keysPage(data))
}

// scopes describe what a key can do.
var scopes = []choice{
	{"read", "Search and read documents"},
	{"write", "Create, change and delete documents"},
	{"memory:read", "Recall and read memories"},
	{"memory:write", "Remember, change and erase memories"},
	{"analytics:read", "Read usage and the request log"},
	{"developer:manage", "Manage API keys"},
	{"admin", "Administer the workspace, and everything above"},
}

// createdKey is a key whose text is shown, after it was created or rotated.
type createdKey struct {
	Key     client.APIKey
	Text    string // empty: it was shown before
	Rotated bool

	Elsewhere bool // the key is of another workspace, so the visitor cannot open it
}

// next is the page that follows when the text of the key is stored.
func (k createdKey) next() string {
	if k.Elsewhere {
		return "/console/keys"
	}
	return keyPath(k.Key.ID)
}

// fieldOf returns the field of a form that an error is about.
func fieldOf(e *client.Error) string {
	field, _, _ := strings.Cut(e.Details.Field, "[")
	if field == "" && e.Details.RequiredScope != "" {
		return "scopes"
	}
	return field
}

// keyData is what the page of a key shows.
type keyData struct {
	Key     client.APIKey
	Limits  *client.APIKeyLimits
	Budgets []budget
	Chart   chart
	Total   int64 // requests in the chart
	Names   map[string]string
	Refused refusals
	Changed *client.AuditEntry // the last change; nil if the visitor cannot read the audit log or it has none
}

// refusals are the requests of a key that its limits have refused in the last 24 hours.
type refusals struct {
	Count int64
	First time.Time             // the start of the hour of the first
	Last  *client.LoggedRequest // nil if the visitor cannot see it
}

// budget is a limit of a key with its use.
type budget struct {
	Name     string
	From     string // who set it
	Used     int64
	Limit    int64
	ResetsAt time.Time
}

func (b budget) share() int { return quota{Used: b.Used, Limit: b.Limit}.share() }

func showKey(v *visit) response {
	data, err := readKey(v)
	if err != nil {
		return v.fail(err)
	}
	if v.isFragment() {
		return show(keyNumbers(data))
	}
	if data.Names, err = v.actorNames(); err != nil {
		return v.fail(err)
	}
	if data.Changed, err = lastChange(v, data.Key.ID); err != nil {
		return v.fail(err)
	}
	return show(keyPage(data))
}

func readKey(v *visit) (*keyData, error) {
	api, ctx, id := v.api(), v.Context(), v.PathValue("id")
	key, err := api.APIKey(ctx, id)
	if err != nil {
		return nil, err
	}
	data := &keyData{Key: *key}
	if data.Limits, err = api.APIKeyLimits(ctx, id); err != nil {
		return nil, err
	}
	data.Budgets = budgets(data.Limits)
	used, err := api.APIKeyUsage(ctx, id, "24h")
	if err != nil {
		return nil, err
	}
	data.Chart = keyChart(used)
	for _, p := range used.Points {
		data.Total += p.Requests
		if p.Throttled > 0 && data.Refused.Count == 0 {
			data.Refused.First = p.T
		}
		data.Refused.Count += p.Throttled
	}
	if data.Refused.Count > 0 && v.can("analytics:read") {
		data.Refused.Last, err = lastThrottled(v, "24h", []string{keyFilter + id, throttledFilter})
	}
	return data, err
}

// lastChange returns the newest entry of the audit log about a key, if the visitor can read it; else nil.
func lastChange(v *visit, keyID string) (*client.AuditEntry, error) {
	if !v.can("admin") {
		return nil, nil
	}
	page, err := v.api().ListAuditLog(v.Context(), client.AuditQuery{Target: keyID, Changes: true, Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	return &page.Items[0], nil
}

// budgets lists the limits of a key, and then those that it shares with its workspace.
func budgets(l *client.APIKeyLimits) []budget {
	var list []budget
	add := func(name, from string, b *client.Budget) {
		if b != nil {
			list = append(list, budget{name, from, b.Used, b.Limit, b.ResetsAt})
		}
	}
	const own = "Set on this key."
	tier := "From tier " + l.Workspace.Tier + "."
	if l.RateLimit.Inherited {
		add("This minute", tier, &l.RateLimit.Budget)
	} else {
		add("This minute", own, &l.RateLimit.Budget)
	}
	if l.Quota != nil {
		add("Today", own, l.Quota.Daily)
		add("This month", own, l.Quota.Monthly)
	}
	shared := "All keys and users together. " + tier
	add("Workspace, this minute", shared, &l.Workspace.RateLimit)
	add("Workspace, today", shared, l.Workspace.Quota.Daily)
	add("Workspace, this month", shared, l.Workspace.Quota.Monthly)
	return list
}

func keyChart(u *client.APIKeyUsage) chart {
	c := chart{
		Label: "Requests with this key over the last 24 hours", Names: []string{"Successful", "Errors", "Throttled"},
		Classes: []string{"part-good", "part-bad", "part-warn"},
	}
	c.Step = stepOf(u.Interval)
	for i, p := range u.Points {
		c.Columns = append(c.Columns, column{
			At: p.T, Values: []float64{float64(p.Requests - p.Errors - p.Throttled), float64(p.Errors), float64(p.Throttled)}, Partial: i == len(u.Points)-1,
		})
	}
	return c
}

// showKeyUse shows when a key was last used, for a page that waits for its first use.
func showKeyUse(v *visit) response {
	key, err := v.api().APIKey(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(firstUse(*key))
}

// graces are how long the old secret can work after a rotation, in seconds.
var graces = []choice{{"0", "None: it stops now"}, {"3600", "1 hour"}, {"86400", "1 day"}, {"604800", "7 days"}, {"2592000", "30 days"}}

// keyAction is the form of an action on a key.
type keyAction struct {
	Key     client.APIKey
	Grace   string
	Reason  string
	Once    string
	Message string
}

func rotateForm(v *visit) response {
	key, err := v.api().APIKey(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(rotatePage(keyAction{Key: *key, Grace: "86400", Once: rand.Text()}))
}

func rotateKey(v *visit) response {
	id, form := v.PathValue("id"), keyAction{Grace: v.form.Get("grace"), Once: v.form.Get("once")}
	var rotation client.Rotation
	if grace, err := strconv.ParseInt(form.Grace, 10, 64); err == nil {
		rotation.GraceSeconds = &grace
	}
	rotation.Force = v.form.Get("force") == "true"
	rotated, err := v.api().RotateAPIKey(client.WithIdempotencyKey(v.Context(), form.Once), id, rotation, nil)
	if err != nil {
		return v.failAction(err, form, rotatePage)
	}
	return show(createdKeyPage(createdKey{Key: rotated.APIKey, Text: rotated.Key, Rotated: true}))
}

func revokeForm(v *visit) response {
	key, err := v.api().APIKey(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(revokePage(keyAction{Key: *key, Once: rand.Text()}))
}

func revokeKey(v *visit) response {
	id, form := v.PathValue("id"), keyAction{Reason: strings.TrimSpace(v.form.Get("reason")), Once: v.form.Get("once")}
	if _, err := v.api().RevokeAPIKey(client.WithIdempotencyKey(v.Context(), form.Once), id, form.Reason); err != nil {
		return v.failAction(err, form, revokePage)
	}
	return done(keyPath(id), "revoked")
}

func completeRotation(v *visit) response {
	id := v.PathValue("id")
	if _, err := v.api().CompleteAPIKeyRotation(v.Context(), id); err != nil {
		return v.fail(err)
	}
	return done(keyPath(id), "ended")
}

func setKeyEnabled(v *visit) response {
	id, enabled := v.PathValue("id"), v.form.Get("enabled") == "true"
	change := client.APIKeyChange{Disabled: client.To(!enabled)}
	if _, err := v.api().ChangeAPIKey(v.Context(), id, change, nil); err != nil {
		return v.fail(err)
	}
	return done(keyPath(id), enabledNotice(enabled))
}

// newestUse returns when the newest secret of a key was last used; nil: never.
func newestUse(k client.APIKey) *time.Time {
	var newest *client.Secret
	for i := range k.Secrets {
		if s := &k.Secrets[i]; newest == nil || s.CreatedAt.After(newest.CreatedAt) {
			newest = s
		}
	}
	if newest == nil {
		return nil
	}
	return newest.LastUsedAt
}

func keyPath(id string) string { return "/console/keys/" + url.PathEscape(id) }

// active reports whether a key can be used, so that it can be rotated and revoked.
func active(k client.APIKey) bool {
	return slices.Contains([]string{"active", "rotating", "disabled"}, k.State)
}

// warnBefore is how long before its expiry a key is marked. Responses to it say when it expires for as long.
const warnBefore = 14 * 24 * time.Hour

// expiresSoon returns how long a key can still be used, and whether that is so short that it is marked.
func expiresSoon(k client.APIKey, now time.Time) (left time.Duration, soon bool) {
	if !active(k) || k.ExpiresAt == nil {
		return 0, false
	}
	left = k.ExpiresAt.Sub(now)
	return left, left > 0 && left <= warnBefore
}

// failAction shows the form of an action on a key again, with the error.
func (v *visit) failAction(err error, form keyAction, page func(keyAction) templ.Component) response {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status >= http.StatusInternalServerError || e.Status == http.StatusNotFound {
		return v.fail(err)
	}
	key, err := v.api().APIKey(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	form.Key, form.Message, form.Once = *key, e.Error(), rand.Text()
	return response{status: e.Status, page: page(form), header: retryHeader(e)}
}

package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"keepsake/client"
)

// expiries are how long a new key can be valid, in days.
var expiries = []choice{{"7", "7 days"}, {"30", "30 days"}, {"90", "90 days"}, {"365", "1 year"}, {"", "Never"}}

// keyLabels are the fields of a key that can be changed.
var keyLabels = []choice{
	{"name", "Name"},
	{"scopes", "Scopes"},
	{"expiresAt", "Expires"},
	{"rateLimit.requestsPerMinute", "Requests per minute"},
	{"quota.daily", "Requests per day"},
	{"quota.monthly", "Requests per month"},
	{"allowedIps", "Networks"},
	{"metadata", "Metadata"},
	{"disabled", "Disabled"},
}

// restrictions are the fields of a new key below "Limits and restrictions".
var restrictions = []string{
	"rateLimit.requestsPerMinute", "quota.daily", "quota.monthly", "allowedIps", "metadata", "subjectId", "agentId", "workspaceId",
}

// keyFields are the fields of a key that is created or changed.
var keyFields = slices.Concat([]string{"name", "scopes", "expiresAt", "disabled"}, restrictions)

// keyForm is the form of a key.
type keyForm struct {
	recordForm
	Days       string                   // a new key is valid; empty: it does not expire
	Workspaces []client.WorkspaceRecord // for a new key, to choose from; empty: only the visitor's
	Key        *client.APIKey           // that is changed, as it is stored; nil for a new one
	Shared     *client.WorkspaceLimits  // of the key's workspace; nil for a new key
}

// hint says what applies if the field of a limit is empty.
func (f *keyForm) hint(field string) string {
	perDay, perMonth := "", ""
	minute := "the limit of the tier"
	if w := f.Shared; w != nil {
		minute = "the limit of tier " + w.Tier + ", " + count(w.RateLimit.Limit)
		if w.Quota.Daily != nil {
			perDay = ", " + count(w.Quota.Daily.Limit)
		}
		if w.Quota.Monthly != nil {
			perMonth = ", " + count(w.Quota.Monthly.Limit)
		}
	}
	switch field {
	case "quota.daily":
		return "In a UTC day. Empty: only the workspace's quota" + perDay + "."
	case "quota.monthly":
		return "In a UTC month. Empty: only the workspace's quota" + perMonth + "."
	default:
		return "Empty: " + minute + "."
	}
}

// has reports whether a scope is chosen.
func (f *keyForm) has(scope string) bool {
	return slices.Contains(strings.Fields(f.Values["scopes"]), scope)
}

// restricted reports whether one of the restrictions is filled or wrong.
func (f *keyForm) restricted() bool {
	return slices.ContainsFunc(restrictions, func(field string) bool {
		return f.about(field) || f.Values[field] != "" && field != "workspaceId"
	})
}

// sentKey reads a sent form.
func sentKey(v *visit) keyForm {
	form := keyForm{recordForm: sentRecord(v, keyFields), Days: v.form.Get("expiry")}
	for _, name := range keyFields {
		form.Values[name] = strings.TrimSpace(form.Values[name])
	}
	form.Values["scopes"] = scopesText(v.form["scope"])
	return form
}

// scopesText is a list of scopes in the order of scopes.
func scopesText(list []string) string {
	var ordered []string
	for _, s := range scopes {
		if slices.Contains(list, s.Value) {
			ordered = append(ordered, s.Value)
		}
	}
	return strings.Join(ordered, " ")
}

// number reads a number of the form; nil if it is empty.
func (f *keyForm) number(field string) (*int64, error) {
	text := strings.ReplaceAll(f.Values[field], ",", "")
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, wrongField(field, "Write a whole number.")
	}
	return &n, nil
}

// limits reads the numbers of the form.
func (f *keyForm) limits() (perMinute *int64, quota client.Quota, err error) {
	if perMinute, err = f.number("rateLimit.requestsPerMinute"); err != nil {
		return nil, quota, err
	}
	if quota.Daily, err = f.number("quota.daily"); err != nil {
		return nil, quota, err
	}
	quota.Monthly, err = f.number("quota.monthly")
	return perMinute, quota, err
}

func newKeyForm(v *visit) response {
	if !v.can("developer:manage") {
		return v.lacks("developer:manage")
	}
	values := map[string]string{"scopes": "read"}
	if subject := v.URL.Query().Get("subject"); subject != "" {
		values["subjectId"] = subject
		values["scopes"] = scopesText(slices.DeleteFunc([]string{"memory:read", "memory:write"}, func(scope string) bool { return !v.can(scope) }))
	}
	return v.newKeyView(keyForm{recordForm: recordForm{formState: newForm(), Values: values}, Days: "90"}, nil)
}

// newKeyFor returns the path of the form of a new key that is bound to a person.
func newKeyFor(subjectID string) string {
	return "/console/keys/new?" + url.Values{"subject": {subjectID}}.Encode()
}

// newKeyView shows the form, after an error if there was one.
func (v *visit) newKeyView(form keyForm, failed error) response {
	if v.operates() {
		page, err := v.api().ListWorkspaces(v.Context(), client.WorkspaceQuery{Limit: 200})
		if err != nil {
			return v.fail(err)
		}
		form.Workspaces = page.Items
		if form.Values["workspaceId"] == "" {
			form.Values["workspaceId"] = v.user.Workspace.ID
		}
	}
	if failed != nil {
		return refused(failed, newKeyPage(form))
	}
	return show(newKeyPage(form))
}

func createKey(v *visit) response {
	form := sentKey(v)
	in, err := form.newKey(v.At())
	if in.WorkspaceID == v.user.Workspace.ID {
		in.WorkspaceID = ""
	}
	var created *client.CreatedAPIKey
	if err == nil {
		created, err = v.api().CreateAPIKey(client.WithIdempotencyKey(v.Context(), form.Once), in)
	}
	if err != nil {
		if form.refuseRecord(v, err, keyFields) {
			return v.newKeyView(form, err)
		}
		return v.fail(err)
	}
	return show(createdKeyPage(createdKey{Key: created.APIKey, Text: created.Key, Elsewhere: in.WorkspaceID != ""}))
}

// newKey returns the key that the form describes. It is the same if the form is sent again on the same day.
func (f *keyForm) newKey(now time.Time) (in client.NewAPIKey, err error) {
	perMinute, quota, err := f.limits()
	if err != nil {
		return in, err
	}
	in = client.NewAPIKey{
		Name: f.Values["name"], Scopes: append([]string{}, strings.Fields(f.Values["scopes"])...), AllowedIPs: linesOf(f.Values["allowedIps"]),
		SubjectID: f.Values["subjectId"], AgentID: f.Values["agentId"], WorkspaceID: f.Values["workspaceId"],
	}
	if days, err := strconv.Atoi(f.Days); err == nil {
		in.ExpiresAt = new(now.UTC().Truncate(24*time.Hour).AddDate(0, 0, days+1))
	}
	if perMinute != nil {
		in.RateLimit = &client.NewRateLimit{RequestsPerMinute: *perMinute}
	}
	if quota != (client.Quota{}) {
		in.Quota = &quota
	}
	in.Metadata, err = f.metadata()
	return in, err
}

// changeable reports whether the visitor can change, rotate, disable and enable a key. Like can, it only decides which links are
// shown: the API refuses this for a revoked key, and for one with scopes that the visitor lacks.
func (v *visit) changeable(k client.APIKey) bool {
	return k.State != "revoked" && !slices.ContainsFunc(k.Scopes, func(scope string) bool { return !v.can(scope) })
}

// keyValues are the values of a key's fields as its form has them.
func keyValues(k *client.APIKey) map[string]string {
	values := map[string]string{
		"name": k.Name, "scopes": scopesText(k.Scopes), "expiresAt": momentText(k.ExpiresAt), "allowedIps": strings.Join(k.AllowedIPs, "\n"),
		"metadata": metadataText(k.Metadata),
	}
	if !k.RateLimit.Inherited {
		values["rateLimit.requestsPerMinute"] = numberText(&k.RateLimit.RequestsPerMinute)
	}
	if k.Quota != nil {
		values["quota.daily"], values["quota.monthly"] = numberText(k.Quota.Daily), numberText(k.Quota.Monthly)
	}
	if k.State == "disabled" {
		values["disabled"] = "true"
	}
	return values
}

// numberText writes a number as a form has it; nil is empty.
func numberText(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func changeKeyForm(v *visit) response {
	key, err := v.api().APIKey(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	if !v.changeable(*key) {
		return redirect(keyPath(key.ID)) // which says why
	}
	return v.changeKeyView(keyForm{recordForm: recordForm{formState: newForm(), Values: keyValues(key), Revision: key.Revision}, Key: key}, nil)
}

// changeKeyView shows the form, after an error if there was one.
func (v *visit) changeKeyView(form keyForm, failed error) response {
	limits, err := v.api().APIKeyLimits(v.Context(), form.Key.ID)
	if err != nil {
		return v.fail(err)
	}
	form.Shared = &limits.Workspace
	if failed != nil {
		return refused(failed, changeKeyPage(form))
	}
	return show(changeKeyPage(form))
}

// changeKey changes the fields that differ from what is stored, if that is the revision which the form has shown.
func changeKey(v *visit) response {
	form := sentKey(v)
	form.Revision, _ = strconv.ParseInt(v.form.Get("revision"), 10, 64)
	key, err := v.api().APIKey(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	form.Key = key
	change, err := form.change()
	if err == nil && change == (client.APIKeyChange{}) {
		return done(keyPath(key.ID), "unchanged")
	}
	if err == nil {
		_, err = v.api().ChangeAPIKey(v.Context(), key.ID, change, &form.Revision)
	}
	switch {
	case err == nil:
		return done(keyPath(key.ID), savedNotice(change))
	case isConflict(err):
		return form.conflict(v, err)
	case form.refuseRecord(v, err, keyFields):
		return v.changeKeyView(form, err)
	default:
		return v.fail(err)
	}
}

// savedNotice is the notice about a change that was saved.
func savedNotice(c client.APIKeyChange) string {
	if c == (client.APIKeyChange{RateLimit: c.RateLimit, Quota: c.Quota}) {
		return "limits-saved"
	}
	return "key-saved"
}

// conflict shows the form again beside what another change has stored.
func (f *keyForm) conflict(v *visit, failed error) response {
	stored, err := v.api().APIKey(v.Context(), f.Key.ID)
	if err != nil {
		return v.fail(err)
	}
	f.Key = stored
	f.collide(keyValues(stored), stored.Revision, keyLabels)
	if len(f.Stored) == 0 { // the other change has stored the same
		return done(keyPath(stored.ID), "key-saved")
	}
	return v.changeKeyView(*f, failed)
}

// change returns what the form changes of the stored key.
func (f *keyForm) change() (c client.APIKeyChange, err error) {
	stored := keyValues(f.Key)
	if name := f.Values["name"]; name != stored["name"] {
		c.Name = client.To(name) // also an empty one, which the API refuses
	}
	if list := f.Values["scopes"]; list != stored["scopes"] {
		c.Scopes = client.To(append([]string{}, strings.Fields(list)...))
	}
	if f.written("allowedIps") != stored["allowedIps"] {
		c.AllowedIPs = client.To(linesOf(f.Values["allowedIps"]))
	}
	if f.Values["disabled"] != stored["disabled"] {
		c.Disabled = client.To(f.Values["disabled"] == "true")
	}
	perMinute, quota, err := f.limits()
	if err != nil {
		return c, err
	}
	if numberText(perMinute) != stored["rateLimit.requestsPerMinute"] {
		c.RateLimit = client.Cleared[client.NewRateLimit]()
		if perMinute != nil {
			c.RateLimit = client.To(client.NewRateLimit{RequestsPerMinute: *perMinute})
		}
	}
	if numberText(quota.Daily) != stored["quota.daily"] || numberText(quota.Monthly) != stored["quota.monthly"] {
		c.Quota = client.To(quota) // which removes those that are nil
	}
	if c.ExpiresAt, err = f.momentChange("expiresAt", f.Key.ExpiresAt); err != nil {
		return c, err
	}
	c.Metadata, err = f.metadataChange(f.Key.Metadata)
	return c, err
}

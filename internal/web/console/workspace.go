package console

import (
	"net/url"
	"strconv"
	"strings"

	"keepsake/client"
)

// workspacesData is what the page of workspaces and tiers shows.
type workspacesData struct {
	Workspaces []client.WorkspaceRecord
	Tiers      []client.Tier
	Pages      pages
}

func listWorkspaces(v *visit) response {
	page, err := v.api().ListWorkspaces(v.Context(), client.WorkspaceQuery{Limit: 50, Cursor: v.URL.Query().Get("cursor")})
	if err != nil {
		return v.fail(err)
	}
	data := workspacesData{Workspaces: page.Items}
	data.Pages = v.pages("/console/workspaces", nil, page.NextCursor)
	if data.Tiers, err = v.tiers(); err != nil {
		return v.fail(err)
	}
	return show(workspacesPage(data))
}

// tiers returns all tiers.
func (v *visit) tiers() ([]client.Tier, error) {
	page, err := v.api().ListTiers(v.Context(), client.TierQuery{Limit: 200})
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

func workspacePath(id string) string { return "/console/workspaces/" + url.PathEscape(id) }

func tierPath(name string) string { return "/console/tiers/" + url.PathEscape(name) }

// workspaceForm is the form of a workspace that is created or changed.
type workspaceForm struct {
	formState
	Name, Tier string
	Tiers      []client.Tier
}

func newWorkspaceForm(v *visit) response {
	return workspaceFormView(v, workspaceForm{formState: newForm(), Tier: "free"}, nil)
}

func workspaceFormView(v *visit, form workspaceForm, failed error) response {
	var err error
	if form.Tiers, err = v.tiers(); err != nil {
		return v.fail(err)
	}
	if failed != nil {
		return refused(failed, newWorkspacePage(form))
	}
	return show(newWorkspacePage(form))
}

func createWorkspace(v *visit) response {
	form := workspaceForm{formState: sentForm(v), Name: strings.TrimSpace(v.form.Get("name")), Tier: v.form.Get("tier")}
	created, err := v.api().CreateWorkspace(client.WithIdempotencyKey(v.Context(), form.Once), client.NewWorkspace{Name: form.Name, Tier: form.Tier})
	if err != nil {
		if form.refuse(v, err) {
			return workspaceFormView(v, form, err)
		}
		return v.fail(err)
	}
	return done(workspacePath(created.ID), "workspace-saved")
}

// workspaceData is what the page of a workspace shows.
type workspaceData struct {
	workspaceForm
	Workspace client.WorkspaceRecord
	Quotas    []quota
	Switch    embeddingSwitch
}

func showWorkspace(v *visit) response { return workspace(v, nil, nil) }

// workspace shows a workspace, after a change that was refused if there is an error. keep puts back what was typed.
func workspace(v *visit, failed error, keep func(*workspaceData)) response {
	id := v.PathValue("id")
	w, err := v.api().WorkspaceRecord(v.Context(), id)
	if err != nil {
		return v.fail(err)
	}
	data := workspaceData{Workspace: *w, workspaceForm: workspaceForm{Name: w.Name, Tier: w.Tier}}
	if data.Tiers, err = v.tiers(); err != nil {
		return v.fail(err)
	}
	used, err := v.api().QuotaUsage(v.Context(), id)
	if err != nil {
		return v.fail(err)
	}
	data.Quotas = quotas(used, v.At())
	if data.Switch, err = v.embeddingSwitch(*w); err != nil {
		return v.fail(err)
	}
	if failed == nil {
		return show(workspacePage(data))
	}
	if keep != nil {
		keep(&data)
	}
	if !data.refuse(v, failed) {
		return v.fail(failed)
	}
	return refused(failed, workspacePage(data))
}

func changeWorkspace(v *visit) response {
	id, name, tier := v.PathValue("id"), strings.TrimSpace(v.form.Get("name")), v.form.Get("tier")
	change := client.WorkspaceChange{Name: client.To(name), Tier: client.To(tier)}
	if _, err := v.api().ChangeWorkspace(v.Context(), id, change, nil); err != nil {
		return workspace(v, err, func(d *workspaceData) { d.Name, d.Tier = name, tier })
	}
	return done(workspacePath(id), "workspace-saved")
}

func suspendForm(v *visit) response {
	w, err := v.api().WorkspaceRecord(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(suspendPage(*w))
}

// setSuspended suspends a workspace or ends that.
func setSuspended(v *visit) response {
	id, suspended, notice := v.PathValue("id"), v.form.Get("suspended") == "true", "resumed"
	if suspended {
		notice = "suspended"
	}
	change := client.WorkspaceChange{Suspended: client.To(suspended)}
	if _, err := v.api().ChangeWorkspace(v.Context(), id, change, nil); err != nil {
		return workspace(v, err, nil)
	}
	return done(workspacePath(id), notice)
}

// tierField is a number of a tier in its form.
type tierField struct {
	Name, Label, Hint string
	Value             string // as it was typed
}

// tierFields returns the numbers of a tier. A field that is empty has no limit.
func tierFields(n client.TierNumbers) []tierField {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	orNone := func(n *int64) string {
		if n == nil {
			return ""
		}
		return number(*n)
	}
	return []tierField{
		{"requestsPerMinute", "Requests per minute", "Of one workspace, and of each of its keys.", number(n.RequestsPerMinute)},
		{"daily", "Requests per day", "Of one workspace, in a UTC day.", number(n.Daily)},
		{"monthly", "Requests per month", "Of one workspace, in a UTC month.", number(n.Monthly)},
		{"keys", "API keys", "Empty: no limit. 0: none.", orNone(n.Keys)},
		{"users", "Users", "Empty: no limit. 0: none.", orNone(n.Users)},
		{"documents", "Documents", "Empty: no limit. 0: none.", orNone(n.Documents)},
		{"memories", "Memories", "Empty: no limit. 0: none.", orNone(n.Memories)},
		{"storage", "Stored bytes", "Empty: no limit. 0: nothing can be stored.", orNone(n.Storage)},
	}
}

// tierForm is the form of a tier.
type tierForm struct {
	formState
	Name   string
	Fields []tierField
}

// tier reads the tier that the path names. The error is a 404 if there is none.
func (v *visit) tier() (*client.Tier, error) {
	list, err := v.tiers()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Name == v.PathValue("name") {
			return &list[i], nil
		}
	}
	return nil, &client.Error{Status: 404, Message: "There is no such tier."}
}

func changeTierForm(v *visit) response {
	tier, err := v.tier()
	if err != nil {
		return v.fail(err)
	}
	return show(tierPage(tierForm{formState: newForm(), Name: tier.Name, Fields: tierFields(tier.TierNumbers)}))
}

func changeTier(v *visit) response {
	form := tierForm{formState: sentForm(v), Name: v.PathValue("name"), Fields: tierFields(client.TierNumbers{})}
	var numbers client.TierNumbers
	rates := map[string]*int64{"requestsPerMinute": &numbers.RequestsPerMinute, "daily": &numbers.Daily, "monthly": &numbers.Monthly}
	counts := map[string]**int64{
		"keys": &numbers.Keys, "users": &numbers.Users, "documents": &numbers.Documents, "memories": &numbers.Memories, "storage": &numbers.Storage,
	}
	var wrong error
	for i := range form.Fields {
		f := &form.Fields[i]
		f.Value = strings.TrimSpace(v.form.Get(f.Name))
		if f.Value == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.ReplaceAll(f.Value, ",", ""), 10, 64)
		if err != nil && wrong == nil {
			wrong = &client.Error{Status: 400, Message: f.Label + " must be a whole number.", Details: client.Details{Field: f.Name, Issue: "format"}}
		}
		if rate := rates[f.Name]; rate != nil {
			*rate = n
		} else {
			*counts[f.Name] = &n
		}
	}
	err := wrong
	if err == nil {
		_, err = v.api().ChangeTier(v.Context(), form.Name, numbers, nil)
	}
	if err != nil {
		if form.refuse(v, err) {
			return refused(err, tierPage(form))
		}
		return v.fail(err)
	}
	return done("/console/workspaces", "tier-saved")
}

package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"keepsake/client"
)

// eventGroups are the events that webhooks can subscribe to, by what they are about.
var eventGroups = []struct {
	Name   string
	Events []choice
}{
	{"API keys", []choice{
		{"api_key.created", "created"},
		{"api_key.rotated", "rotated"},
		{"api_key.rotation_completed", "the old secret of a rotation has ended"},
		{"api_key.disabled", "disabled"},
		{"api_key.revoked", "revoked"},
		{"api_key.expiring", "expires in 14 days"},
		{"api_key.expired", "has expired"},
		{"api_key.revoked_key_used", "a revoked key was used"},
	}},
	{"Quotas", []choice{{"quota.threshold_reached", "50, 80, 90 or 100 % are used"}}},
	{"Memories", []choice{
		{"memory.created", "created"},
		{"memory.updated", "changed"},
		{"memory.imported", "imported"},
		{"memory.forgotten", "erased on request"},
		{"memory.expired", "erased after its expiry"},
		{"subject.erased", "a person was erased"},
	}},
	{"Documents", []choice{
		{"document.imported", "imported"},
		{"document.deleted", "deleted"},
	}},
	{"Webhooks", []choice{{"webhook.disabled", "another webhook was disabled"}}},
	{"Versions of the API", []choice{
		{"version.deprecated", "the end is announced, and reminders"},
		{"version.sunset_extended", "the sunset was moved"},
		{"version.sunset", "requests get 410"},
		{"version.retired", "the paths are removed"},
	}},
}

// allEvents returns the names of all events.
func allEvents() []string {
	var list []string
	for _, group := range eventGroups {
		for _, e := range group.Events {
			list = append(list, e.Value)
		}
	}
	return list
}

// webhooksData is a page of the list of webhooks.
type webhooksData struct {
	Webhooks []client.Webhook
	Pages    pages
}

func listWebhooks(v *visit) response {
	page, err := v.api().ListWebhooks(v.Context(), client.WebhookQuery{Limit: 50, Cursor: v.URL.Query().Get("cursor")})
	if err != nil {
		return v.fail(err)
	}
	data := webhooksData{Webhooks: page.Items}
	data.Pages = v.pages("/console/webhooks", nil, page.NextCursor)
	return show(webhooksPage(data))
}

func webhookPath(id string) string { return "/console/webhooks/" + url.PathEscape(id) }

// webhookState is the state of a webhook in one word.
func webhookState(w client.Webhook) string {
	switch {
	case w.Disabled:
		return "disabled"
	case w.FailingSince != nil:
		return "failing"
	default:
		return "active"
	}
}

// webhookForm is the form of a webhook that is created or changed.
type webhookForm struct {
	formState
	ID          string // empty: it is created
	URL         string
	Description string
	Events      []string
}

func newWebhookForm(*visit) response {
	return show(webhookFormPage(webhookForm{formState: newForm(), Events: allEvents()}))
}

// sentWebhook reads a sent form.
func sentWebhook(v *visit) webhookForm {
	return webhookForm{
		formState: sentForm(v), ID: v.PathValue("id"), URL: strings.TrimSpace(v.form.Get("url")), Description: strings.TrimSpace(v.form.Get("description")),
		Events: v.form["event"],
	}
}

// chosen returns the events to subscribe to; nil for all, also those of later releases.
func (f *webhookForm) chosen() []string {
	for _, name := range allEvents() {
		if !slices.Contains(f.Events, name) {
			return f.Events
		}
	}
	return nil
}

func createWebhook(v *visit) response {
	form := sentWebhook(v)
	if len(form.Events) == 0 {
		form.Field, form.Message = "events", "Choose at least one event."
		return response{status: http.StatusBadRequest, page: webhookFormPage(form)}
	}
	created, err := v.api().CreateWebhook(client.WithIdempotencyKey(v.Context(), form.Once), client.NewWebhook{
		URL: form.URL, Events: form.chosen(), Description: form.Description,
	})
	if err != nil {
		if form.refuse(v, err) {
			return refused(err, webhookFormPage(form))
		}
		return v.fail(err)
	}
	return show(webhookSecretPage(webhookSecret{Webhook: created.Webhook, Text: created.Secret}))
}

// webhookSecret is a secret that is shown, after a webhook was created or its secret was rotated.
type webhookSecret struct {
	Webhook client.Webhook
	Text    string // empty: it was shown before
	Rotated bool
}

func changeWebhookForm(v *visit) response {
	w, err := v.api().Webhook(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(webhookFormPage(webhookForm{formState: newForm(), ID: w.ID, URL: w.URL, Description: w.Description, Events: w.Events}))
}

func changeWebhook(v *visit) response {
	form := sentWebhook(v)
	if len(form.Events) == 0 {
		form.Field, form.Message = "events", "Choose at least one event, or disable the webhook."
		return response{status: http.StatusBadRequest, page: webhookFormPage(form)}
	}
	change := client.WebhookChange{URL: client.To(form.URL), Description: client.To(form.Description), Events: client.Cleared[[]string]()}
	if chosen := form.chosen(); chosen != nil {
		change.Events = client.To(chosen)
	}
	if _, err := v.api().ChangeWebhook(v.Context(), form.ID, change, nil); err != nil {
		if form.refuse(v, err) {
			return refused(err, webhookFormPage(form))
		}
		return v.fail(err)
	}
	return done(webhookPath(form.ID), "webhook-saved")
}

// deliveryStates are the states that the list of deliveries can be limited to.
var deliveryStates = []choice{{"", "All"}, {"pending", "Pending"}, {"delivered", "Delivered"}, {"failed", "Failed"}}

// webhookData is what the page of a webhook shows.
type webhookData struct {
	Webhook    client.Webhook
	State      string // of the deliveries; empty: all
	Deliveries []client.Delivery
	Names      map[string]string // of actors, by ID
	Pages      pages
	Message    string // why an action was refused
}

func showWebhook(v *visit) response { return webhook(v, nil) }

// webhook shows a webhook, after an action on it that was refused if there is an error.
func webhook(v *visit, failed error) response {
	id, query := v.PathValue("id"), v.URL.Query()
	w, err := v.api().Webhook(v.Context(), id)
	if err != nil {
		return v.fail(err)
	}
	data := webhookData{Webhook: *w, State: query.Get("state")}
	page, err := v.api().ListDeliveries(v.Context(), id, client.DeliveryQuery{State: data.State, Limit: 50, Cursor: query.Get("cursor")})
	if err != nil {
		return v.fail(err)
	}
	data.Deliveries = page.Items
	data.Pages = v.pages(webhookPath(id), url.Values{"state": {data.State}}, page.NextCursor)
	if v.isFragment() {
		return show(deliveriesTable(data))
	}
	if data.Names, err = v.actorNames(); err != nil {
		return v.fail(err)
	}
	var form formState
	if failed != nil {
		if !form.refuse(v, failed) {
			return v.fail(failed)
		}
		data.Message = form.Message
		return refused(failed, webhookPage(data))
	}
	return show(webhookPage(data))
}

func setWebhookEnabled(v *visit) response {
	id, enabled := v.PathValue("id"), v.form.Get("enabled") == "true"
	change := client.WebhookChange{Disabled: client.To(!enabled)}
	if _, err := v.api().ChangeWebhook(v.Context(), id, change, nil); err != nil {
		return webhook(v, err)
	}
	return done(webhookPath(id), enabledNotice(enabled))
}

func pingWebhook(v *visit) response {
	id := v.PathValue("id")
	delivery, err := v.api().PingWebhook(v.Context(), id)
	if err != nil {
		return webhook(v, err)
	}
	return done(deliveryPath(id, delivery.ID), "sending")
}

// webhookAction is the form of an action on a webhook.
type webhookAction struct {
	formState
	Webhook client.Webhook
	Grace   string
}

// webhookActionForm returns the form of an action.
func webhookActionForm(v *visit, page func(webhookAction) response) response {
	w, err := v.api().Webhook(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return page(webhookAction{formState: newForm(), Webhook: *w, Grace: "86400"})
}

func rotateWebhookForm(v *visit) response {
	return webhookActionForm(v, func(f webhookAction) response { return show(rotateWebhookPage(f)) })
}

func rotateWebhook(v *visit) response {
	id, form := v.PathValue("id"), webhookAction{formState: sentForm(v), Grace: v.form.Get("grace")}
	var rotation client.Rotation
	if grace, err := strconv.ParseInt(form.Grace, 10, 64); err == nil {
		rotation.GraceSeconds = &grace
	}
	rotation.Force = v.form.Get("force") == "true"
	rotated, err := v.api().RotateWebhookSecret(client.WithIdempotencyKey(v.Context(), form.Once), id, rotation, nil)
	if err == nil {
		return show(webhookSecretPage(webhookSecret{Webhook: rotated.Webhook, Text: rotated.Secret, Rotated: true}))
	}
	if !form.refuse(v, err) {
		return v.fail(err)
	}
	w, missing := v.api().Webhook(v.Context(), id)
	if missing != nil {
		return v.fail(missing)
	}
	form.Webhook = *w
	return refused(err, rotateWebhookPage(form))
}

func deleteWebhookForm(v *visit) response {
	return webhookActionForm(v, func(f webhookAction) response { return show(deleteWebhookPage(f)) })
}

func deleteWebhook(v *visit) response {
	if err := v.api().DeleteWebhook(v.Context(), v.PathValue("id"), nil); err != nil {
		return v.fail(err)
	}
	return done("/console/webhooks", "deleted")
}

func deliveryPath(webhookID, id string) string {
	return webhookPath(webhookID) + "/deliveries/" + url.PathEscape(id)
}

// deliveryData is what the page of a delivery shows.
type deliveryData struct {
	Delivery client.Delivery
	Message  string // why it was not sent again
}

func showDelivery(v *visit) response { return delivery(v, nil) }

func delivery(v *visit, failed error) response {
	d, err := v.api().Delivery(v.Context(), v.PathValue("id"), v.PathValue("delivery"))
	if err != nil {
		return v.fail(err)
	}
	data := deliveryData{Delivery: *d}
	if v.isFragment() {
		return show(deliveryAttempts(data))
	}
	var form formState
	if failed != nil {
		if !form.refuse(v, failed) {
			return v.fail(failed)
		}
		data.Message = form.Message
		return refused(failed, deliveryPage(data))
	}
	return show(deliveryPage(data))
}

func replayDelivery(v *visit) response {
	id, deliveryID := v.PathValue("id"), v.PathValue("delivery")
	if _, err := v.api().ReplayDelivery(v.Context(), id, deliveryID); err != nil {
		return delivery(v, err)
	}
	return done(deliveryPath(id, deliveryID), "sending")
}

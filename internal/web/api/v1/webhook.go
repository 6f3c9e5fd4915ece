package v1

import (
	"context"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
	"keepsake/internal/web/endpoint"
)

const webhooksPath = "/admin/webhooks"

// AddWebhooks declares the operations on webhooks.
func AddWebhooks(r *endpoint.Registry, hooks *event.Service, cursors *page.Sealer) {
	op := func(id, method, path, summary string, errors ...string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: webhooksPath + path, Since: 1, Tag: "webhooks", Summary: summary,
			Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Status: 200, Errors: errors,
		}
	}
	location := func(id string) string { return webhooksPath + "/" + id }

	create := op("createWebhook", "POST", "", "Create a webhook", problem.CodeLimitReached)
	create.Description = "Events are delivered as POST requests that are signed as Standard Webhooks describes. The response is the only one " +
		"that contains the secret of the signatures. Every event whose cause begins after the response is delivered, at least once and " +
		"in no particular order. Failed deliveries are repeated for three days. Addresses that are not on the public internet are " +
		"refused when a delivery connects. Credentials that are bound to a subject or an agent cannot manage webhooks."
	create.Status, create.Idempotent = 201, true
	endpoint.AddPrepared(r, create, func(ctx context.Context, in *createWebhook) error {
		draft := in.draft()
		return hooks.Prepare(ctx, auth.From(ctx), &draft)
	}, func(ctx context.Context, in *createWebhook) (*createdWebhook, error) {
		w, err := hooks.Create(ctx, auth.From(ctx), in.draft())
		if err != nil {
			return nil, err
		}
		return &createdWebhook{
			ETag: endpoint.ETag(w.Revision), Location: location(w.ID),
			Body: createdWebhookView{webhookView: viewOfWebhook(w.Record), Secret: &w.Secret},
		}, nil
	})

	list := op("listWebhooks", "GET", "", "List webhooks, newest first")
	list.Description = "The list contains the webhooks of the caller's workspace, also disabled ones. A workspace can have ten."
	endpoint.Add(r, list,
		func(ctx context.Context, in *listWebhooks) (*webhookList, error) {
			scope := page.Scope(auth.From(ctx).WorkspaceID, "listWebhooks")
			found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *idPosition, limit int) ([]*event.Record, error) {
				if after == nil {
					after = &idPosition{}
				}
				return hooks.List(ctx, auth.From(ctx), after.ID, limit)
			}, func(w *event.Record) idPosition { return idPosition{w.ID} })
			if err != nil {
				return nil, err
			}
			out := &webhookList{}
			out.Body.Items = viewsOf(found, func(w **event.Record) webhookView { return viewOfWebhook(*w) })
			out.Body.NextCursor = next
			return out, nil
		})

	get := op("getWebhook", "GET", "/{id}", "Get a webhook", problem.CodeNotFound)
	get.Description = "The response has the first characters of the webhook's secrets, never a whole secret."
	endpoint.Add(r, get, func(ctx context.Context, in *namedWebhook) (*oneWebhook, error) {
		return answerWebhook(hooks.Webhook(ctx, auth.From(ctx), in.ID))
	})

	change := op("changeWebhook", "PATCH", "/{id}", "Change a webhook", problem.CodeNotFound, problem.CodeRevisionMismatch)
	change.Description = "Fields that are omitted do not change. A webhook that is enabled again also gets what was pending when it was disabled."
	endpoint.Add(r, change, func(ctx context.Context, in *changeWebhook) (*oneWebhook, error) {
		return answerWebhook(hooks.Change(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions(), in.change()))
	})

	remove := op("deleteWebhook", "DELETE", "/{id}", "Delete a webhook and its deliveries", problem.CodeNotFound, problem.CodeRevisionMismatch)
	remove.Description = "Pending deliveries are dropped. To keep the webhook and its deliveries, disable it instead."
	remove.Status = 204
	endpoint.Add(r, remove, func(ctx context.Context, in *deleteWebhook) (*struct{}, error) {
		if err := hooks.Delete(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions()); err != nil {
			return nil, err
		}
		return &struct{}{}, nil
	})

	rotate := op("rotateWebhookSecret", "POST", "/{id}/rotate", "Rotate the secret of a webhook",
		problem.CodeNotFound, problem.CodeRotationInProgress, problem.CodeRevisionMismatch)
	rotate.Description = "The response is the only one that contains the new secret. Deliveries are signed with both secrets for graceSeconds. A webhook " +
		"that has two secrets is refused with 409, unless force is true."
	rotate.Idempotent = true
	endpoint.Add(r, rotate, func(ctx context.Context, in *rotateWebhook) (*createdWebhook, error) {
		w, err := hooks.Rotate(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions(), in.rotation())
		if err != nil {
			return nil, err
		}
		return &createdWebhook{
			ETag: endpoint.ETag(w.Revision),
			Body: createdWebhookView{webhookView: viewOfWebhook(w.Record), Secret: &w.Secret},
		}, nil
	})

	ping := op("pingWebhook", "POST", "/{id}/ping", "Send a test event to a webhook", problem.CodeNotFound, problem.CodeConflict)
	ping.Description = "The event has the type webhook.ping. It is delivered like any other, so read the delivery to see the result. A disabled webhook " +
		"is refused with 409."
	ping.Status, ping.Idempotent = 201, true
	endpoint.Add(r, ping, func(ctx context.Context, in *namedWebhook) (*oneDelivery, error) {
		d, err := hooks.Ping(ctx, auth.From(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		return &oneDelivery{Location: location(in.ID) + "/deliveries/" + d.ID, Body: viewOfDelivery(d)}, nil
	})

	deliveries := op("listWebhookDeliveries", "GET", "/{id}/deliveries", "List the deliveries of a webhook, newest first", problem.CodeNotFound)
	deliveries.Description = "Deliveries are kept for 30 days, unless the setting webhooks.logDays says otherwise."
	endpoint.Add(r, deliveries, func(ctx context.Context, in *listDeliveries) (*deliveryList, error) {
		return in.list(ctx, hooks, cursors)
	})

	delivery := op("getWebhookDelivery", "GET", "/{id}/deliveries/{deliveryId}", "Get a delivery of a webhook", problem.CodeNotFound)
	delivery.Description = "The response contains the body that was sent, and the newest attempts with their results."
	endpoint.Add(r, delivery, func(ctx context.Context, in *namedDelivery) (*oneDelivery, error) {
		d, err := hooks.Delivery(ctx, auth.From(ctx), in.ID, in.DeliveryID)
		if err != nil {
			return nil, err
		}
		return &oneDelivery{Body: viewOfDelivery(d)}, nil
	})

	replay := op("replayWebhookDelivery", "POST", "/{id}/deliveries/{deliveryId}/replay", "Send a delivery of a webhook again",
		problem.CodeNotFound, problem.CodeConflict)
	replay.Description = "The event keeps its ID. A delivery that is being sent is refused with 409, and so is one of a disabled webhook."
	replay.Idempotent = true
	endpoint.Add(r, replay, func(ctx context.Context, in *namedDelivery) (*oneDelivery, error) {
		d, err := hooks.Replay(ctx, auth.From(ctx), in.ID, in.DeliveryID)
		if err != nil {
			return nil, err
		}
		return &oneDelivery{Body: viewOfDelivery(d)}, nil
	})
}

type createWebhook struct {
	Body struct {
		URL         string   `json:"url" maxLength:"2048" doc:"The http or https URL to which events are sent." example:"https://example.org/hooks/keepsake"`
		Events      []string `json:"events" required:"false" minItems:"1" maxItems:"64" enum:"api_key.created,api_key.rotated,api_key.rotation_completed,api_key.disabled,api_key.expiring,api_key.expired,api_key.revoked,api_key.revoked_key_used,quota.threshold_reached,version.deprecated,version.sunset_extended,version.sunset,version.retired,memory.created,memory.updated,memory.imported,memory.forgotten,memory.expired,document.imported,document.deleted,webhook.disabled,subject.erased" doc:"The events to deliver. If it is omitted, all events are delivered, also those of later releases." example:"api_key.expiring"`
		Description *string  `json:"description" maxLength:"256" doc:"A description for people, which has no effect."`
	}
}

func (in *createWebhook) draft() event.Draft {
	return event.Draft{URL: in.Body.URL, Types: typesOf(in.Body.Events), Description: textOrEmpty(in.Body.Description)}
}

func typesOf(names []string) []event.Type {
	var types []event.Type
	for _, name := range names {
		types = append(types, event.Type(name))
	}
	return types
}

type changeWebhook struct {
	ID      string           `path:"id" doc:"The ID of the webhook."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    struct {
		URL         wire.Optional[string]   `json:"url" nullable:"false" maxLength:"2048" doc:"The http or https URL to which events are sent from now on."`
		Events      wire.Optional[[]string] `json:"events" minItems:"1" maxItems:"64" enum:"api_key.created,api_key.rotated,api_key.rotation_completed,api_key.disabled,api_key.expiring,api_key.expired,api_key.revoked,api_key.revoked_key_used,quota.threshold_reached,version.deprecated,version.sunset_extended,version.sunset,version.retired,memory.created,memory.updated,memory.imported,memory.forgotten,memory.expired,document.imported,document.deleted,webhook.disabled,subject.erased" doc:"The events to deliver. null means all."`
		Description wire.Optional[string]   `json:"description" maxLength:"256" doc:"A description for people. null removes it."`
		Disabled    wire.Optional[bool]     `json:"disabled" nullable:"false" doc:"Whether nothing is delivered. Events that happen meanwhile are not recorded for the webhook."`
	}
}

func (in *changeWebhook) change() event.Change {
	c := event.Change{URL: in.Body.URL.Pointer(), Disabled: in.Body.Disabled.Pointer()}
	if in.Body.Description.Set {
		c.Description = &in.Body.Description.Value
	}
	if in.Body.Events.Set {
		types := typesOf(in.Body.Events.Value)
		c.Types = &types
	}
	return c
}

type rotateWebhook struct {
	ID      string           `path:"id" doc:"The ID of the webhook."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    *struct {
		GraceSeconds *int64 `json:"graceSeconds" minimum:"0" maximum:"2592000" doc:"The number of seconds for which deliveries are also signed with the previous secret. The default is one day." example:"86400"`
		Force        *bool  `json:"force" doc:"Rotate even if there are two secrets. The older one then signs no more."`
	}
}

func (in *rotateWebhook) rotation() event.Rotation {
	r := event.Rotation{Grace: event.DefaultGrace}
	if in.Body == nil {
		return r
	}
	if in.Body.GraceSeconds != nil {
		r.Grace = time.Duration(*in.Body.GraceSeconds) * time.Second
	}
	r.Force = in.Body.Force != nil && *in.Body.Force
	return r
}

type namedWebhook struct {
	ID string `path:"id" doc:"The ID of the webhook."`
}

type deleteWebhook struct {
	ID      string           `path:"id" doc:"The ID of the webhook."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
}

type listWebhooks struct{ pageQuery }

type namedDelivery struct {
	ID         string `path:"id" doc:"The ID of the webhook."`
	DeliveryID string `path:"deliveryId" doc:"The ID of the delivery."`
}

type listDeliveries struct {
	ID      string `path:"id" doc:"The ID of the webhook."`
	State   string `query:"state" enum:"pending,delivered,failed" doc:"List only deliveries in this state."`
	Event   string `query:"event" enum:"api_key.created,api_key.rotated,api_key.rotation_completed,api_key.disabled,api_key.expiring,api_key.expired,api_key.revoked,api_key.revoked_key_used,quota.threshold_reached,version.deprecated,version.sunset_extended,version.sunset,version.retired,memory.created,memory.updated,memory.imported,memory.forgotten,memory.expired,document.imported,document.deleted,webhook.disabled,subject.erased,webhook.ping" doc:"List only deliveries of this event."`
	EventID string `query:"eventId" maxLength:"64" doc:"List only deliveries of the event with this ID."`
	pageQuery
}

func (in *listDeliveries) list(ctx context.Context, hooks *event.Service, cursors *page.Sealer) (*deliveryList, error) {
	p := auth.From(ctx)
	scope := page.Scope(p.WorkspaceID, "listWebhookDeliveries", in.ID, in.State, in.Event, in.EventID)
	found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *idPosition, limit int) ([]event.Delivery, error) {
		f := event.DeliveryFilter{State: event.State(in.State), Type: event.Type(in.Event), EventID: in.EventID, Limit: limit}
		if after != nil {
			f.Before = after.ID
		}
		return hooks.Deliveries(ctx, p, in.ID, f)
	}, func(d event.Delivery) idPosition { return idPosition{d.ID} })
	if err != nil {
		return nil, err
	}
	out := &deliveryList{}
	out.Body.Items, out.Body.NextCursor = viewsOf(found, viewOfDelivery), next
	return out, nil
}

type oneWebhook struct {
	ETag string `header:"ETag"`
	Body webhookView
}

type createdWebhook struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     createdWebhookView
}

type createdWebhookView struct {
	webhookView
	Secret *string `json:"secret" once:"true" doc:"The secret that signs deliveries. It is shown once, and null in a repeated response." example:"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"`
}

type webhookList struct {
	Body struct {
		Items      []webhookView `json:"items"`
		NextCursor *string       `json:"nextCursor"`
	}
}

type webhookView struct {
	ID             string              `json:"id" doc:"The ID of the webhook, which begins with whk_." example:"whk_01kakakakafkhvayayayayayay"`
	URL            string              `json:"url" doc:"The URL to which events are sent."`
	Events         []string            `json:"events" doc:"The types of the events that are delivered."`
	Description    string              `json:"description" doc:"The description for people. It is empty if there is none."`
	Disabled       bool                `json:"disabled" doc:"Whether the webhook is disabled, so that nothing is delivered."`
	DisabledAt     *wire.Time          `json:"disabledAt" doc:"The time at which the webhook was disabled. It is null if the webhook is not disabled."`
	DisabledReason *string             `json:"disabledReason" enum:"requested,failing,gone,overloaded" doc:"Why nothing is delivered: it was requested, nothing could be delivered for three days, the receiver answered 410, or too many deliveries waited. It is null if the webhook is not disabled."`
	FailingSince   *wire.Time          `json:"failingSince" doc:"The first failure after the last delivery that succeeded. It is null unless deliveries are failing."`
	LastSuccessAt  *wire.Time          `json:"lastSuccessAt" doc:"The time of the last delivery that succeeded, to the minute. It is null if there was none."`
	Secrets        []webhookSecretView `json:"secrets" doc:"The secrets that sign deliveries, newest first."`
	CreatedAt      wire.Time           `json:"createdAt"`
	CreatedBy      string              `json:"createdBy" doc:"The ID of the key or user that created the webhook, or local."`
	UpdatedAt      wire.Time           `json:"updatedAt"`
	Revision       int64               `json:"revision"`
}

type webhookSecretView struct {
	Hint       string     `json:"hint" doc:"The first characters of the secret." example:"whsec_C2FV"`
	CreatedAt  wire.Time  `json:"createdAt"`
	ValidUntil *wire.Time `json:"validUntil" doc:"The time at which the secret signs no more, because a newer one replaces it. It is null for the newest secret."`
}

func answerWebhook(w *event.Record, err error) (*oneWebhook, error) {
	if err != nil {
		return nil, err
	}
	return &oneWebhook{ETag: endpoint.ETag(w.Revision), Body: viewOfWebhook(w)}, nil
}

func viewOfWebhook(w *event.Record) webhookView {
	v := webhookView{
		ID: w.ID, URL: w.URL, Events: []string{}, Description: w.Description, Disabled: w.DisabledAt != nil,
		DisabledAt: wire.AtOrNull(w.DisabledAt), FailingSince: wire.AtOrNull(w.FailingSince), LastSuccessAt: wire.AtOrNull(w.LastSuccessAt),
		CreatedAt: wire.At(w.CreatedAt), CreatedBy: w.CreatedBy, UpdatedAt: wire.At(w.UpdatedAt), Revision: w.Revision,
	}
	for _, t := range w.Wants().List() {
		v.Events = append(v.Events, string(t))
	}
	if w.DisabledAt != nil {
		reason := string(w.DisabledReason)
		v.DisabledReason = &reason
	}
	v.Secrets = viewsOf(w.Secrets, func(s *event.Secret) webhookSecretView {
		return webhookSecretView{Hint: s.Hint(), CreatedAt: wire.At(s.CreatedAt), ValidUntil: wire.AtOrNull(s.ValidUntil)}
	})
	return v
}

type oneDelivery struct {
	Location string `header:"Location"`
	Body     deliveryView
}

type deliveryList struct {
	Body struct {
		Items      []deliveryView `json:"items"`
		NextCursor *string        `json:"nextCursor"`
	}
}

type deliveryView struct {
	ID            string        `json:"id" doc:"The ID of the delivery, which begins with dlv_." example:"dlv_01kakakakafkhvayayayayayay"`
	WebhookID     string        `json:"webhookId" doc:"The ID of the webhook that the event is delivered to."`
	EventID       string        `json:"eventId" doc:"The ID of the event, which is the same for all webhooks and in the header webhook-id."`
	Event         string        `json:"event" doc:"The type of the event." example:"api_key.expiring"`
	State         string        `json:"state" enum:"pending,delivered,failed" doc:"The state of the delivery. It is pending until an attempt succeeds or the last one has failed."`
	Payload       string        `json:"payload" doc:"The body of the requests, byte by byte."`
	CreatedAt     wire.Time     `json:"createdAt"`
	NextAttemptAt *wire.Time    `json:"nextAttemptAt" doc:"The time of the next attempt. It is null unless the delivery is pending."`
	FinishedAt    *wire.Time    `json:"finishedAt" doc:"The time at which the delivery succeeded or failed. It is null while it is pending."`
	Attempts      []attemptView `json:"attempts" doc:"The newest twenty attempts, oldest first."`
}

type attemptView struct {
	At     wire.Time `json:"at" doc:"The time at which the attempt began."`
	Status *int      `json:"status" doc:"The status of the response. It is null if there was none."`
	Error  *string   `json:"error" enum:"connection_failed,timeout,bad_status,redirect" doc:"Why the attempt failed. It is null if it succeeded. connection_failed also means that the address is not on the public internet."`
	Ms     float64   `json:"ms" doc:"The duration of the attempt in milliseconds."`
}

func viewOfDelivery(d *event.Delivery) deliveryView {
	return deliveryView{
		ID: d.ID, WebhookID: d.WebhookID, EventID: d.EventID, Event: string(d.Type), State: string(d.State), Payload: d.Payload,
		CreatedAt: wire.At(d.CreatedAt), NextAttemptAt: wire.AtOrNull(d.DueAt), FinishedAt: wire.AtOrNull(d.FinishedAt),
		Attempts: viewsOf(d.Attempts, func(a *event.Attempt) attemptView {
			v := attemptView{At: wire.At(a.At), Ms: float64(a.Duration.Microseconds()) / 1000}
			if a.Status != 0 {
				v.Status = &a.Status
			}
			if a.Error != "" {
				v.Error = &a.Error
			}
			return v
		}),
	}
}

package event

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// MaxWebhooks is how many webhooks a workspace can have.
const MaxWebhooks = 10

// MaxDescription is the length of a description in characters.
const MaxDescription = 256

// Service manages the webhooks of workspaces. A principal sees those of its own workspace; any other is problem.Missing. It is
// safe for concurrent use.
type Service struct{ o Options }

// Options is what a Service needs.
type Options struct {
	Store     Store
	Units     unit.Runner
	Interests *Interests
	Audit     audit.Recorder
	Events    Recorder
	Sealer    Sealer
	// Shared says that other processes write to the store. New webhooks then wait until those know of them.
	Shared bool
	Wait   func(ctx context.Context, d time.Duration) error // for Shared
	Added  func()                                           // called after a delivery was added; can be nil
	Random io.Reader
	Now    func() time.Time
}

// NewService returns a Service.
func NewService(o Options) *Service { return &Service{o} }

// Record is a webhook with its target.
type Record struct {
	*Webhook
	URL     string
	Secrets []Secret // that sign now, newest first; not to be shown
}

// Created is a webhook with a new secret, which cannot be read again.
type Created struct {
	*Record
	Secret string
}

// Draft is a new webhook.
type Draft struct {
	URL         string
	Types       []Type // empty: all
	Description string
}

// Prepare must be called before Create, outside of the transaction: it lets the other processes look for webhooks that want the
// types, and waits until all of them do. So no event is lost whose request begins after the response to Create.
func (s *Service) Prepare(ctx context.Context, p *auth.Principal, d *Draft) error {
	if err := d.check(p); err != nil {
		return err
	}
	return s.prepare(ctx, p.WorkspaceID, (&Webhook{Types: d.Types}).Wants())
}

// settled is how old a change of an interest must be for all processes to know it, whatever their clocks say.
const settled = time.Minute

func (s *Service) prepare(ctx context.Context, workspaceID string, types TypeSet) error {
	if !s.o.Shared {
		return nil
	}
	var fresh bool
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		now := s.o.Now()
		held, at, err := s.o.Store.HoldInterest(ctx, workspaceID)
		if err != nil {
			return err
		}
		fresh = now.Sub(at).Abs() < settled
		if held&types == types {
			return nil
		}
		fresh = true
		return s.setInterest(ctx, workspaceID, held|types, now)
	})
	if err != nil || !fresh {
		return err
	}
	return s.o.Wait(ctx, Settle+Settle/10)
}

// widen adds types to the interest of a workspace in the transaction of ctx.
func (s *Service) widen(ctx context.Context, workspaceID string, types TypeSet) error {
	held, _, err := s.o.Store.HoldInterest(ctx, workspaceID)
	if err != nil || held&types == types {
		return err
	}
	return s.setInterest(ctx, workspaceID, held|types, s.o.Now())
}

func (s *Service) setInterest(ctx context.Context, workspaceID string, types TypeSet, at time.Time) error {
	if err := s.o.Store.SetInterest(ctx, workspaceID, types, at); err != nil {
		return err
	}
	unit.AfterCommit(ctx, func() { s.o.Interests.set(workspaceID, types) })
	return nil
}

// Create adds a webhook to p's workspace. It returns problem.LimitReached if there are MaxWebhooks.
func (s *Service) Create(ctx context.Context, p *auth.Principal, d Draft) (*Created, error) {
	if err := d.check(p); err != nil {
		return nil, err
	}
	now := s.stamp()
	w := &Webhook{
		ID: id.At(id.Webhook, s.o.Now(), s.o.Random), WorkspaceID: p.WorkspaceID, Types: d.Types, Description: d.Description,
		EnabledAt: now, CreatedAt: now, CreatedBy: p.Actor(), UpdatedAt: now, Revision: 1,
	}
	target := &Target{URL: d.URL, Secrets: []Secret{newSecret(s.o.Random, now)}}
	if err := w.seal(s.o.Sealer, target); err != nil {
		return nil, err
	}
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.widen(ctx, w.WorkspaceID, w.Wants()); err != nil {
			return err
		}
		if err := s.o.Store.CreateWebhook(ctx, w, MaxWebhooks); err != nil {
			return err
		}
		return s.log(ctx, p, audit.WebhookCreated, w, map[string]string{"events": joined(w.Types)})
	})
	if err != nil {
		return nil, fmt.Errorf("create webhook: %w", err)
	}
	return &Created{&Record{w, target.URL, target.Secrets}, target.Secrets[0].Text}, nil
}

// check validates a draft for its creator.
func (d *Draft) check(p *auth.Principal) error {
	if err := allowed(p); err != nil {
		return err
	}
	if err := checkURL(d.URL); err != nil {
		return err
	}
	if err := checkTypes(d.Types); err != nil {
		return err
	}
	return checkDescription(d.Description)
}

// allowed refuses credentials that see only a part of the workspace, because webhooks report on all of it.
func allowed(p *auth.Principal) error {
	if p.SubjectID != "" || p.AgentID != "" {
		return problem.New(problem.Forbidden, problem.CodeInsufficientScope,
			"An API key that is bound to a subject or an agent cannot manage webhooks, because they report on the whole workspace.")
	}
	return nil
}

func checkTypes(types []Type) error {
	for i, t := range types {
		field := fmt.Sprintf("events[%d]", i)
		if !slices.Contains(Types, t) {
			return problem.Validation(field, problem.NotAllowed, "There is no such event.")
		}
		if slices.Contains(types[:i], t) {
			return problem.Validation(field, problem.Duplicate, "This event is listed twice.")
		}
	}
	return nil
}

func checkDescription(text string) error {
	if utf8.RuneCountInString(text) > MaxDescription {
		return problem.Validation("description", problem.TooLong, fmt.Sprintf("description must have at most %d characters.", MaxDescription))
	}
	if strings.ContainsRune(text, 0) {
		return problem.Validation("description", problem.Format, "description must not contain the character U+0000.")
	}
	return nil
}

func joined(types []Type) string {
	if len(types) == 0 {
		return "all"
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, " ")
}

// Webhook reads a webhook.
func (s *Service) Webhook(ctx context.Context, p *auth.Principal, webhookID string) (*Record, error) {
	w, err := s.visible(ctx, p, webhookID)
	if err != nil {
		return nil, err
	}
	return s.record(w)
}

// List lists webhooks, newest first: those before an ID, if it is not empty.
func (s *Service) List(ctx context.Context, p *auth.Principal, before string, limit int) ([]*Record, error) {
	if err := allowed(p); err != nil {
		return nil, err
	}
	found, err := s.o.Store.ListWebhooks(ctx, p.WorkspaceID, before, limit)
	if err != nil {
		return nil, err
	}
	list := make([]*Record, len(found))
	for i := range found {
		if list[i], err = s.record(&found[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *Service) visible(ctx context.Context, p *auth.Principal, webhookID string) (*Webhook, error) {
	if err := allowed(p); err != nil {
		return nil, err
	}
	if _, ok := id.Parse(id.Webhook, webhookID); !ok {
		return nil, problem.Missing()
	}
	return s.o.Store.Webhook(ctx, p.WorkspaceID, webhookID)
}

func (s *Service) record(w *Webhook) (*Record, error) {
	target, err := w.open(s.o.Sealer)
	if err != nil {
		return nil, err
	}
	return &Record{w, target.URL, target.liveSecrets(s.o.Now())}, nil
}

// Change is a change of a webhook. A nil field stays as it is.
type Change struct {
	URL         *string
	Types       *[]Type
	Description *string
	Disabled    *bool
}

// Change changes a webhook. It waits like Prepare. A webhook that is enabled again is delivered what was pending.
func (s *Service) Change(ctx context.Context, p *auth.Principal, webhookID string, ifRevision revision.Expected, c Change) (*Record, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	current, err := s.visible(ctx, p, webhookID)
	if err != nil {
		return nil, err
	}
	types := current.Types
	if c.Types != nil {
		types = *c.Types
	}
	wanted := (&Webhook{Types: types}).Wants()
	if err := s.prepare(ctx, p.WorkspaceID, wanted); err != nil {
		return nil, err
	}
	return s.update(ctx, p, webhookID, ifRevision, audit.WebhookChanged, c.details(), func(ctx context.Context, w *Webhook, t *Target, now time.Time) error {
		wasEnabled := w.DisabledAt == nil
		c.apply(w, t, now)
		if wasEnabled && w.DisabledAt != nil {
			if err := s.o.Events.Record(ctx, w.disabled()); err != nil {
				return err
			}
		}
		return s.widen(ctx, w.WorkspaceID, w.Wants())
	})
}

func (c *Change) check() error {
	if c.URL != nil {
		if err := checkURL(*c.URL); err != nil {
			return err
		}
	}
	if c.Types != nil {
		if err := checkTypes(*c.Types); err != nil {
			return err
		}
	}
	if c.Description != nil {
		return checkDescription(*c.Description)
	}
	return nil
}

func (c *Change) apply(w *Webhook, t *Target, now time.Time) {
	if c.URL != nil {
		t.URL = *c.URL
	}
	if c.Types != nil {
		w.Types = *c.Types
	}
	if c.Description != nil {
		w.Description = *c.Description
	}
	if c.Disabled != nil && *c.Disabled != (w.DisabledAt != nil) {
		w.DisabledAt, w.DisabledReason = nil, ""
		if *c.Disabled {
			w.DisabledAt, w.DisabledReason = &now, DisabledByUser
		} else {
			w.FailingSince, w.EnabledAt = nil, now // it gets as much time as a new webhook
		}
	}
	if c.URL != nil || c.Disabled != nil && !*c.Disabled { // the receiver can be another one now
		w.Failures, w.PausedUntil, w.Slow = 0, nil, false
	}
}

func (c *Change) details() map[string]string {
	d := map[string]string{}
	if c.URL != nil {
		d["url"] = audit.Changed
	}
	if c.Types != nil {
		d["events"] = joined(*c.Types)
	}
	if c.Description != nil {
		d["description"] = audit.Changed
	}
	if c.Disabled != nil {
		d["disabled"] = strconv.FormatBool(*c.Disabled)
	}
	return d
}

// update changes a webhook in a transaction. change can run more than once, and must change only w and t.
func (s *Service) update(ctx context.Context, p *auth.Principal, webhookID string, ifRevision revision.Expected, action audit.Action, details map[string]string, change func(ctx context.Context, w *Webhook, t *Target, now time.Time) error) (*Record, error) {
	now := s.stamp()
	var updated *Webhook
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		w, err := s.visible(ctx, p, webhookID)
		if err != nil {
			return err
		}
		target, err := w.open(s.o.Sealer)
		if err != nil {
			return err
		}
		if err := change(ctx, w, target, now); err != nil {
			return err
		}
		if !ifRevision.Allows(w.Revision) { // after every 409 (docs/spec/scopes.md)
			return problem.RevisionMismatch()
		}
		if err := w.seal(s.o.Sealer, target); err != nil {
			return err
		}
		w.UpdatedAt, w.Revision = now, w.Revision+1
		if err := s.o.Store.UpdateWebhook(ctx, w); err != nil {
			return err
		}
		updated = w
		s.added(ctx) // an enabled webhook can have deliveries
		return s.log(ctx, p, action, w, details)
	})
	if err != nil {
		return nil, fmt.Errorf("change webhook: %w", err)
	}
	return s.record(updated)
}

// Delete removes a webhook with its deliveries. Those that are too many for one request are removed later.
func (s *Service) Delete(ctx context.Context, p *auth.Principal, webhookID string, ifRevision revision.Expected) error {
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		w, err := s.visible(ctx, p, webhookID)
		if err != nil {
			return err
		}
		if !ifRevision.Allows(w.Revision) {
			return problem.RevisionMismatch()
		}
		if err := s.o.Store.DeleteWebhook(ctx, p.WorkspaceID, webhookID); err != nil {
			return err
		}
		return s.log(ctx, p, audit.WebhookDeleted, w, nil)
	})
	if err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	for range removeChunks {
		n, err := s.o.Store.RemoveDeliveries(ctx, webhookID, pruneChunk)
		if err != nil || n < pruneChunk {
			break // the Deliverer removes what is left
		}
	}
	return nil
}

// removeChunks is how many transactions a request uses to remove deliveries.
const removeChunks = 20

// Rotation says how to rotate a secret.
type Rotation struct {
	Grace time.Duration // how long the current secret continues to sign; 0: not at all
	Force bool          // if there are two secrets, end the older one first
}

// The grace of a rotation, as for API keys.
const (
	DefaultGrace = 24 * time.Hour
	MaxGrace     = 30 * 24 * time.Hour
)

// Rotate gives a webhook a new secret. Deliveries are signed with both until the grace is over.
func (s *Service) Rotate(ctx context.Context, p *auth.Principal, webhookID string, ifRevision revision.Expected, r Rotation) (*Created, error) {
	next := newSecret(s.o.Random, s.stamp())
	details := map[string]string{
		"graceSeconds": strconv.FormatInt(int64(r.Grace/time.Second), 10), "force": strconv.FormatBool(r.Force),
	}
	record, err := s.update(ctx, p, webhookID, ifRevision, audit.WebhookRotated, details, func(_ context.Context, _ *Webhook, t *Target, now time.Time) error {
		return r.apply(t, next, now)
	})
	if err != nil {
		return nil, err
	}
	return &Created{record, next.Text}, nil
}

func (r Rotation) apply(t *Target, next Secret, now time.Time) error {
	live := t.liveSecrets(now)
	if len(live) > 1 && !r.Force {
		return problem.New(problem.Conflict, problem.CodeRotationInProgress,
			"The secret of this webhook is already being rotated. Wait until the older one ends, or set force, which ends it now.")
	}
	t.Secrets = []Secret{next}
	if r.Grace > 0 && len(live) > 0 {
		current, until := live[0], now.Add(r.Grace)
		current.ValidUntil = &until
		t.Secrets = append(t.Secrets, current)
	}
	return nil
}

func (s *Service) log(ctx context.Context, p *auth.Principal, action audit.Action, w *Webhook, details map[string]string) error {
	return s.o.Audit.Record(ctx, audit.Entry{Action: action, WorkspaceID: w.WorkspaceID, Actor: p.Actor(), Target: w.ID, Details: details})
}

// stamp is the time as it is stored: UTC, in whole milliseconds.
func (s *Service) stamp() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

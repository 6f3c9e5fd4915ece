package apikey

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/event"
)

// eventOf are the events about actions that the audit log records.
var eventOf = map[audit.Action]event.Type{
	audit.KeyRotated:           event.APIKeyRotated,
	audit.KeyRotationCompleted: event.APIKeyRotationCompleted,
	audit.KeyRevoked:           event.APIKeyRevoked,
}

// recordEvent records an event about a key in the transaction of ctx. An empty type is no event.
func (s *Service) recordEvent(ctx context.Context, what event.Type, k *APIKey, actor string) error {
	if what == "" {
		return nil
	}
	return s.o.Events.Record(ctx, event.Event{
		Type: what, WorkspaceID: k.WorkspaceID, Data: map[string]any{"keyId": k.ID, "actor": actor, "revision": k.Revision},
	})
}

const (
	// noticeEvery is how often keys are checked for events that only time causes.
	noticeEvery = 15 * time.Second
	// expiringWithin is how long before its expiry a key is expiring. From then on, responses name the expiry, too.
	expiringWithin = 14 * 24 * time.Hour
	// noticeWithin is how long after its time such an event is still recorded, if no process was running then.
	noticeWithin = 7 * 24 * time.Hour
	// noticeChunk is how many of them one transaction records.
	noticeChunk = 100
)

// notice is an event that only time causes. Its name is unique, so several processes can record it.
type notice struct {
	what        event.Type
	keyID       string
	workspaceID string
	at          time.Time // when it happened; for an expiring key, when it expires
}

func (n *notice) name() string {
	return string(n.what) + ":" + n.keyID + ":" + strconv.FormatInt(n.at.UnixMilli(), 10)
}

func (n *notice) event(now time.Time) event.Event {
	e := event.Event{Type: n.what, WorkspaceID: n.workspaceID, At: n.at, Data: map[string]any{"keyId": n.keyID}, Once: n.name()}
	switch n.what {
	case event.APIKeyExpiring:
		e.At, e.Data["expiresAt"] = now, n.at
	case event.APIKeyExpired:
		e.Data["expiresAt"] = n.at
	}
	return e
}

// notices returns what time has caused for a key.
func (e *entry) notices(now time.Time) (list []notice) {
	if e.revoked {
		return nil
	}
	add := func(what event.Type, ms int64) {
		list = append(list, notice{what, e.ID(), e.workspace.ID(), time.UnixMilli(ms).UTC()})
	}
	if e.expiresAt != 0 {
		switch left := time.UnixMilli(e.expiresAt).Sub(now); {
		case left > expiringWithin, left < -noticeWithin:
		case left > 0:
			add(event.APIKeyExpiring, e.expiresAt)
		default:
			add(event.APIKeyExpired, e.expiresAt)
		}
	}
	if p := e.previous; p != nil && p.validUntil != 0 {
		if over := now.Sub(time.UnixMilli(p.validUntil)); over >= 0 && over < noticeWithin {
			add(event.APIKeyRotationCompleted, p.validUntil)
		}
	}
	return list
}

// notices returns what time has caused for all keys in memory, in the order of their names.
func (d *Directory) notices(now time.Time) (list []notice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.byID {
		list = append(list, e.notices(now)...)
	}
	return list
}

// recordExpiring records in the transaction of ctx that a key expires soon. Notice would miss a key that expires before it runs.
func (s *Service) recordExpiring(ctx context.Context, k *APIKey) error {
	if k.ExpiresAt == nil {
		return nil
	}
	now := s.o.Now()
	if left := k.ExpiresAt.Sub(now); left <= 0 || left > expiringWithin {
		return nil
	}
	n := notice{event.APIKeyExpiring, k.ID, k.WorkspaceID, *k.ExpiresAt}
	return s.o.Events.Record(ctx, n.event(now))
}

// Notice records the events that only time causes: keys that expire soon or have expired, and secrets whose grace is over. Each is
// recorded once, by whichever process is first.
func (s *Service) Notice(ctx context.Context) {
	now := s.o.Now()
	noticed := map[string]bool{}
	var fresh []notice
	for _, n := range s.o.Directory.notices(now) {
		if name := n.name(); s.noticed[name] {
			noticed[name] = true
		} else {
			fresh = append(fresh, n)
		}
	}
	for chunk := range slices.Chunk(fresh, noticeChunk) {
		err := s.o.Units.Run(ctx, func(ctx context.Context) error {
			for _, n := range chunk {
				if err := s.o.Events.Record(ctx, n.event(now)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			if ctx.Err() == nil {
				s.o.Log.WarnContext(ctx, "recording events about API keys failed; retrying", "error", err.Error())
			}
			break
		}
		for _, n := range chunk {
			noticed[n.name()] = true
		}
	}
	s.noticed = noticed
}

// revokedUses collects uses of revoked keys until they are recorded, because a request that is refused must not wait for the
// database. Each key is recorded once an hour.
type revokedUses struct {
	mu   sync.Mutex
	list map[string]revokedUse
	told map[string]int64 // the hour of the last event about a key
}

type revokedUse struct {
	workspaceID string
	at          time.Time
}

// maxRevokedUses is how many keys are remembered. Uses of more are not recorded.
const maxRevokedUses = 1024

func (r *revokedUses) add(keyID, workspaceID string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.list[keyID]; ok || len(r.list) >= maxRevokedUses || r.told[keyID] == hourOf(now) {
		return
	}
	if r.list == nil {
		r.list = map[string]revokedUse{}
	}
	r.list[keyID] = revokedUse{workspaceID, now}
}

// take returns the collected uses. They are not collected again in the same hour.
func (r *revokedUses) take() map[string]revokedUse {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	if len(r.told) > 4*maxRevokedUses || r.told == nil {
		r.told = map[string]int64{}
	}
	for keyID, use := range list {
		r.told[keyID] = hourOf(use.at)
	}
	return list
}

func hourOf(at time.Time) int64 { return at.Unix() / 3600 }

// recordRevokedUses records the uses of revoked keys that were collected. If the database does not accept them, they are lost.
func (s *Service) recordRevokedUses(ctx context.Context) {
	list := s.o.Directory.revokedUses.take()
	if len(list) == 0 {
		return
	}
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		for _, keyID := range slices.Sorted(maps.Keys(list)) {
			use := list[keyID]
			err := s.o.Events.Record(ctx, event.Event{
				Type: event.RevokedAPIKeyUsed, WorkspaceID: use.workspaceID, At: use.at, Data: map[string]any{"keyId": keyID},
				Once: string(event.RevokedAPIKeyUsed) + ":" + keyID + ":" + strconv.FormatInt(hourOf(use.at), 10),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.o.Log.WarnContext(ctx, "recording uses of revoked API keys failed", "error", err.Error())
	}
}

// OwnQuota is a key with a quota of its own. A limit of 0 is none.
type OwnQuota struct {
	KeyID, WorkspaceID string
	Daily, Monthly     int64
}

// OwnQuotas lists the keys with a quota of their own whose workspace of accepts.
func (d *Directory) OwnQuotas(of func(workspaceID string) bool) (list []OwnQuota) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.byID {
		if r := e.restrictions; r != nil && !e.revoked && r.limits.Daily+r.limits.Monthly > 0 && of(e.workspace.ID()) {
			list = append(list, OwnQuota{e.ID(), e.workspace.ID(), r.limits.Daily, r.limits.Monthly})
		}
	}
	return list
}

package event

import (
	"cmp"
	"time"
)

// The senders of a process and their shares. A receiver is poor if it is slow or failing. Once half of the senders are taken, a
// workspace gets no more than a quarter of them; poor receivers never have more than half, and those of one workspace an eighth.
const (
	maxRunning = 32 // requests of a process
	half       = maxRunning / 2
	shareOfOne = maxRunning / 4
	poorShare  = maxRunning / 2
	poorOfOne  = maxRunning / 8
	perWebhook = 4 // requests to one webhook
	perSlow    = 2
	perFailing = 1
	// dueOfOneKind is how many webhooks a round reads, of the poor and of the others. They are more than those that can have no
	// further sender: all of at most four workspaces, and those of other requests.
	dueOfOneKind = 2 * maxRunning
)

// Due is a webhook with a delivery that can be sent now.
type Due struct {
	WebhookID   string
	WorkspaceID string
	Slow        bool
	Failing     bool
}

// slot is a sender that a request has, which runs or is about to.
type slot struct {
	webhookID   string
	workspaceID string
	poor        bool // the receiver was when it began
	began       time.Time
}

// isPoor reports whether a request counts as one to a poor receiver: it was known as one, or this request takes long.
func (s *slot) isPoor(now time.Time) bool { return s.poor || now.Sub(s.began) >= SlowAfter }

// use is what someone has of the senders.
type use struct{ running, poor int }

// uses counts requests.
type uses struct {
	all         use
	byWorkspace map[string]use
	byWebhook   map[string]use
}

func (u *uses) add(s *slot, now time.Time) {
	poor := 0
	if s.isPoor(now) {
		poor = 1
	}
	one := func(old use) use { return use{old.running + 1, old.poor + poor} }
	u.all = one(u.all)
	u.byWorkspace[s.workspaceID], u.byWebhook[s.webhookID] = one(u.byWorkspace[s.workspaceID]), one(u.byWebhook[s.webhookID])
}

// poor reports whether the receiver of a webhook is poor, as far as is known.
func (u *uses) poor(d *Due) bool { return d.Slow || d.Failing || u.byWebhook[d.WebhookID].poor > 0 }

// room reports whether a webhook can have another sender.
func (u *uses) room(d *Due) bool {
	workspace, webhook := u.byWorkspace[d.WorkspaceID], u.byWebhook[d.WebhookID]
	most := perWebhook
	switch poor := u.poor(d); {
	case d.Failing:
		most = perFailing
	case poor:
		most = perSlow
	}
	share := half
	if u.all.running >= half {
		share = shareOfOne
	}
	switch {
	case u.all.running >= maxRunning, webhook.running >= most, workspace.running >= share:
		return false
	case u.poor(d):
		return u.all.poor < poorShare && workspace.poor < poorOfOne
	}
	return true
}

// assign decides which of the webhooks that are due get the free senders, one entry for each sender, in the order in which they
// get them. Each goes to the workspace that has fewest; among those, to the one whose last turn is longest ago; in a workspace, to
// the webhook that has fewest. turns are the last turns of workspaces.
func assign(now time.Time, running []*slot, turns map[string]int64, due []Due) (list []*slot) {
	u := uses{byWorkspace: map[string]use{}, byWebhook: map[string]use{}}
	for _, s := range running {
		u.add(s, now)
	}
	last := int64(0)
	for _, turn := range turns {
		last = max(last, turn)
	}
	for {
		var next *Due
		for i := range due {
			if d := &due[i]; u.room(d) && (next == nil || u.before(turns, d, next)) {
				next = d
			}
		}
		if next == nil {
			return list
		}
		s := &slot{webhookID: next.WebhookID, workspaceID: next.WorkspaceID, poor: u.poor(next), began: now}
		u.add(s, now)
		last++
		turns[next.WorkspaceID] = last
		list = append(list, s)
	}
}

// before reports whether a gets a sender before b. Of equal ones, the first of the list does.
func (u *uses) before(turns map[string]int64, a, b *Due) bool {
	return cmp.Or(
		cmp.Compare(u.byWorkspace[a.WorkspaceID].running, u.byWorkspace[b.WorkspaceID].running),
		cmp.Compare(turns[a.WorkspaceID], turns[b.WorkspaceID]),
		cmp.Compare(u.byWebhook[a.WebhookID].running, u.byWebhook[b.WebhookID].running),
	) < 0
}

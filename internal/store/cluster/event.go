package cluster

import "time"

// Kind says what an event is about. Event.Subject identifies it.
type Kind string

// The kinds. An event never contains the new state. A member reads it from the database, so an event can arrive late, twice
// or in any order, and contains nothing secret.
const (
	APIKey     Kind = "api_key"   // by ID: created, changed or revoked
	User       Kind = "user"      // by ID: changed, disabled or deleted, or all sessions ended
	Session    Kind = "session"   // by ID: ended
	Workspace  Kind = "workspace" // by ID: created or changed
	Tier       Kind = "tier"      // by name: changed
	Version    Kind = "version"   // by number, of the API: released, its end changed, or rehearsed
	Subject    Kind = "subject"   // by workspace and hash: its data key was destroyed
	Secret     Kind = "secret"    // a secret of the instance was stored or removed, or all were rewrapped
	Webhook    Kind = "webhook"   // by workspace: the events that its webhooks can want changed
	Everything Kind = "all"       // anything can have changed
)

// Event says that something changed which members hold in memory.
type Event struct {
	Number  int64 // consecutive, in the order of the commits
	Kind    Kind
	Subject string    // empty if the kind says all
	At      time.Time // by the database's clock
}

// Batch is a part of the events as of one moment.
type Batch struct {
	Head   int64   // the number of the newest event
	Events []Event // by number, from the requested one on
}

// newEvents returns the events of a batch after the number known, whose event was last (nil if it was not read). complete
// is false if events are missing, or if the numbers now belong to other events than before, as after a failover to a
// standby that lagged.
func newEvents(known int64, last *Event, b *Batch) (events []Event, complete bool) {
	events = b.Events
	if len(events) > 0 && events[0].Number == known {
		if last != nil && !last.equal(&events[0]) {
			return nil, false
		}
		events = events[1:]
	}
	for i := range events {
		if events[i].Number != known+int64(i)+1 {
			return nil, false
		}
	}
	return events, b.Head == known || len(events) > 0 && b.Head >= known+int64(len(events))
}

func (e *Event) equal(other *Event) bool {
	return e.Number == other.Number && e.Kind == other.Kind && e.Subject == other.Subject && e.At.Equal(other.At)
}

// distinct returns one event for each subject.
func distinct(events []Event) []Event {
	type about struct {
		kind    Kind
		subject string
	}
	seen := make(map[about]bool, len(events))
	var list []Event
	for _, e := range events {
		if a := (about{e.Kind, e.Subject}); !seen[a] {
			seen[a] = true
			list = append(list, e)
		}
	}
	return list
}

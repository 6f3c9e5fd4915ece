// Package cluster lets the members of an instance know of each other, and of changes to what they hold in memory.
package cluster

import "time"

const (
	// HeartbeatEvery is how often a member reports that it is alive.
	HeartbeatEvery = time.Second
	// DeadAfter is how long a member can be silent before the others stop counting it.
	DeadAfter = 5 * time.Second
	// AnswerWithin is how long a member can take to confirm an event. Then it is expelled.
	AnswerWithin = 5 * time.Second
	// PollEvery is how often a member reads new events.
	PollEvery = 250 * time.Millisecond
	// KeepEvents is how long events are kept. A member that missed older ones reloads everything.
	KeepEvents = time.Hour
)

// Package cluster keeps the members of an instance of one mind: which processes share its database, and what one of them
// changed that the others hold in memory.
package cluster

import "time"

// What is decided by silence.
const (
	// BeatEvery is how often a member says that it goes on.
	BeatEvery = time.Second
	// DeadAfter is how long a member may be silent before the others count without it.
	DeadAfter = 5 * time.Second
	// AnswerWithin is how long a member may take to say that it has heard something. Then it is fenced off.
	AnswerWithin = 5 * time.Second
	// PollEvery is how often a member asks for news, whether or not anybody rang.
	PollEvery = 250 * time.Millisecond
	// KeepNews is how long news are kept for members that are late. One that is later still reads everything.
	KeepNews = time.Hour
)

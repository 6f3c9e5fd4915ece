package limit

import (
	"context"
	"errors"
	"time"
)

// Ledger is where members add up what each of them has admitted. For every window of every budget it holds one number a
// member, and replaces it with each contact: what is said twice counts once, and what was lost is there again with the
// next contact.
//
// It may have lost what others said, which shows where somebody knows of their use when it makes a window's entry. For as
// long as Settling after that it believes whoever knows of more, while the others say again what they said. What of a
// minute nobody has said by then was said by members that are gone, and stays; what of a quota, is in Durable soon.
//
// It applies the contacts of one member in the order of their numbers: one that comes late, after a later one, changes
// nothing.
type Ledger interface {
	// Exchange makes contacts, each a step of its own, and answers in the same order. It is one round trip. An error in
	// a reply leaves open whether the contact had its effect.
	Exchange(ctx context.Context, contacts []Contact) []Reply
	// Life names what the ledger holds now: another name says that it was emptied, or may have lost something.
	Life(ctx context.Context) (name string, at time.Time, err error)
}

// Settling is how long after a loss members may take to say again what was lost.
const Settling = 10 * time.Second

// Kind is the length of a budget's window.
type Kind uint8

// The kinds.
const (
	Minute Kind = iota
	Day
	Month
	kinds = 3
)

func (k Kind) String() string { return [...]string{"minute", "day", "month"}[k] }

// Contact is what a member says of budgets of one tag, and what it wants of them.
type Contact struct {
	Tag    string // what they have in common: the workspace, or the address
	Number uint64 // rises with each contact of this member
	Budget []Entry
	Wants  []Want
}

// Entry is one budget in its present window.
type Entry struct {
	Subject string // whose it is: the id of a workspace or a key, or a hash of an address
	Kind    Kind
	Window  uint32
	Ends    time.Time // by the ledger's clock

	Limit   int64
	Own     int64 // what this member has admitted
	Unsure  bool  // it has forgotten what it had admitted before: the ledger's number stays, and Own is none yet
	Known   int64 // what all have admitted, as far as this member knows
	Durable int64 // what is stored as used, at least
}

// Want asks for units from several budgets at once: for so many callers, each of whom gets what it costs from all of them
// or nothing.
type Want struct {
	Cost, Callers int64
	Of            []int // places in Budget
}

// ErrOvertaken is the error of a contact that reached the ledger after a later one of the same member.
var ErrOvertaken = errors.New("a later contact was first")

// Reply is the answer to a Contact.
type Reply struct {
	Err     error
	At      time.Time // by the ledger's clock
	Budget  []Standing
	Granted []int64 // how many callers of each want
}

// Standing is how a budget stands after a contact.
type Standing struct {
	Total int64 // what all have admitted, what was granted just now included
	Own   int64 // of it, this member
	New   bool  // the ledger had nothing of this window before
}

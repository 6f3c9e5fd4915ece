package document

import "errors"

// State identifies the documents of a workspace as they were after a change. If a database has lost changes, as after a restore, its
// later changes have the same numbers as those, but other marks.
type State struct {
	Change int64 // the number of the last change, or 0
	Mark   int64 // a random number of the transaction that made it
}

// Ahead reports whether an index in this state contains changes that documents in the state now do not have.
func (s State) Ahead(now State) bool {
	return s.Change > now.Change || s.Change == now.Change && s.Mark != now.Mark
}

// Following says which changes an index reads.
type Following struct {
	After int64 // the number of a change
	Limit int
	Has   State // the last state that was returned for the index, of which it can contain changes; empty: none
}

// ErrLost is the error if the database has lost changes that an index can have, or has had so many changes since that it is unknown.
var ErrLost = errors.New("the database has lost changes of documents")

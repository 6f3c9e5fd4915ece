package store

import "context"

// Dialect is what engines do differently. Each engine implements it in its own folder, in files with the same names, so that
// the rest of this package does not depend on the engine.
type Dialect interface {
	// Insert is the verb of a statement that inserts many rows, and the number of rows that it can have. updates says that it
	// updates rows that exist.
	Insert(updates bool) (verb string, maxRows int)
	// InsertRow lists n parameters of such a statement, from number first on.
	InsertRow(first, n int) string

	// ByID selects rows of a table, which are named as, by a list of at most size IDs. of is the condition that they belong to
	// the workspace $1, and $list is where the list begins. from is an item of FROM, and where is a condition.
	ByID(table, as, of string, list, size int) (from, where string)
	// IDLists are the arguments of statements with ByID of the same size: args, followed by some of the IDs.
	IDLists(args []any, ids []string, size int) [][]any

	// Subjects calls row for the SubjectColumns of each subject that has a row.
	Subjects(ctx context.Context, q Querier, workspaceID string, subjects [][]byte, row func(Row) error) error
	// Duplicates calls row for the MemoryColumns of the memories that d finds.
	Duplicates(ctx context.Context, q Querier, d *Duplicates, row func(Row) error) error

	// AppendAudit moves the head of an audit chain and adds rows behind it by one statement, which needs no transaction. ok is
	// false if the engine has no such statement for a. moved is false if the chain does not end where a begins.
	AppendAudit(ctx context.Context, db Database, a *AuditAppend) (moved, ok bool, err error)

	// ReuseKeySlots puts the first of the keys into slots that are free, and returns these.
	ReuseKeySlots(ctx context.Context, q Querier, keys [][]byte) (slots []int64, err error)
	// NextKeySlot is the first number for new slots.
	NextKeySlot(ctx context.Context, q Querier) (int64, error)
	// EraseKeys erases the keys in the slots that a SELECT names.
	EraseKeys(ctx context.Context, q Querier, slots string, args ...any) error

	// DeleteSome deletes about limit rows of a table that fulfil where, which uses $1. key is its primary key.
	DeleteSome(table, key, where string, limit int) string

	// Clock is the SQL of the current time of the database, in microseconds since 1970.
	Clock() string
	// Relax lets the transaction of q commit without waiting for stable storage, if that saves time.
	Relax(ctx context.Context, q Querier) error
}

// Duplicates finds memories with the same key or the same text: for each entry of Subjects, Generations and Hashes the
// oldest ones that have not expired, at most Limit.
type Duplicates struct {
	WorkspaceID string
	Column      string // of the hash: key_hash or same_hash
	Subjects    [][]byte
	Generations []int64
	Hashes      [][]byte
	Now         int64
	Limit       int
}

// AuditAppend is rows of one audit chain, as they are stored. The values are of type int64, string and []byte.
type AuditAppend struct {
	Chain   string
	After   int64 // the sequence number at which the chain must end
	Last    int64 // the sequence number of the last row, and its hash
	Hash    []byte
	Changes [][]any // the values of AuditColumns
	Reads   [][]any // the values of AuditReadColumns
}

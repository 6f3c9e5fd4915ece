package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"keepsake/internal/problem"
)

// lostError says that the connection was lost, or given up because nobody answered in time.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "the connection was lost: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// errTurn is the cause where no connection came free in time.
var errTurn = errors.New("no connection came free in time")

// errPoolClosed is the cause where the engine is being closed.
var errPoolClosed = errors.New("the engine is closed")

var errClosed = problem.NotAvailable("The service is stopping.", time.Second)

// kind is what a failure means for the unit it happened in.
type kind int

const (
	own    kind = iota // the statement's own: a constraint, a mistake
	repeat             // the unit met another one; nothing happened and it may run again
	broken             // a fault of the server or of the way to it
)

// kindOf tells by SQLSTATE, never by text.
func kindOf(err error) kind {
	var lost *lostError
	var connect *pgconn.ConnectError
	var outdated *outdatedError
	if errors.As(err, &outdated) || errors.As(err, &lost) || errors.As(err, &connect) || errors.Is(err, errTurn) || errors.Is(err, errAway) || errors.Is(err, pgconn.ErrConnClosed) {
		return broken
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return own
	}
	switch e.Code {
	case "40001", "40P01": // serialization failure, deadlock
		return repeat
	case "26000", // a prepared statement that somebody between us and the server has thrown away
		"55P03",                   // waited too long for a row
		"25006",                   // a primary that has become a standby
		"25P02",                   // after another failure of the transaction
		"25P03", "25P04", "40003": // idle or running too long; nobody knows
		return broken
	case "0A000":
		if e.Routine == "RevalidateCachedQuery" { // another process has changed the schema; the next try prepares anew
			return repeat
		}
		return own
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "53", "57", "58": // connection, resources (a full disk), intervention of an operator, the system below
		return broken
	}
	return own
}

// dead says that a connection turned out not to be there any more, before the server can have done anything for it that
// matters to a read.
func dead(err error) bool {
	var lost *lostError
	if errors.As(err, &lost) {
		return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !pgconn.Timeout(err)
	}
	var e *pgconn.PgError
	return errors.As(err, &e) && ended(e)
}

// ended says that the server has ended the connection with this message.
func ended(e *pgconn.PgError) bool {
	return strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08") || e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC"
}

// refusal is what a client is told of a fault that stopped a unit before its commit. The cause goes to the log.
func refusal(err error) *problem.Problem {
	if errors.Is(err, errPoolClosed) {
		return errClosed
	}
	after := 2 * time.Second
	if errors.Is(err, errTurn) || kindOf(err) == repeat {
		after = time.Second
	}
	return problem.NotAvailable("The database is not accepting writes. Nothing was saved; try again later.", after).Because(err)
}

// undecided is what a client is told when nobody knows whether its unit was committed.
func undecided(err error) *problem.Problem {
	return problem.NotAvailable("The connection to the database was lost during commit, so the outcome is unknown. Retry with the same Idempotency-Key to find out.",
		2*time.Second).Because(fmt.Errorf("commit: %w", err))
}

// readable turns a fault met while reading into a 503; other errors stay what they are.
func readable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errPoolClosed):
		return errClosed
	case kindOf(err) == own:
		return err
	}
	return problem.NotAvailable("The database cannot be read right now; try again.", 2*time.Second).Because(err)
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"keepsake/internal/base/problem"
)

// lostError reports a connection that was lost, or given up because the server did not answer in time.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "the connection was lost: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// errTurn is the cause of a refusal when no connection became free in time.
var errTurn = errors.New("no connection became free in time")

// errPoolClosed is the cause of a refusal while the engine is closing.
var errPoolClosed = errors.New("the engine is closed")

var errClosed = problem.NotAvailable("The service is stopping.", time.Second)

// kind is what an error means for its transaction.
type kind int

const (
	own    kind = iota // an error of the statement itself, such as a violated constraint
	repeat             // a conflict with another transaction; nothing happened and it can run again
	broken             // a fault of the server or the network
)

// kindOf classifies an error by its SQLSTATE, never by its text.
func kindOf(err error) kind {
	var lost *lostError
	var connect *pgconn.ConnectError
	var outdated *outdatedError
	if errors.As(err, &outdated) || errors.As(err, &lost) || errors.As(err, &connect) || errors.Is(err, errTurn) || errors.Is(err, errDown) || errors.Is(err, pgconn.ErrConnClosed) {
		return broken
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return own
	}
	switch e.Code {
	case "40001", "40P01": // serialization failure, deadlock
		return repeat
	case "26000", // a prepared statement that a connection pooler has dropped
		"55P03",                   // lock_timeout
		"25006",                   // a primary that has become a standby
		"25P02",                   // after another failure of the transaction
		"25P03", "25P04", "40003": // a transaction that was idle or ran too long; outcome unknown
		return broken
	case "0A000":
		if e.Routine == "RevalidateCachedQuery" { // another process changed the schema; the retry prepares the statement again
			return repeat
		}
		return own
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "53", "57", "58": // connection, resources (a full disk), operator intervention, system error
		return broken
	}
	return own
}

// dead reports that the connection was already dead when the statement was sent, so a read can run again.
func dead(err error) bool {
	var lost *lostError
	if errors.As(err, &lost) {
		return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !pgconn.Timeout(err)
	}
	var e *pgconn.PgError
	return errors.As(err, &e) && ended(e)
}

// ended reports that the server ended the connection with this message.
func ended(e *pgconn.PgError) bool {
	return strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08") || e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC"
}

// refusal returns the client's error for a fault before the commit. The cause goes to the log.
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

// undecided returns the client's error for a commit whose outcome is unknown.
func undecided(err error) *problem.Problem {
	return problem.NotAvailable("The connection to the database was lost during commit, so the outcome is unknown. Retry with the same Idempotency-Key to find out.",
		2*time.Second).Because(fmt.Errorf("commit: %w", err))
}

// readable turns a fault during a read into a 503. Other errors stay as they are.
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

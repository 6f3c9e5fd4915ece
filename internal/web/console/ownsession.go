package console

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"keepsake/internal/base/problem"
)

// OwnSessions lists and ends the sessions of the user who has an access token. The API has no operations for this. An error is a
// *problem.Problem if the caller's request is refused.
type OwnSessions interface {
	// List returns the sessions that have not ended, those used last first.
	List(ctx context.Context, as Visitor) ([]OwnSession, error)
	// End ends one session; problem.Missing if the user has no such session that has not ended.
	End(ctx context.Context, as Visitor, id string) error
	// EndOthers ends all sessions except that of the token.
	EndOthers(ctx context.Context, as Visitor) error
}

// Visitor is who asks for sessions.
type Visitor struct {
	Token string // of access
	From  netip.Addr
	At    time.Time
}

// OwnSession is a session that has not ended.
type OwnSession struct {
	ID         string
	BeganAt    time.Time
	LastUsedAt time.Time
	Address    string // from which it began; empty: not known
	Current    bool   // it is the session of the token
}

// visitor returns who the visitor is. Call it after a request to the API, which renews an expired token.
func (v *visit) visitor() Visitor { return Visitor{Token: v.token, From: v.Client(), At: v.At()} }

// endOwnSession signs the visitor out of another session.
func endOwnSession(v *visit) response {
	return v.sessionsEnded("session", v.c.o.Sessions.End(v.Context(), v.visitor(), v.PathValue("id")))
}

// endOtherSessions signs the visitor out of all other sessions.
func endOtherSessions(v *visit) response {
	return v.sessionsEnded("sessions", v.c.o.Sessions.EndOthers(v.Context(), v.visitor()))
}

func (v *visit) sessionsEnded(notice string, err error) response {
	p, refused := problem.As(err)
	switch {
	case err == nil:
		return done(accountPath, notice)
	case refused && p.Kind == problem.NotFound:
		data := accountOf(v)
		data.Message = "You have no such session. It has perhaps already ended."
		return v.account(data, http.StatusNotFound)
	default:
		return v.failProblem(err)
	}
}

// failProblem returns a page about an error of the domain.
func (v *visit) failProblem(err error) response {
	if p, ok := problem.As(err); ok {
		return v.failed(http.StatusServiceUnavailable, p.Message)
	}
	return v.fail(err)
}

package analytics

import (
	"strings"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/lifecycle"
)

// Request is one request. It contains no query, body or address, and no ID of a resource or a person except that of the user
// who made the request.
type Request struct {
	Traits
	At          time.Time
	Number      int64 // distinguishes requests of one microsecond
	ID          string
	WorkspaceID string // empty for a caller without a credential
	UserID      string // empty unless a user made the request
	Code        string // of the error; empty for a success
	Took        time.Duration
	Client      string // the first product of User-Agent: curl/8.5.0; empty if there is none
}

// Position is the position of a request in the log.
type Position struct {
	At     time.Time
	Number int64
}

// RequestQuery selects requests of the log.
type RequestQuery struct {
	WorkspaceID string // empty: all workspaces, and requests without one
	From, To    time.Time
	ID          string    // empty: any
	Before      *Position // only older requests than this one; nil: from the newest on
	Limit       int
}

// ErrorCount is how often an error happened in a minute, or in an hour once minutes are no longer kept.
type ErrorCount struct {
	Traits
	Start       time.Time
	WorkspaceID string
	Code        string
	Count       int64
	LastAt      time.Time
}

// ErrorQuery selects counts of errors.
type ErrorQuery struct {
	WorkspaceID string // empty: all workspaces, and requests without one
	From, To    time.Time
}

// Gap is a minute in which requests of a workspace were left out of the log.
type Gap struct {
	WorkspaceID string
	Minute      time.Time
}

// Batch is the content of a flush. Recorder and Number identify it, so that one with an unknown outcome can be sent again;
// numbers rise from 1.
type Batch struct {
	Recorder string
	Number   int64
	At       time.Time
	Requests []Request
	Gaps     []Gap
	Errors   []ErrorCount
}

// Event is a request as it ends. Its texts can be parts of the request's memory: they are copied if they are kept.
type Event struct {
	At          time.Time
	Took        time.Duration
	UUID        id.UUID // the request ID,
	CallerID    string  // unless the caller sent one
	WorkspaceID string
	Key         id.UUID // zero without an API key
	UserID      string
	Route       string
	Method      string
	Status      int
	Code        string
	Version     int
	Surface     string
	Agent       string // the header User-Agent
}

// request converts e for the store.
func (e *Event) request(number int64) Request {
	r := Request{
		Traits: e.traits(), At: e.At.UTC(), Number: number, ID: strings.Clone(e.CallerID), WorkspaceID: e.WorkspaceID, UserID: e.UserID,
		Code: e.Code, Took: e.Took, Client: lifecycle.Product(e.Agent),
	}
	if r.ID == "" {
		r.ID = id.Format(id.Request, e.UUID)
	}
	return r
}

func (e *Event) traits() Traits {
	t := Traits{Route: e.Route, Method: e.Method, Status: e.Status, Version: e.Version, Surface: e.Surface}
	if e.Key != (id.UUID{}) {
		t.KeyID = id.Format(id.APIKey, e.Key)
	}
	return t
}

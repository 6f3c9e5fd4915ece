// Package api is the request pipeline: request ID, version, credential, limits, scope, the operation, and one writer that
// sends every response with all headers.
//
// It knows no resource. Package api/v1 declares the operations in an endpoint.Registry.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"keepsake/internal/base/trace"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/endpoint"
)

// Keys finds API keys by their text. Both methods return a *problem.Problem for a key that cannot be used, and another error
// if that is unknown. Lookup reads only memory, and returns apikey.ErrNotInMemory for a text that LookupStored has to look
// for in the database.
type Keys interface {
	Lookup(text string, now time.Time) (apikey.LiveKey, error)
	LookupStored(ctx context.Context, text string, now time.Time) (apikey.LiveKey, error)
}

// Bearers authenticates an access token that was sent from an address. Its errors are like those of Keys.
type Bearers interface {
	Authenticate(ctx context.Context, text string, from netip.Addr, now time.Time) (account.Bearer, error)
}

// Options is what a surface is made of. Members are required unless their comment says otherwise.
type Options struct {
	Surface    usage.Surface
	Operations *endpoint.Registry
	// Primary is the surface that has the resources which Location headers name. This surface shares its capacity for
	// requests. Nil for a surface with capacity and resources of its own.
	Primary  *API
	Versions *lifecycle.Registry
	Steps    []lifecycle.Step   // for migration guides
	Callers  *lifecycle.Callers // records who uses which version; can be nil
	Requests *analytics.Log     // records single requests; can be nil
	// Document returns the OpenAPI description of a version; nil serves none.
	Document func(version int) ([]byte, error)
	Pages    []WebPage // for browsers; can be empty
	// Missing is the page that browsers get at a path that does not exist, outside of the API. Can be nil.
	Missing func(*Visit) WebResponse

	Keys    Keys    // nil for a surface without credentials
	Bearers Bearers // nil accepts no token
	// News reports whether what memory holds of credentials is current. If not, they are neither accepted nor refused. Nil
	// if no other process changes credentials.
	News interface{ Current() bool }
	// Workspaces finds the workspaces of users who sign in; required for SignIn operations.
	Workspaces func(id string) (*account.Entry, bool)
	// Operator returns the workspace of callers on the data folder's socket (see LocalContext) and of those with the backend
	// secret; false if there is none.
	Operator  func() (*account.Entry, bool)
	Backend   *BackendAccess   // of the backend listener; nil elsewhere
	Addresses *limit.Addresses // counters of callers without a credential
	Limiter   limit.Limiter
	Usage     *usage.Recorder
	Replays   *idempotency.Service // required for Idempotent operations

	Release        string         // of the program, on the start page; empty: none
	PublicURL      string         // base of links, without a slash at its end; empty: links are relative
	Address        string         // the base of what must be absolute without PublicURL: the address that the start prints
	AgentsAddress  string         // like Address, of the AI services
	TrustedProxies []netip.Prefix // peers whose X-Forwarded-For is used
	Origins        []string       // origins of web pages that can call the API; empty: CORS is off
	Memory         int64          // bytes that the process can use; 0: unlimited
	InFlight       int            // maximum of concurrent requests, more get 503; 0: DefaultInFlight

	Log         *slog.Logger
	LogRequests bool          // one line per request
	Tracer      *trace.Tracer // traces requests; nil traces none
	Now         func() time.Time
	MinTimeout  time.Duration // the shortest timeout of a request, if it is longer than that of the request's class
}

// DefaultInFlight is the default maximum of concurrent requests.
const DefaultInFlight = 1024

func (o *Options) check() error {
	switch {
	case o.Operations == nil:
		return errors.New("api: no operations")
	case o.Versions == nil:
		return errors.New("api: no versions")
	case o.Addresses == nil:
		return errors.New("api: no budgets for addresses")
	case o.Usage == nil:
		return errors.New("api: no usage recorder")
	case o.Log == nil:
		return errors.New("api: no log")
	case o.Now == nil:
		return errors.New("api: no clock")
	}
	for _, op := range o.Operations.Operations() {
		if op.Idempotent && o.Replays == nil {
			return errors.New("api: " + op.ID + " is idempotent and nothing keeps its answers")
		}
		if op.Credentials&endpoint.Key != 0 && o.Keys == nil {
			return errors.New("api: " + op.ID + " takes an API key and nothing recognises one")
		}
		if op.Credentials&endpoint.Bearer != 0 && o.Bearers == nil {
			return errors.New("api: " + op.ID + " takes an access token and nothing recognises one")
		}
		if op.Credentials&endpoint.Backend != 0 && (o.Backend == nil || o.Operator == nil) {
			return errors.New("api: " + op.ID + " takes the backend secret and nothing recognises it")
		}
		if op.SignIn && o.Workspaces == nil {
			return errors.New("api: " + op.ID + " signs users in and nothing knows their workspaces")
		}
	}
	return nil
}

// Package api is what every request passes: request id, version, credential, limits, scope; then the operation; then one
// writer, through which every answer leaves with every header, the ugly ones too.
//
// Nothing in it knows a resource. The operations are declared in api/v1 and reach it as an endpoint.Registry.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/apikey"
	"keepsake/internal/endpoint"
	"keepsake/internal/idempotency"
	"keepsake/internal/lifecycle"
	"keepsake/internal/limit"
	"keepsake/internal/usage"
)

// Keys finds API keys by their text. Both methods return a *problem.Problem for a key that cannot be used, and another
// error if they cannot tell. Lookup reads memory only and returns apikey.ErrNotInMemory for a text that LookupStored has
// to look for in the database.
type Keys interface {
	Lookup(text string, now time.Time) (apikey.LiveKey, error)
	LookupStored(ctx context.Context, text string, now time.Time) (apikey.LiveKey, error)
}

// Bearers authenticates an access token that was sent from an address. Its errors are like those of Keys.
type Bearers interface {
	Authenticate(ctx context.Context, text string, from netip.Addr, now time.Time) (account.Bearer, error)
}

// Options is what a surface is made from. Where nothing else is said a member is required.
type Options struct {
	Surface    usage.Surface
	Operations *endpoint.Registry
	Versions   *lifecycle.Registry
	Changes    []lifecycle.Change // what the migration guides tell
	Callers    *lifecycle.Callers // notes who uses which version; nil where nobody asks
	// Document gives the OpenAPI description of a version; nil serves none.
	Document func(version int) ([]byte, error)

	Keys    Keys    // nil recognises no key, for a surface of open operations
	Bearers Bearers // nil recognises no token
	// News says whether what is known of credentials is what holds: without it they are neither taken nor refused. Nil
	// where nobody else changes them.
	News interface{ Current() bool }
	// Workspaces finds those of users who sign in; required when an operation is SignIn.
	Workspaces func(id string) (*account.Entry, bool)
	// Operator is the workspace of callers on the data folder's socket (see LocalContext); false while there is none.
	Operator  func() (*account.Entry, bool)
	Addresses *limit.Addresses // budgets of callers without a credential
	Limiter   limit.Limiter
	Usage     *usage.Recorder
	Replays   *idempotency.Service // required when an operation is Idempotent

	Release        string         // version of the program on the start page; empty for none
	PublicURL      string         // start of the links in answers, without a slash at its end; empty: links are relative
	TrustedProxies []netip.Prefix // peers whose X-Forwarded-For counts
	Origins        []string       // web pages that may call, exactly as browsers send them; empty: CORS is off
	Memory         int64          // bytes that the process can use; 0: no bound
	InFlight       int            // requests worked on at once, more are 503; 0: DefaultInFlight

	Log         *slog.Logger
	LogRequests bool // one line for every request
	Now         func() time.Time
}

// DefaultInFlight bounds the requests worked on at once where no setting does.
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
		if op.SignIn && o.Workspaces == nil {
			return errors.New("api: " + op.ID + " signs users in and nothing knows their workspaces")
		}
	}
	return nil
}

package api

import "keepsake/internal/web/endpoint"

// kind is how an operation gets to know its caller, and when it is charged.
type kind uint8

const (
	noOperation kind = iota // a page, or a request that was refused before
	guarded                 // requires a credential, whose owner is charged
	open                    // requires none; the owner of a valid one is charged, else the client's address
	unmetered               // requires none and charges nothing; the headers are those of a caller without a credential
	signingIn               // authenticates its caller itself, who is charged then; until then the client's address is
	judging                 // judges a credential for another service, and charges its owner then
)

func kindOf(op *endpoint.Operation) kind {
	switch {
	case op.SignIn:
		return signingIn
	case op.Judging:
		return judging
	case op.Credentials != endpoint.NoCredential:
		return guarded
	case op.Uncharged:
		return unmetered
	default:
		return open
	}
}

// steps are the steps in which kinds differ.
var steps = [...]struct {
	// identify returns the caller; nil for none. With an error it can return the owner of a credential that cannot be used here.
	identify func(x *routed) (*caller, error)
	// charge reports whether the request can continue. It is nil, true if the operation charges.
	charge func(x *identified) (*charged, bool)
	refuse func(x *charged) // a request that cannot continue
}{
	guarded:   {(*routed).requireCaller, (*identified).charge, (*charged).refuse},
	open:      {(*routed).acceptCaller, (*identified).charge, (*charged).refuse},
	unmetered: {(*routed).ignoreCaller, (*identified).charge, (*charged).refuse},
	signingIn: {(*routed).ignoreCaller, (*identified).charge, (*charged).refuseSignIn},
	judging:   {(*routed).ignoreCaller, (*identified).chargeLater, (*charged).refuse},
}

// requireCaller returns the caller of an operation that requires a credential.
func (x *routed) requireCaller() (*caller, error) {
	c, err := x.identify(x.route.op.Credentials)
	if err != nil {
		return nil, err
	}
	return c, x.usable(c)
}

// acceptCaller returns the caller of an operation that requires no credential. The limits of one that cannot be used do not apply.
func (x *routed) acceptCaller() (*caller, error) {
	if c := x.recognise(); c != nil && x.usable(c) == nil {
		return c, nil
	}
	return nil, nil
}

func (x *routed) ignoreCaller() (*caller, error) { return nil, nil }

func (x *identified) chargeLater() (*charged, bool) { return nil, true }

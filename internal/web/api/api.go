package api

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"keepsake/internal/govern/limit"
	"keepsake/internal/web/endpoint"
)

// API is a surface as an http.Handler. It is safe for concurrent use.
type API struct {
	o Options

	tables   atomic.Pointer[[]*table] // by version; nil until one is requested
	building sync.Mutex

	*pool // shared with Options.Primary

	counters counters

	exchanges sync.Pool // of *exchange
	vary      bool      // responses depend on the Origin
	base      BasePath  // of PublicURL
}

// pool is the capacity for requests that surfaces of one process share, and who uses it.
type pool struct {
	slots    capacity // of requests in flight
	arriving capacity // of bytes of bodies that are arriving

	workspaces sync.Map       // *account.Entry to *holder
	clients    addressHolders // of clients behind proxies

	visitors *limit.Addresses // what each client address requested of what is free

	bodies *bodyMemory // for large bodies that are being processed

	proxies proxyWarning
}

func newPool(inFlight int, memory int64) *pool {
	p := &pool{bodies: newBodyMemory(memory), visitors: newVisitors()}
	p.slots.all = int64(cmp.Or(inFlight, DefaultInFlight))
	p.slots.reserved = min(max(p.slots.all/16, 1), 32)
	p.arriving.all = p.slots.all * endpoint.Small.MaxBody()
	if memory > 0 {
		p.arriving.all = min(p.arriving.all, memory/4)
	}
	return p
}

// New returns a surface, or an error if options are missing.
func New(o Options) (*API, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Origins = slices.Clone(o.Origins)
	a := &API{o: o, vary: len(o.Origins) > 0, base: BasePathOf(o.PublicURL)}
	if o.Primary != nil {
		a.pool = o.Primary.pool
	} else {
		a.pool = newPool(o.InFlight, o.Memory)
	}
	a.exchanges.New = func() any { return new(exchange) }
	a.tables.Store(&[]*table{})
	for _, v := range o.Versions.Snapshot().All() {
		if err := a.ready(v.Number); err != nil {
			return nil, err
		}
	}
	o.Versions.Prepare(a.ready)
	return a, nil
}

// Address returns Options.Address.
func (a *API) Address() string { return a.o.Address }

// ready prepares everything that serves a version, so that no request waits for it.
func (a *API) ready(version int) error {
	_, err := a.table(version)
	return err
}

// ServeHTTP serves one request. The head of every response goes through answered.head.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := a.begin(w, r)
	defer e.end()
	e.received.serve()
}

package api

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"keepsake/internal/endpoint"
)

// API is a surface as an http.Handler. It is safe for concurrent use.
type API struct {
	o Options

	tables   atomic.Pointer[[]*table] // by version; nil until one is requested
	building sync.Mutex

	proxies proxyWarning

	slots    capacity // of requests in flight
	arriving capacity // of bytes of bodies that are arriving

	workspaces sync.Map       // *account.Entry to *holder
	clients    addressHolders // of clients behind proxies

	room *room // for large bodies that are being processed

	counters counters

	states sync.Pool // of *requestState
	vary   bool      // responses depend on the Origin
}

// New returns a surface, or an error if options are missing.
func New(o Options) (*API, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Origins = slices.Clone(o.Origins)
	a := &API{o: o, vary: len(o.Origins) > 0, room: newRoom(o.Memory)}
	a.slots.all = int64(cmp.Or(o.InFlight, DefaultInFlight))
	a.slots.reserved = min(max(a.slots.all/16, 1), 32)
	a.arriving.all = a.slots.all * endpoint.Small.MaxBody()
	if o.Memory > 0 {
		a.arriving.all = min(a.arriving.all, o.Memory/4)
	}
	a.states.New = func() any { return new(requestState) }
	a.tables.Store(&[]*table{})
	for _, v := range o.Versions.Snapshot().All() {
		if err := a.ready(v.Number); err != nil {
			return nil, err
		}
	}
	o.Versions.Prepare(a.ready)
	return a, nil
}

// ready prepares everything that serves a version, so that no request waits for it.
func (a *API) ready(version int) error {
	_, err := a.table(version)
	return err
}

// ServeHTTP serves one request. Every response goes through requestState.send.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := a.begin(w, r)
	defer x.end()
	x.serve()
}

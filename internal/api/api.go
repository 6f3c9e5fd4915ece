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

	tables   atomic.Pointer[[]*table] // by version; nil where none was asked for yet
	building sync.Mutex

	proxies proxyWarning

	slots    gate // for requests in flight
	arriving gate // for the bytes of bodies that are arriving

	workspaces sync.Map       // *account.Entry to *holder
	clients    addressHolders // of clients behind proxies

	room *room // for large bodies that are worked on

	states sync.Pool // of *requestState
	vary   bool      // answers depend on the Origin
}

// New makes a surface. It refuses options without which not every request could be answered.
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

// ready makes what serving a version takes, so that no request has to wait for it.
func (a *API) ready(version int) error {
	_, err := a.table(version)
	return err
}

// ServeHTTP answers one request. Whatever happens, the answer leaves through requestState.send.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := a.begin(w, r)
	defer x.end()
	x.serve()
}

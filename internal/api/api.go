package api

import "net/http"

// API is a surface as an http.Handler.
type API struct{ o Options }

// New makes a surface.
func New(o Options) (*API, error) { return &API{o: o}, o.check() }

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

package local

import (
	"context"

	"keepsake/internal/web/endpoint"
)

// Listener is a listener of the running service.
type Listener struct {
	Name string // primary, backend or ai
	URL  string // its address on this machine; empty for a Unix socket
}

// AddListeners declares the list of listeners, which `keepsake doctor` checks.
func AddListeners(r *endpoint.Registry, listeners func() []Listener) {
	endpoint.Add(r, operation("listListeners", "GET", "/listeners", "List the listeners of the service"),
		func(context.Context, *struct{}) (*listenerList, error) {
			out := &listenerList{}
			out.Body.Items = []listenerView{}
			for _, l := range listeners() {
				out.Body.Items = append(out.Body.Items, listenerView(l))
			}
			return out, nil
		})
}

type listenerList struct {
	Body struct {
		Items []listenerView `json:"items"`
	}
}

type listenerView struct {
	Name string `json:"name"`
	URL  string `json:"url" doc:"The address on this machine. It is empty for a Unix socket."`
}

package local

import (
	"context"
	"time"

	"keepsake/internal/base/wire"
	"keepsake/internal/web/endpoint"
)

// Warning is a problem that the running service has noticed.
type Warning struct {
	About string // a part or a setting, in one or two words
	Text  string
	At    time.Time // the last time
}

// AddWarnings declares the list of warnings, which `keepsake doctor` shows.
func AddWarnings(r *endpoint.Registry, warnings func() []Warning) {
	endpoint.Add(r, operation("listWarnings", "GET", "/warnings", "List the problems that the service has noticed"),
		func(context.Context, *struct{}) (*warningList, error) {
			out := &warningList{}
			out.Body.Items = []warningView{}
			for _, w := range warnings() {
				out.Body.Items = append(out.Body.Items, warningView{About: w.About, Text: w.Text, At: wire.At(w.At)})
			}
			return out, nil
		})
}

type warningList struct {
	Body struct {
		Items []warningView `json:"items"`
	}
}

type warningView struct {
	About string    `json:"about"`
	Text  string    `json:"text"`
	At    wire.Time `json:"at" doc:"The last time the service noticed the problem."`
}

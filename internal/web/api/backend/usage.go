package backend

import (
	"context"
	"fmt"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddUsage declares the intake of usage that other services have counted.
func AddUsage(r *endpoint.Registry, keys *apikey.Service) {
	endpoint.Add(r, endpoint.Operation{
		ID: "reportUsage", Method: "POST", Path: "/usage", Tag: "usage", Summary: "Report requests that another service has served",
		Description: "The requests are charged to the quotas of their API keys and workspaces, on the day of the report, and none is refused " +
			"because a quota is used up. An item that is invalid does not affect the others.",
		Credentials: endpoint.Key | endpoint.Backend, Scope: auth.DeveloperManage, Status: 200, Uncharged: true,
	}, func(ctx context.Context, in *reportUsage) (*reportedUsage, error) {
		return in.report(ctx, keys)
	})
}

type reportUsage struct {
	Body struct {
		Items []endpoint.Loose[reportItem] `json:"items" minItems:"1" maxItems:"1000" doc:"The requests to report, each item for requests with the same key, route and status."`
	}
}

type reportItem struct {
	ID     string    `json:"id" maxLength:"128" doc:"Identifies the item. An item whose ID was accepted for the workspace within 7 days is a duplicate."`
	KeyID  string    `json:"keyId" maxLength:"64" doc:"The ID of the API key that the requests were made with."`
	Route  string    `json:"route" maxLength:"200" doc:"The template of the route, with or without a method before it." example:"GET /orders/{id}"`
	Status int       `json:"status" minimum:"100" maximum:"599" doc:"The HTTP status of the responses."`
	Count  int64     `json:"count" minimum:"1" maximum:"1000000000" doc:"The number of requests that the item stands for."`
	At     wire.Time `json:"at" doc:"The time of the requests, at most 24 hours before the report."`
}

type reportedUsage struct {
	Body struct {
		Accepted   int           `json:"accepted" doc:"The number of items that were counted."`
		Duplicates int           `json:"duplicates" doc:"The number of items that were counted before, and not again."`
		Errors     []reportError `json:"errors" doc:"The items that were refused, in the order of the request."`
	}
}

type reportError struct {
	Index   int    `json:"index" doc:"The position of the item in the request, starting at 0."`
	ID      string `json:"id,omitzero" doc:"The ID of the item. It is absent if the item has none."`
	Field   string `json:"field" doc:"The field with the problem, such as items[3].at."`
	Issue   string `json:"issue"`
	Message string `json:"message"`
}

// report reports the items that are well formed. An invalid item only affects itself.
func (in *reportUsage) report(ctx context.Context, keys *apikey.Service) (*reportedUsage, error) {
	var reports []apikey.Report
	var positions []int // of the reports among the items
	problems := make([]*problem.Problem, len(in.Body.Items))
	for i := range in.Body.Items {
		sent := &in.Body.Items[i]
		if p := wrongItem(sent); p != nil {
			problems[i] = p
			continue
		}
		v := &sent.Value
		reports = append(reports, apikey.Report{ID: v.ID, KeyID: v.KeyID, Route: v.Route, Status: v.Status, Count: v.Count, At: v.At.Time})
		positions = append(positions, i)
	}
	result, err := keys.Report(ctx, auth.From(ctx), reports)
	if err != nil {
		return nil, err
	}
	for _, e := range result.Errors {
		problems[positions[e.Index]] = e.Problem
	}
	out := &reportedUsage{}
	out.Body.Accepted, out.Body.Duplicates, out.Body.Errors = result.Accepted, result.Duplicates, []reportError{}
	for i, p := range problems {
		if p != nil {
			out.Body.Errors = append(out.Body.Errors, viewOfReportError(i, in.Body.Items[i].Value.ID, p))
		}
	}
	return out, nil
}

// wrongItem returns why an item cannot be reported; nil if it can.
func wrongItem(sent *endpoint.Loose[reportItem]) *problem.Problem {
	if p, ok := problem.As(sent.Err); ok {
		return p
	}
	if strings.ContainsFunc(sent.Value.Route, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return problem.Validation("route", problem.Format, "route must not contain control characters.")
	}
	return nil
}

func viewOfReportError(index int, id string, p *problem.Problem) reportError {
	field := fmt.Sprintf("items[%d]", index)
	switch name := p.Details.Field; {
	case name == "body" || name == "": // the whole item
	case strings.HasPrefix(name, field):
		field = name
	default:
		field += "." + name
	}
	return reportError{Index: index, ID: id, Field: field, Issue: string(p.Details.Issue), Message: p.Message}
}

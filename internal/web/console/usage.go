package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"keepsake/client"
	"keepsake/internal/web/api"
)

// dimensions are what usage can be grouped by.
var dimensions = []choice{
	{"route", "Path"},
	{"key", "API key"},
	{"status", "Status"},
	{"statusClass", "Status class"},
	{"method", "Method"},
	{"version", "Version"},
	{"surface", "Surface"},
}

// consoleParameter is the parameter of pages that also count what the console itself requests for its visitors.
const consoleParameter = "console"

// countsConsole reports whether the visitor wants the console's own requests to be counted.
func (v *visit) countsConsole() bool { return v.URL.Query().Get(consoleParameter) == "true" }

// counted adds to a filter that the console's own requests are not counted, unless the visitor wants them or the filter says
// which surfaces count.
func (v *visit) counted(filter ...string) []string {
	named := func(f string) bool { return strings.HasPrefix(strings.TrimPrefix(f, "-"), "surface:") }
	if v.countsConsole() || slices.ContainsFunc(filter, named) {
		return filter
	}
	return append(filter, "-surface:console")
}

// usageForm is what the usage explorer shows.
type usageForm struct {
	Window, Group, Filter string
	Console               bool // also the console's own requests
}

func usageFormOf(v *visit) usageForm {
	form := usageForm{Window: v.window(), Group: "route", Filter: strings.TrimSpace(v.URL.Query().Get("filter")), Console: v.countsConsole()}
	if chosen := v.URL.Query().Get("group"); slices.ContainsFunc(dimensions, func(c choice) bool { return c.Value == chosen }) {
		form.Group = chosen
	}
	return form
}

// query returns what the form asks for, and an error with status 400 if its filter names a key that does not exist.
func (f usageForm) query(v *visit) (client.UsageQuery, error) {
	filter, err := resolvedFilter(v, f.Filter)
	return client.UsageQuery{Window: f.Window, GroupBy: []string{f.Group}, Filter: v.counted(filter...)}, err
}

// address returns the address of a page with the values of the form.
func (f usageForm) address(path string) string {
	values := url.Values{"window": {f.Window}, "group": {f.Group}, "filter": {f.Filter}}
	if f.Console {
		values.Set(consoleParameter, "true")
	}
	return path + "?" + values.Encode()
}

// usageData is what the usage explorer shows.
type usageData struct {
	Form    usageForm
	Chart   chart
	Ranked  []client.RankedUsage
	Names   map[string]string // of keys, by ID
	Message string

	LastThrottled *client.LoggedRequest // if throttled callers are listed
}

// maxGroups is how many groups the chart shows.
const maxGroups = 5

func showUsage(v *visit) response {
	data := usageData{Form: usageFormOf(v)}
	query, err := data.Form.query(v)
	var ranked []client.RankedUsage
	if err == nil {
		query.Limit = 50
		ranked, err = v.api().TopUsage(v.Context(), query)
	}
	if message, ok := isBadRequest(err); ok {
		data.Message = message + " A filter is a dimension and a value, such as status:429, method:GET or key:NAME."
		return response{status: http.StatusBadRequest, page: usagePage(data)}
	}
	if err != nil {
		return v.fail(err)
	}
	data.Ranked = ranked
	query.Limit = maxGroups
	series, err := v.api().UsageSeries(v.Context(), query)
	if err != nil {
		return v.fail(err)
	}
	if data.Form.Group == "key" {
		if data.Names, err = v.keyNames(); err != nil {
			return v.fail(err)
		}
	}
	if data.Form.Group == "key" && len(ranked) > 0 && data.throttled() {
		if data.LastThrottled, err = lastThrottled(v, query.Window, query.Filter); err != nil {
			return v.fail(err)
		}
	}
	data.Chart = groupsChart(series, data)
	return show(usagePage(data))
}

// keyNames returns the names of keys by ID, if the visitor can see them.
func (v *visit) keyNames() (map[string]string, error) {
	names := map[string]string{}
	if !v.can("developer:manage") {
		return names, nil
	}
	page, err := v.api().ListAPIKeys(v.Context(), client.APIKeyQuery{Limit: 200})
	if err != nil {
		return nil, err
	}
	for _, k := range page.Items {
		names[k.ID] = k.Name
	}
	return names, nil
}

// actorNames returns the names of keys and the emails of users by ID, as far as the visitor can see them.
func (v *visit) actorNames() (map[string]string, error) {
	names, err := v.keyNames()
	if err != nil {
		return nil, err
	}
	names[v.user.ID] = v.user.Email
	if !v.can("admin") {
		return names, nil
	}
	workspaces := []string{v.user.Workspace.ID}
	if v.operates() {
		workspaces = append(workspaces, "") // all
	}
	for _, workspace := range workspaces {
		page, err := v.api().ListUsers(v.Context(), client.UserQuery{Workspace: workspace, Limit: 200})
		if err != nil {
			return nil, err
		}
		for _, u := range page.Items {
			names[u.ID] = u.Email
		}
	}
	return names, nil
}

// groupsChart shows the requests of groups over time.
func groupsChart(s *client.UsageSeries, data usageData) chart {
	c := chart{Label: "Requests over time", Step: stepOf(s.Interval)}
	for i, group := range s.Series[:min(len(s.Series), maxGroups)] {
		c.Names = append(c.Names, data.name(group.Group))
		c.Classes = append(c.Classes, data.class(i))
		for j, p := range group.Points {
			if i == 0 {
				c.Columns = append(c.Columns, column{At: p.T, Partial: !p.Complete})
			}
			if j < len(c.Columns) {
				c.Columns[j].Values = append(c.Columns[j].Values, float64(p.Requests))
			}
		}
	}
	return c
}

// class is the colour of group i. Those of throttled requests begin with the colour of "Throttled" in other charts.
func (d usageData) class(i int) string {
	if i == 0 && d.throttled() {
		return "part-warn"
	}
	return "part-" + strconv.Itoa(i+1)
}

// throttled reports whether only throttled requests are counted.
func (d usageData) throttled() bool {
	return slices.Contains(strings.Fields(d.Form.Filter), throttledFilter)
}

// throttledFilter selects the requests that a limit or a quota has refused.
const throttledFilter = "status:429"

// lastThrottled returns the last request of a period that a limit or a quota has refused, of those that a filter selects; nil if
// the log has none.
func lastThrottled(v *visit, window string, filter []string) (*client.LoggedRequest, error) {
	page, err := v.api().Requests(v.Context(), client.RequestQuery{UsageQuery: client.UsageQuery{Window: window, Filter: filter, Limit: 1}})
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	return &page.Items[0], nil
}

// name names a group.
func (d usageData) name(g client.UsageGroup) string {
	switch {
	case hasKey(g) && d.Names[*g.Key] != "":
		return d.Names[*g.Key]
	case hasKey(g):
		return *g.Key
	case d.Form.Group == "key":
		return "without a key"
	case g.Method != nil:
		return *g.Method
	case g.Status != nil:
		return strconv.Itoa(*g.Status)
	case g.StatusClass != nil:
		return *g.StatusClass
	case g.Version != nil:
		return "version " + *g.Version
	case g.Surface != nil:
		return *g.Surface
	default:
		return operation(g)
	}
}

// none is the value of a dimension that requests of a group do not have.
const none = "none"

// hasKey reports whether the requests of a group have a key.
func hasKey(g client.UsageGroup) bool { return g.Key != nil && *g.Key != none }

// usageCSV downloads the numbers of the usage explorer.
func usageCSV(v *visit) response {
	query, err := usageFormOf(v).query(v)
	if err != nil {
		return v.fail(err)
	}
	query.Limit = 200
	var table bytes.Buffer
	if err := v.api().UsageTable(v.Context(), client.SeriesReport, query, &table); err != nil {
		return v.fail(err)
	}
	return response{raw: &api.WebResponse{Status: http.StatusOK, Body: table.Bytes(), Header: http.Header{
		"Content-Type": {"text/csv; charset=utf-8"}, "Content-Disposition": {`attachment; filename="usage.csv"`},
		"Content-Security-Policy": {policy}, "Cache-Control": {"no-store"},
	}}}
}

// outcomes are what the log of requests can be limited to.
var outcomes = []choice{{"", "All"}, {errorsOnly, "Errors without 429"}, {"statusClass:2xx", "2xx"}, {"statusClass:4xx", "4xx"}, {"status:429", "429"}, {"statusClass:5xx", "5xx"}}

// errorsOnly is the outcome of the requests that the overview counts as errors: failures that are not throttled.
const errorsOnly = "errors"

var errorFilter = []string{"statusClass:4xx", "statusClass:5xx", "-status:429"}

// requestsData is a page of the log of requests.
type requestsData struct {
	Window, Outcome, RequestID, Key string
	Page                            *client.RequestPage
	Names                           map[string]string // of actors, by ID
	Others                          string            // the address of the page without the filter by Key
	Pages                           pages
	Message                         string
}

func listRequests(v *visit) response {
	query := v.URL.Query()
	data := requestsData{Window: v.window(), Outcome: query.Get("outcome"), RequestID: strings.TrimSpace(query.Get("id")), Key: query.Get("key")}
	q := client.RequestQuery{UsageQuery: client.UsageQuery{Window: data.Window, Limit: 50}, RequestID: data.RequestID, Cursor: query.Get("cursor")}
	if data.RequestID != "" {
		q.Window = "7d" // a request ID says nothing about its time
	}
	switch data.Outcome {
	case "":
	case errorsOnly:
		q.Filter = append(q.Filter, errorFilter...)
	default:
		q.Filter = append(q.Filter, data.Outcome)
	}
	var err error
	if data.Names, err = v.actorNames(); err != nil {
		return v.fail(err)
	}
	if data.Key != "" {
		if data.Names[data.Key] == "" {
			if err := addAllKeys(v, data.Names); err != nil {
				return v.fail(err)
			}
		}
		id, _, err := idNamed("key", data.Key, data.Names)
		if message, ok := isBadRequest(err); ok {
			data.Message = message
			return response{status: http.StatusBadRequest, page: requestsPage(data)}
		}
		data.Key = id
		q.Filter = append(q.Filter, keyFilter+data.Key)
	}
	others := url.Values{"window": {data.Window}, "outcome": {data.Outcome}, "id": {data.RequestID}}
	if v.countsConsole() {
		others.Set(consoleParameter, "true")
	}
	data.Others = "/console/requests?" + others.Encode()
	if data.RequestID == "" {
		q.Filter = v.counted(q.Filter...)
	}
	page, err := v.api().Requests(v.Context(), q)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusBadRequest {
		data.Message = e.Error()
		return response{status: e.Status, page: requestsPage(data)}
	}
	if err != nil {
		return v.fail(err)
	}
	data.Page = page
	filter := url.Values{"window": {query.Get("window")}, "outcome": {data.Outcome}, "id": {data.RequestID}, "key": {data.Key}, consoleParameter: {query.Get(consoleParameter)}}
	data.Pages = v.pages("/console/requests", filter, page.NextCursor)
	return show(requestsPage(data))
}

// statusClass is the class of a status in a table.
func statusClass(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "warn"
	case status >= http.StatusBadRequest:
		return "bad"
	default:
		return "good"
	}
}

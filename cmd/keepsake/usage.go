package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

// usageReport is what keepsake usage --json prints. Quotas is nil for all workspaces, because each has quotas of its own.
type usageReport struct {
	Summary *client.UsageSummary `json:"summary"`
	Quotas  *client.QuotaUsage   `json:"quotas"`
	Top     []client.RankedUsage `json:"top"`
	Series  *client.UsageSeries  `json:"series"`
}

func usageCommand(st *stage) *cobra.Command {
	var (
		q        client.UsageQuery
		from, to string
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use: "usage", Short: "Show who uses what", Args: noArguments,
		Long: "Shows how many requests were made in a period, how long they took, what is left of the quotas, and the groups with the\n" +
			"most requests. The last column shows a group's requests over time. The newest intervals are on the right.",
		Example: "  keepsake usage --window 7d --by key\n" +
			"  keepsake usage --by route,statusClass --filter 'key:website search'",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&q.Window, "window", "24h", "period until now: 1h, 24h, 7d or 30d")
	flags.StringVar(&from, "from", "", "start `TIME` of the period, instead of --window")
	flags.StringVar(&to, "to", "", "end `TIME` of the period (default: now)")
	flags.StringVar(&q.Interval, "interval", "", "length of the intervals: minute, hour or day (default: by the length of the period)")
	flags.StringSliceVar(&q.GroupBy, "by", []string{"route"}, "up to two dimensions: key, route, method, status, statusClass, version, surface")
	flags.StringArrayVar(&q.Filter, "filter", nil, "only requests with this `DIMENSION:VALUE`, such as status:429, or without it: -status:429; can be repeated, with the dimensions of --by")
	flags.IntVar(&q.Limit, "limit", 10, "number of groups")
	flags.StringVar(&q.Workspace, "workspace", "", "`ID` or name of the workspace, or all (default: the caller's)")
	cmd.MarkFlagsMutuallyExclusive("window", "from")
	cmd.MarkFlagsMutuallyExclusive("window", "to")
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := periodFlags(&q, from, to); err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			if q.Workspace != "all" {
				id, err := workspaceID(cmd.Context(), c, q.Workspace)
				if err != nil {
					return err
				}
				q.Workspace = id
			}
			var err error
			if q.Filter, err = keyFilters(cmd.Context(), c, q.Filter); err != nil {
				return err
			}
			report, err := readUsage(cmd.Context(), c, q)
			if err != nil {
				return fmt.Errorf("read usage: %w", err)
			}
			if asJSON {
				return st.printJSON(report)
			}
			if !st.wide {
				report.nameKeys(keyNames(cmd.Context(), c, report))
			}
			st.printUsageReport(report)
			return nil
		})
	}
	return cmd
}

// keyFilters replaces the names of API keys in filters, which reports show, by their IDs, which the API takes.
func keyFilters(ctx context.Context, c *client.Client, filters []string) ([]string, error) {
	list := slices.Clone(filters)
	for i, filter := range list {
		name, value, _ := strings.Cut(filter, ":")
		if strings.TrimPrefix(name, "-") != "key" || value == "" || value == "none" {
			continue
		}
		id, err := keyID(ctx, c, value)
		if err != nil {
			return nil, err
		}
		list[i] = name + ":" + id
	}
	return list, nil
}

// periodFlags reads --from and --to, which replace --window.
func periodFlags(q *client.UsageQuery, from, to string) error {
	start, err := timeFlag("from", from)
	if err != nil {
		return err
	}
	end, err := timeFlag("to", to)
	if err != nil {
		return err
	}
	if start != nil {
		q.From, q.Window = *start, ""
	}
	if end != nil {
		q.To, q.Window = *end, ""
	}
	return nil
}

func readUsage(ctx context.Context, c *client.Client, q client.UsageQuery) (r *usageReport, err error) {
	r = &usageReport{}
	if r.Summary, err = c.UsageSummary(ctx, q); err != nil {
		return nil, err
	}
	if q.Workspace != "all" {
		if r.Quotas, err = c.QuotaUsage(ctx, q.Workspace); err != nil {
			return nil, err
		}
	}
	if r.Top, err = c.TopUsage(ctx, q); err != nil {
		return nil, err
	}
	r.Series, err = c.UsageSeries(ctx, q)
	return r, err
}

// keyNames returns the names of the API keys of a report by their IDs, as far as the caller can read them. A name that two keys
// have is left out.
func keyNames(ctx context.Context, c *client.Client, r *usageReport) map[string]string {
	if !slices.ContainsFunc(r.Top, func(one client.RankedUsage) bool { return one.Group.Key != nil }) {
		return nil
	}
	names, ids := map[string]string{}, map[string][]string{}
	for k, err := range c.EachAPIKey(ctx, client.APIKeyQuery{Limit: 200}) {
		if err != nil { // without the scope, IDs are shown
			return nil
		}
		names[k.ID] = k.Name
		ids[k.Name] = append(ids[k.Name], k.ID)
	}
	for _, twins := range ids {
		for _, id := range twins {
			if len(twins) > 1 {
				delete(names, id)
			}
		}
	}
	return names
}

// nameKeys replaces the IDs of API keys by names.
func (r *usageReport) nameKeys(names map[string]string) {
	rename := func(g *client.UsageGroup) {
		if g.Key != nil && names[*g.Key] != "" {
			name := names[*g.Key]
			g.Key = &name
		}
	}
	for i := range r.Top {
		rename(&r.Top[i].Group)
	}
	for i := range r.Series.Series {
		rename(&r.Series.Series[i].Group)
	}
}

func (st *stage) printUsageReport(r *usageReport) {
	s := r.Summary
	fmt.Fprintf(st.out, "%s to %s, by %s\n", when(&s.From), when(&s.To), r.Series.Interval)
	fmt.Fprintf(st.out, "%s by %s: %s, %s\n", counted(s.Requests, "request"), counted(int64(s.ActiveKeys), "key"),
		counted(s.Errors, "error"), counted(s.Throttled, "request")+" over a limit")
	if s.P50Ms != nil {
		fmt.Fprintf(st.out, "Half of them took at most %s ms, 99 %% of them at most %s ms.\n", decimals(s.P50Ms), decimals(s.P99Ms))
	}
	if r.Quotas != nil {
		fmt.Fprintf(st.out, "Quotas: %s today, %s this month\n", quotaText(&r.Quotas.Daily), quotaText(&r.Quotas.Monthly))
	}
	if len(r.Top) == 0 {
		return
	}
	fmt.Fprintln(st.out)
	trends, width := map[string]string{}, sparkWidth
	if !st.wide {
		width = narrowSparkWidth / max(1, len(groupNames(r.Top[0].Group)))
	}
	for _, series := range r.Series.Series {
		trends[strings.Join(groupValues(series.Group), "\n")] = sparkline(series.Points, width)
	}
	var head []column
	for _, name := range groupNames(r.Top[0].Group) {
		head = append(head, column{title: name, free: true})
	}
	rows := make([]table.Row, 0, len(r.Top))
	for _, one := range r.Top {
		values := groupValues(one.Group)
		row := table.Row{}
		for _, v := range values {
			row = append(row, v)
		}
		rows = append(rows, append(row, one.Requests, one.Errors, one.Throttled, decimals(one.P99Ms), trends[strings.Join(values, "\n")]))
	}
	st.printTable(append(head, fixed("requests", "errors", "over limit", "p99 ms", "over time")...), rows)
}

// counted formats a number of things.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(n, 10) + " " + thing + "s"
}

// decimals formats a number of milliseconds, which can be nil.
func decimals(x *float64) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatFloat(*x, 'f', 1, 64)
}

func quotaText(q *client.QuotaUse) string {
	if q.Limit == nil {
		return fmt.Sprintf("%d used", q.Used)
	}
	return fmt.Sprintf("%d of %d used", q.Used, *q.Limit)
}

// groupValues are the values of a group's dimensions.
func groupValues(g client.UsageGroup) (values []string) {
	eachDimension(g, func(_, value string) { values = append(values, value) })
	return values
}

// groupNames are the names of a group's dimensions.
func groupNames(g client.UsageGroup) (names []string) {
	eachDimension(g, func(name, _ string) { names = append(names, name) })
	return names
}

func eachDimension(g client.UsageGroup, fn func(name, value string)) {
	var status *string
	if g.Status != nil {
		text := strconv.Itoa(*g.Status)
		status = &text
	}
	for _, d := range []struct {
		name  string
		value *string
	}{
		{"key", g.Key},
		{"route", g.Route},
		{"method", g.Method},
		{"status", status},
		{"statusClass", g.StatusClass},
		{"version", g.Version},
		{"surface", g.Surface},
	} {
		if d.value != nil {
			fn(d.name, *d.value)
		}
	}
}

// sparkWidth is the max number of characters of a sparkline with --wide: a month in days. Without, a day in hours has room
// beside one dimension, and half of it beside two.
const (
	sparkWidth       = 31
	narrowSparkWidth = 25
)

// sparks are the heights of a sparkline, the lowest one first.
var sparks = []rune("▁▂▃▄▅▆▇█")

// sparkline draws the requests of points, relative to the largest one. No requests are a space. If there are more points than
// width, a character stands for several.
func sparkline(points []client.SeriesPoint, width int) string {
	each := max(1, (len(points)+width-1)/width)
	var heights []int64
	for some := range slices.Chunk(points, each) {
		var sum int64
		for _, p := range some {
			sum += p.Requests
		}
		heights = append(heights, sum)
	}
	highest := int64(1)
	if len(heights) > 0 {
		highest = max(1, slices.Max(heights))
	}
	line := make([]rune, len(heights))
	for i, h := range heights {
		line[i] = ' '
		if h > 0 {
			line[i] = sparks[(h*int64(len(sparks))-1)/highest]
		}
	}
	return strings.TrimRight(string(line), " ")
}

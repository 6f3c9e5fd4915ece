package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"keepsake/internal/testing/loadrun"
)

func benchCommand(st *stage) *cobra.Command {
	var (
		o      loadrun.Options
		mix    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure a running deployment under load", Args: noArguments,
		Long: "Sends a mix of requests to a running deployment and prints rates, statuses and percentiles. It first stores documents and\n" +
			"memories of its own, with names that begin with \"bench-\", and removes them at the end, also after Ctrl-C. Every request\n" +
			"counts towards the limits and quotas of the key. After a 429 it waits for Retry-After.\n\n" +
			"Requests: " + loadrun.MixHelp() + ".",
		Example: "  keepsake bench --url https://keepsake.example.com --duration 60s --connections 32",
	}
	cmd.Flags().StringVar(&o.URL, "url", "", "`URL` of the API (KEEPSAKE_URL; default "+localURL+")")
	cmd.Flags().StringVar(&o.Key, "key", "", "API `KEY` with the scopes of the mix; prefer KEEPSAKE_KEY or KEEPSAKE_KEY_FILE")
	cmd.Flags().DurationVar(&o.Duration, "duration", 30*time.Second, "how long to measure")
	cmd.Flags().DurationVar(&o.WarmUp, "warm-up", 3*time.Second, "how long to send requests before measuring starts")
	cmd.Flags().IntVar(&o.Connections, "connections", 8, "concurrent requests, each on its own connection")
	cmd.Flags().Float64Var(&o.Rate, "rate", 0, "requests per second; 0 for as fast as responses arrive")
	cmd.Flags().StringVar(&mix, "mix", loadrun.DefaultMix, "requests and their `WEIGHTS`")
	cmd.Flags().IntVar(&o.Documents, "documents", 50, "documents to search and replace; each is removed by one request")
	cmd.Flags().IntVar(&o.Memories, "memories", 200, "memories to recall and replace")
	jsonFlag(cmd, &asJSON)
	markConnectionFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if o.Mix, err = loadrun.ParseMix(mix); err != nil {
			return usageError("bench: " + err.Error())
		}
		for _, address := range []string{st.getenv("KEEPSAKE_URL"), localURL} {
			if o.URL == "" {
				o.URL = address
			}
		}
		if o.Key, err = st.apiKey(o.Key); err != nil {
			return err
		}
		if o.Key == "" {
			return usageError("bench needs an API key: --key or KEEPSAKE_KEY")
		}
		o.UserAgent = thisBuild().agent()
		return st.bench(cmd.Context(), o, asJSON)
	}
	return cmd
}

func (st *stage) bench(ctx context.Context, o loadrun.Options, asJSON bool) error {
	done := func() {}
	if st.errTTY && !asJSON {
		o.Progress, done = st.benchBar()
	}
	report, err := loadrun.Run(ctx, o)
	done()
	var wrong loadrun.Error
	if errors.As(err, &wrong) {
		return usageError("bench: " + wrong.Error())
	}
	if report == nil {
		return fmt.Errorf("bench: %w", err)
	}
	if asJSON {
		err = errors.Join(st.printJSON(report), err)
	} else {
		st.printBench(report)
	}
	switch {
	case err != nil:
		return fmt.Errorf("bench: %w", err)
	case report.Interrupted:
		return errors.New("bench: interrupted; the report covers the time before")
	case report.Total.Succeeded == 0:
		return errors.New("bench: no request succeeded")
	default:
		return nil
	}
}

// benchBar draws the time of each phase.
func (st *stage) benchBar() (progress func(phase loadrun.Phase, done, total time.Duration), done func()) {
	var (
		bar     *progressbar.ProgressBar
		current loadrun.Phase
	)
	// Errors of drawing are ignored.
	finish := func() {
		if bar != nil {
			_ = bar.Finish()
			_ = bar.Close()
		}
	}
	return func(phase loadrun.Phase, done, total time.Duration) {
		if phase != current {
			finish()
			current = phase
			size := total.Milliseconds()
			if total == 0 {
				size = -1 // unknown
			}
			bar = progressbar.NewOptions64(size,
				progressbar.OptionSetWriter(st.err), progressbar.OptionSetDescription(string(phase)), progressbar.OptionSetPredictTime(false),
				progressbar.OptionSetElapsedTime(false), progressbar.OptionSetRenderBlankState(true), progressbar.OptionClearOnFinish())
		}
		_ = bar.Set64(done.Milliseconds())
	}, finish
}

func (st *stage) printBench(r *loadrun.Report) {
	fmt.Fprintf(st.out, "%s: %d requests in %s on %d connections", r.URL, r.Total.Requests, seconds(r.Seconds), r.Connections)
	if r.TargetRate > 0 {
		fmt.Fprintf(st.out, ", %g requests per second requested", r.TargetRate)
	}
	fmt.Fprintf(st.out, "\n\n")
	var rows []table.Row
	for _, l := range append(slices.Clone(r.Operations), r.Total) {
		ms := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
		rows = append(rows, table.Row{
			l.Name, l.Requests, ms(l.RatePerSecond), ms(l.Latency.Mean), ms(l.Latency.P50), ms(l.Latency.P90), ms(l.Latency.P99), ms(l.Latency.P999),
			ms(l.Latency.Max), l.Throttled, l.Failed,
		})
	}
	st.printTable(fixed("Requests", "sent", "ok/s", "mean ms", "p50", "p90", "p99", "p99.9", "max", "throttled", "failed"), rows)
	fmt.Fprintln(st.out)
	rows = nil
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		rows = append(rows, table.Row{status, r.Statuses[status]})
	}
	st.printTable(fixed("Status", "answers"), rows)
	if r.Total.Throttled > 0 {
		fmt.Fprintf(st.out, "\n%d requests were throttled (429); the run waited %s for Retry-After.\n", r.Total.Throttled, seconds(r.WaitedSeconds))
	}
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
}

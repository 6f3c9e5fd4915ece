package outboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/event"
)

func TestThresholdsAreReportedOncePerPeriod(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hook := b.subscribe(t, "wsp_a", event.QuotaThresholdReached)
	noError(t, b.interests.Load(t.Context()))
	used := map[string]int64{}
	watch := func() *event.QuotaWatch {
		return event.NewQuotaWatch(event.QuotaOptions{
			Owners: func(of func(string) bool) (list []event.QuotaOwner) {
				for _, o := range []event.QuotaOwner{
					{WorkspaceID: "wsp_a", Daily: 100, Monthly: 1000}, {WorkspaceID: "wsp_a", KeyID: "key_1", Daily: 10}, {WorkspaceID: "wsp_b", Daily: 1},
				} {
					if of(o.WorkspaceID) {
						list = append(list, o)
					}
				}
				return list
			},
			Used: func(_ context.Context, owners, periods []string) (list []event.QuotaUse, _ error) {
				for _, o := range owners {
					for _, p := range periods {
						list = append(list, event.QuotaUse{OwnerID: o, Period: p, Used: used[o+" "+p]})
					}
				}
				return list, nil
			},
			Interests: b.interests, Recorder: b, Now: b.now, Log: slog.New(slog.DiscardHandler),
		})
	}
	one, other := watch(), watch()
	seen := map[string]bool{}
	look := func() (got []string) {
		t.Helper()
		for _, w := range []*event.QuotaWatch{one, other, watch()} { // two processes, and one that has restarted
			noError(t, w.Look(t.Context()))
		}
		for _, d := range b.deliveries(t, hook) {
			var e struct {
				Data struct {
					Quota, Period string
					Percent       int
					KeyID         *string
				}
			}
			noError(t, json.Unmarshal([]byte(d.Payload), &e))
			key := "-"
			if e.Data.KeyID != nil {
				key = *e.Data.KeyID
			}
			if !seen[d.EventID] {
				got = append(got, fmt.Sprint(e.Data.Quota, " ", e.Data.Period, " ", e.Data.Percent, " ", key))
			}
			seen[d.EventID] = true
		}
		slices.Sort(got)
		return got
	}
	for _, step := range []struct {
		use  map[string]int64
		pass time.Duration
		want []string
	}{
		{map[string]int64{"wsp_a 2026-11-21": 49, "wsp_b 2026-11-21": 5}, 0, nil},
		{map[string]int64{"wsp_a 2026-11-21": 50}, 0, []string{"daily 2026-11-21 50 -"}},
		{map[string]int64{"wsp_a 2026-11-21": 79}, 0, nil},
		{map[string]int64{"wsp_a 2026-11-21": 100, "wsp_a 2026-11": 500}, 0, []string{
			"daily 2026-11-21 100 -", "daily 2026-11-21 80 -", "daily 2026-11-21 90 -", "monthly 2026-11 50 -",
		}},
		{map[string]int64{"key_1 2026-11-21": 8}, 0, []string{"daily 2026-11-21 50 key_1", "daily 2026-11-21 80 key_1"}},
		{map[string]int64{"wsp_a 2026-11-22": 90}, 24 * time.Hour, []string{
			"daily 2026-11-22 50 -", "daily 2026-11-22 80 -", "daily 2026-11-22 90 -",
		}},
	} {
		for name, n := range step.use {
			used[name] = n
		}
		b.pass(step.pass)
		if diff := cmp.Diff(step.want, look()); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", step.use, diff)
		}
	}
}

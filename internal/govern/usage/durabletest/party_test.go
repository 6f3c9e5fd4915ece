package durabletest

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

const workspace = "wsp_a"

// keys are the callers in these tests; the empty one is a call without a key.
var keys = [...]string{"key_a", "key_b", ""}

// generous is a limit per minute that refuses nothing here.
var generous = limit.Allowance{PerMinute: 1_000_000_000, Daily: 1_000_000_000, Monthly: 1_000_000_000}

// party is a workspace with its keys, counted in memory as by a running server.
type party struct {
	recorder  *usage.Recorder
	workspace *limit.Use
	keys      [len(keys)]*limit.Use
	owners    [len(keys)]usage.Owner
	route     usage.Route
	late      time.Duration // by which requests are recorded after their time
}

// newParty initializes the counters from the store.
func newParty(ctx context.Context, s usage.Store, now time.Time) (*party, error) {
	p := &party{recorder: usage.NewRecorder(s, func() time.Time { return now }, slog.New(slog.DiscardHandler))}
	used, err := p.recorder.Restore(ctx)
	if err != nil {
		return nil, err
	}
	start := func(id string) *limit.Use {
		u := &limit.Use{}
		u.Init(id)
		day, month := used(id)
		u.Restore(now, day, month)
		return u
	}
	p.workspace = start(workspace)
	for i, id := range keys {
		p.keys[i] = start(id)
		p.owners[i] = p.recorder.Owner(workspace, id)
	}
	p.route = p.recorder.Route("GET", "/api/v1/health")
	return p, nil
}

func (p *party) accounts(key int) (ws, own limit.Account) {
	ws = limit.Account{Use: p.workspace, Allowance: generous}
	if keys[key] != "" {
		own = limit.Account{Use: p.keys[key], Allowance: generous}
	}
	return ws, own
}

// call is one request: charged, answered with status, refunded if that is 5xx, and recorded.
func (p *party) call(now time.Time, key int, cost int64, status uint16) {
	ws, own := p.accounts(key)
	v, receipt := limit.Local{}.Charge(now, cost, ws, own)
	e := usage.Event{Owner: p.owners[key], Route: p.route, Version: 1, Status: status, At: receipt.At().Add(-p.late), Took: time.Duration(cost) * time.Millisecond}
	switch {
	case !v.Allowed:
		e.Status = 429
	case status >= 500:
		receipt.Refund()
	default:
		e.Charged = cost
	}
	p.recorder.Record(e)
}

// counted is the usage of a day and a month by owner, according to the counters or the store.
type counted map[string][2]int64

// inMemory reads the counters at a time.
func (p *party) inMemory(now time.Time) counted {
	c := counted{}
	read := func(id string, u *limit.Use) {
		v := limit.Local{}.Peek(now, 1, limit.Account{Use: u, Allowance: generous}, limit.Account{})
		used := [2]int64{generous.Daily - v.DailyRemaining, generous.Monthly - v.MonthlyRemaining}
		if used != [2]int64{} {
			c[id] = used
		}
	}
	read(workspace, p.workspace)
	for i, id := range keys {
		if id != "" {
			read(id, p.keys[i])
		}
	}
	return c
}

// inQuotas reads the stored quotas of the day and month of a time.
func inQuotas(ctx context.Context, t failer, s usage.Store, now time.Time) counted {
	t.Helper()
	day := now.Format(time.DateOnly)
	list, err := s.Quotas(ctx, []string{day, now.Format("2006-01")})
	if err != nil {
		t.Fatalf("read quotas: %v", err)
	}
	c := counted{}
	for _, q := range list {
		used := c[q.OwnerID]
		if q.Period == day {
			used[0] += q.Charged
		} else {
			used[1] += q.Charged
		}
		c[q.OwnerID] = used
	}
	return c
}

// inCells sums the stored cells of the day and month of a time. Those of the day are the same in minutes, hours and days, which are
// kept that long in these tests.
func inCells(ctx context.Context, t failer, s usage.Store, now time.Time) counted {
	t.Helper()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	c, daily := counted{}, sumOfCells(ctx, t, s, today, today.Add(day), day)
	for owner, charged := range sumOfCells(ctx, t, s, month, month.AddDate(0, 1, 0), day) {
		c[owner] = [2]int64{daily[owner], charged}
	}
	for _, step := range []time.Duration{time.Minute, time.Hour} {
		if sums := sumOfCells(ctx, t, s, today, today.Add(day), step); !maps.Equal(sums, daily) {
			t.Fatalf("in steps of %v the sums are %v, of days %v", step, sums, daily)
		}
	}
	return c
}

// sumOfCells sums what the cells of a time range were charged, by owner.
func sumOfCells(ctx context.Context, t failer, s usage.Store, from, to time.Time, step time.Duration) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	err := s.EachCell(ctx, usage.CellQuery{WorkspaceID: workspace, From: from, To: to, Step: step}, func(cell *usage.Cell) error {
		if n := cell.Latency.Count(); n != cell.Requests {
			t.Fatalf("%d durations of %d requests", n, cell.Requests)
		}
		for _, owner := range []string{workspace, cell.KeyID} {
			if owner != "" && cell.Charged > 0 {
				sums[owner] += cell.Charged
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read cells: %v", err)
	}
	return sums
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

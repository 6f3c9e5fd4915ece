package usage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
)

// A flush inserts its cells into usage_fresh. A roll-up moves rows from there to usage_minute, usage_hour and usage_day: each
// transaction deletes some rows and adds what they counted to all three. So a request is counted in usage_fresh or in each of the
// others, whenever its count arrives, and a query reads usage_fresh and one of the others by one statement.

// countColumns are what cells count. All of these tables have them.
const countColumns = `requests, charged, bytes_in, bytes_out, durations`

// cellKey identifies the cell of a series in a minute, an hour or a day.
type cellKey struct {
	series int64
	at     int64 // Unix seconds
}

// cellSums are sums of what cells count.
type cellSums map[cellKey]*usage.Cell

func (s cellSums) add(k cellKey, c *usage.Cell) {
	sum := s[k]
	if sum == nil {
		sum = &usage.Cell{}
		s[k] = sum
	}
	sum.Add(c)
}

// appendCounts appends the values of countColumns.
func appendCounts(values []any, c *usage.Cell) []any {
	return append(values, c.Requests, c.Charged, c.BytesIn, c.BytesOut, string(c.Latency.AppendJSON(nil)))
}

func floorTo(n, size int64) int64 { return n / size * size }
func ceilDiv(n, size int64) int64 { return (n + size - 1) / size }

// seriesID returns the ID of the series of a cell: a hash of its dimensions.
func seriesID(c *usage.Cell) int64 {
	text := make([]byte, 0, 256)
	for _, dimension := range [...]string{c.WorkspaceID, c.KeyID, c.Route, c.Method, c.Surface} {
		text = append(append(text, dimension...), 0)
	}
	text = append(strconv.AppendInt(text, int64(c.Status), 10), 0)
	hash := sha256.Sum256(strconv.AppendInt(text, int64(c.Version), 10))
	return int64(binary.BigEndian.Uint64(hash[:]))
}

var (
	addFresh = &store.Bulk{Into: `usage_fresh (flush, series, at, ` + countColumns + `)`, Columns: 8}

	addSeries = &store.Bulk{
		Into:    `usage_series (id, workspace_id, key_id, route, method, status, version, surface, last_day)`,
		Columns: 9, Updates: true,
		Rest: `ON CONFLICT (id) DO UPDATE SET last_day = excluded.last_day WHERE excluded.last_day > usage_series.last_day`,
	}
)

func compareKeys(a, b cellKey) int {
	return cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.at, b.at))
}

// addCells adds cells. Those of the route Other have the key Other.
func (s *Counters) addCells(ctx context.Context, cells []usage.Cell) error {
	sums, series := cellSums{}, map[int64]*usage.Cell{}
	for _, c := range cells {
		if c.Route == usage.Other {
			c.KeyID = usage.Other
		}
		id := seriesID(&c)
		series[id] = &c
		sums.add(cellKey{id, floorTo(c.Start.Unix(), 60)}, &c)
	}
	keys, flush := slices.SortedFunc(maps.Keys(sums), compareKeys), rand.Int64()
	if err := s.addSeries(ctx, keys, series); err != nil {
		return err
	}
	_, err := s.db.Insert(ctx, addFresh, len(keys), func(i int, values []any) []any {
		return appendCounts(append(values, flush, keys[i].series, keys[i].at), sums[keys[i]])
	})
	return err
}

// addSeries adds the series of cells, and the days on which they have cells.
func (s *Counters) addSeries(ctx context.Context, keys []cellKey, series map[int64]*usage.Cell) error {
	var missing []cellKey // with the last day as the time
	for i, k := range keys {
		if i+1 < len(keys) && keys[i+1].series == k.series {
			continue
		}
		if k.at = floorTo(k.at, 24*3600); !s.seriesDays.contains(k) {
			missing = append(missing, k)
		}
	}
	_, err := s.db.Insert(ctx, addSeries, len(missing), func(i int, values []any) []any {
		c := series[missing[i].series]
		return append(values, missing[i].series, c.WorkspaceID, c.KeyID, c.Route, c.Method, c.Status, c.Version, c.Surface, missing[i].at)
	})
	if err != nil {
		return fmt.Errorf("add series of usage: %w", err)
	}
	unit.AfterCommit(ctx, func() { s.seriesDays.add(missing) })
	return nil
}

// seriesDays are series that are stored, with the last days that are stored for them. The store can have later ones.
type seriesDays struct {
	mu   sync.Mutex
	days map[int64]int64
}

// maxSeriesDays is how many series are remembered.
const maxSeriesDays = 100_000

func (d *seriesDays) contains(k cellKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	day, known := d.days[k.series]
	return known && day >= k.at
}

func (d *seriesDays) add(keys []cellKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.days == nil || len(d.days) > maxSeriesDays {
		d.days = map[int64]int64{}
	}
	for _, k := range keys {
		d.days[k.series] = max(d.days[k.series], k.at)
	}
}

// scanCounts reads a row that ends with countColumns: the columns before them into dest, and the counts into c.
func scanCounts(row store.Row, c *usage.Cell, dest ...any) error {
	var durations sql.RawBytes
	if err := row.Scan(append(dest, &c.Requests, &c.Charged, &c.BytesIn, &c.BytesOut, &durations)...); err != nil {
		return err
	}
	c.Latency.Reset()
	return c.Latency.MergeJSON(durations)
}

// EachCell implements usage.Store. It reads the series first: one that is added meanwhile has only counts that are added later.
func (s *Counters) EachCell(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error {
	lists := [][]string{nil} // of keys, each for one statement; nil for all of them
	if len(q.KeyIDs) > 0 {
		lists = slices.Collect(slices.Chunk(q.KeyIDs, store.ListSize))
	}
	for _, keys := range lists {
		owned := &store.Conditions{}
		if q.WorkspaceID != "" {
			owned.Where("workspace_id = ?", q.WorkspaceID)
		}
		if len(keys) > 0 {
			owned.In("key_id", keys)
		}
		series, err := s.usageSeries(ctx, owned)
		if err == nil {
			err = s.eachCellOf(ctx, q, owned, series, fn)
		}
		if err != nil {
			return fmt.Errorf("read usage: %w", err)
		}
	}
	return nil
}

// usageSeries returns the series of some owners, as cells without counts.
func (s *Counters) usageSeries(ctx context.Context, owned *store.Conditions) (map[int64]*usage.Cell, error) {
	query := `SELECT id, workspace_id, key_id, route, method, status, version, surface FROM usage_series` + owned.Clause()
	series := map[int64]*usage.Cell{}
	err := s.db.EachRow(ctx, query, owned.Args, func(row store.Row) error {
		var id int64
		c := &usage.Cell{}
		err := row.Scan(&id, &c.WorkspaceID, &c.KeyID, &c.Route, &c.Method, &c.Status, &c.Version, &c.Surface)
		series[id] = c
		return err
	})
	return series, err
}

// eachCellOf calls fn for the cells of the series of some owners.
func (s *Counters) eachCellOf(ctx context.Context, q usage.CellQuery, owned *store.Conditions, series map[int64]*usage.Cell, fn func(c *usage.Cell) error) error {
	at := slices.IndexFunc(usageSteps[:], func(t usageStep) bool { return t.length == q.Step })
	if at < 0 {
		return fmt.Errorf("usage is not kept by %v", q.Step)
	}
	step, from, in, inFresh := usageSteps[at], ``, ``, ``
	if !owned.None() {
		from, in = `usage_series CROSS JOIN `, ` AND series = id AND `+owned.String()
		inFresh = ` AND series IN (SELECT id FROM usage_series WHERE ` + owned.String() + `)`
	}
	period := `at >= ` + owned.Arg(max(q.From.Unix(), 0)) + ` AND at < ` + owned.Arg(max(q.To.Unix(), 0))
	query := `SELECT series, at, ` + countColumns + ` FROM usage_fresh WHERE ` + period + inFresh + `
		UNION ALL SELECT series, at, ` + countColumns + ` FROM ` + from + step.table + ` WHERE ` + period + in
	var c usage.Cell
	return s.db.EachRow(ctx, query, owned.Args, func(row store.Row) error {
		var k cellKey
		if err := scanCounts(row, &c, &k.series, &k.at); err != nil {
			return err
		}
		of := series[k.series]
		if of == nil {
			return nil
		}
		c.Start, c.WorkspaceID, c.KeyID = time.Unix(floorTo(k.at, step.seconds()), 0).UTC(), of.WorkspaceID, of.KeyID
		c.Route, c.Method, c.Status, c.Version, c.Surface = of.Route, of.Method, of.Status, of.Version, of.Surface
		return fn(&c)
	})
}

// KeySeries implements usage.Store.
func (s *Counters) KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error) {
	q := usage.CellQuery{WorkspaceID: workspaceID, KeyIDs: []string{keyID}, From: from, To: to, Step: time.Minute}
	for _, longer := range []time.Duration{time.Hour, 24 * time.Hour} {
		if step%longer == 0 {
			q.Step = longer
		}
	}
	seconds := int64(step / time.Second)
	if seconds <= 0 {
		return nil, fmt.Errorf("read usage series: a step of %v is too short", step)
	}
	points := map[int64]*usage.Point{}
	err := s.EachCell(ctx, q, func(c *usage.Cell) error {
		at := floorTo(c.Start.Unix(), seconds)
		p := points[at]
		if p == nil {
			p = &usage.Point{At: time.Unix(at, 0).UTC()}
			points[at] = p
		}
		p.Requests += c.Requests
		p.Charged += c.Charged
		switch {
		case c.Status == 429:
			p.Throttled += c.Requests
		case c.Status >= 400:
			p.Errors += c.Requests
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read usage series: %w", err)
	}
	list := make([]usage.Point, 0, len(points))
	for _, p := range points {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b usage.Point) int { return a.At.Compare(b.At) })
	return list, nil
}

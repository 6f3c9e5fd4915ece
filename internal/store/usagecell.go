package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"keepsake/internal/usage"
)

// Usage is kept three times: minutes for two days, hours for months, and days for longest. A row contains the packed cells of a
// key. A roll-up closes an hour some time after its end and then packs it. Because no cell is added to the minutes of a closed
// hour, packing it reads the same rows however often it runs, and needs no lock. Cells that arrive later go to
// usage_packed_late, until a roll-up moves them to the rows of their minute, hour and day in one transaction.
//
// usage_minute, usage_hour and usage_late contain cells of earlier releases, each in a row of its own.

const (
	hourSeconds = 3600
	dayHours    = 24
	daySeconds  = dayHours * hourSeconds
)

// usageMarks is the row of usage_mark. Each is a Unix hour; they only rise.
type usageMarks struct {
	closed      int64 // cells of earlier hours go to usage_packed_late
	packedHours int64 // earlier hours are packed; at most closed
	packedDays  int64 // earlier days are packed; at most packedHours
	minutesFrom int64 // earlier minutes are deleted; at most packedHours
	hoursFrom   int64 // earlier packed hours are deleted; at most packedDays
}

const selectMarks = `SELECT closed, packed_hours, packed_days, minutes_from, hours_from FROM usage_mark WHERE id = 1`

func (s *Store) usageMarks(ctx context.Context) (usageMarks, error) {
	return scanMarks(s.usage.In(ctx).QueryRow(ctx, selectMarks))
}

// holdMarks reads the marks, which do not change until the transaction ends.
func (s *Store) holdMarks(ctx context.Context) (usageMarks, error) {
	return scanMarks(s.usage.HoldRow(ctx, selectMarks))
}

func scanMarks(row Row) (m usageMarks, err error) {
	err = row.Scan(&m.closed, &m.packedHours, &m.packedDays, &m.minutesFrom, &m.hoursFrom)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return m, fmt.Errorf("read how far usage is packed: %w", err)
	}
	return m, nil
}

// span is a range of times in Unix seconds, without its end.
type span struct{ from, to int64 }

func (s span) empty() bool { return s.from >= s.to }

// cellSpans are the ranges of each table that together have every request of a query once.
type cellSpans struct {
	days, hours, minutes []span
}

// plan returns what a query reads. It prefers longer steps, but reads shorter ones at both ends of the time range. If those are
// no longer kept, a longer step counts if its start is in the range.
func (m usageMarks) plan(from, to int64, step time.Duration) cellSpans {
	var p cellSpans
	seconds := int64(step / time.Second)
	if hoursFrom := m.hoursFrom * hourSeconds; from < hoursFrom {
		end := min(to, hoursFrom)
		p.addDays(ceilTo(from, daySeconds), ceilTo(end, daySeconds))
		from = end
	}
	rest := []span{{from, to}}
	if seconds >= daySeconds {
		a, b := ceilTo(from, daySeconds), floorTo(min(to, m.packedDays*hourSeconds), daySeconds)
		if a < b {
			p.addDays(a, b)
			rest = []span{{from, a}, {b, to}}
		}
	}
	for _, r := range rest {
		if minutesFrom := m.minutesFrom * hourSeconds; r.from < minutesFrom {
			end := min(r.to, minutesFrom)
			p.addHours(ceilTo(r.from, hourSeconds), ceilTo(end, hourSeconds))
			r.from = end
		}
		a, b := ceilTo(r.from, hourSeconds), floorTo(min(r.to, m.packedHours*hourSeconds), hourSeconds)
		if seconds < hourSeconds || a >= b {
			p.addMinutes(r.from, r.to)
			continue
		}
		p.addMinutes(r.from, a)
		p.addHours(a, b)
		p.addMinutes(b, r.to)
	}
	return p
}

func (p *cellSpans) addDays(from, to int64)    { p.days = appendSpan(p.days, span{from, to}) }
func (p *cellSpans) addHours(from, to int64)   { p.hours = appendSpan(p.hours, span{from, to}) }
func (p *cellSpans) addMinutes(from, to int64) { p.minutes = appendSpan(p.minutes, span{from, to}) }

// appendSpan appends s, or extends the last span by it.
func appendSpan(list []span, s span) []span {
	if n := len(list); n > 0 && list[n-1].to == s.from && !s.empty() {
		list[n-1].to = s.to
		return list
	}
	if s.empty() {
		return list
	}
	return append(list, s)
}

// ceilDiv is the first cell of a size that starts at n or later.
func ceilDiv(n, size int64) int64 { return (n + size - 1) / size }

func ceilTo(n, size int64) int64  { return ceilDiv(n, size) * size }
func floorTo(n, size int64) int64 { return n / size * size }

// EachCell implements usage.Store.
//
// It reads the marks first, and then everything by one statement. A roll-up that runs meanwhile only adds rows that this call
// does not read, and deletes no row that it reads: see PruneUsage.
func (s *Store) EachCell(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error {
	if q.Step <= 0 {
		return fmt.Errorf("read usage: a step of %v is too short", q.Step)
	}
	m, err := s.usageMarks(ctx)
	if err != nil {
		return err
	}
	from, to := max(q.From.Unix(), 0), max(q.To.Unix(), 0)
	if err := (&cellReader{s: s, q: q, fn: fn}).read(ctx, m, span{from, to}); err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	return nil
}

// cellReader reads the cells of a query.
type cellReader struct {
	s        *Store
	q        usage.CellQuery
	fn       func(c *usage.Cell) error
	cell     usage.Cell
	unpacker cellUnpacker
}

// cellSource is a span of a table of packed cells.
type cellSource struct {
	table, column string
	size          int64 // seconds of the column's unit
	in            span
}

func minutesIn(table string, in span) cellSource { return cellSource{table, "minute", 60, in} }
func hoursIn(table string, in span) cellSource   { return cellSource{table, "hour", hourSeconds, in} }

func (r *cellReader) read(ctx context.Context, m usageMarks, in span) error {
	p := m.plan(in.from, in.to, r.q.Step)
	var sources []cellSource
	for _, days := range p.days {
		sources = append(sources, hoursIn("usage_packed_day", days))
	}
	for _, hours := range p.hours {
		sources = append(sources, hoursIn("usage_packed_hour", hours))
	}
	for _, minutes := range p.minutes {
		sources = append(sources, minutesIn("usage_packed_minute", minutes))
	}
	if err := r.packed(ctx, append(sources, minutesIn("usage_packed_late", in))...); err != nil {
		return err
	}
	for _, minutes := range p.minutes {
		if err := r.oldRows(ctx, "usage_minute", minutes); err != nil {
			return err
		}
		if err := r.oldHours(ctx, span{max(minutes.from, m.packedHours*hourSeconds), minutes.to}); err != nil {
			return err
		}
	}
	return r.oldRows(ctx, "usage_late", in)
}

// keyLists returns the keys of the query in parts, each for one statement. A nil list is all keys.
func (r *cellReader) keyLists() [][]string {
	if len(r.q.KeyIDs) == 0 {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(r.q.KeyIDs, ListSize))
}

// owners returns the conditions that select the workspace and some keys.
func (r *cellReader) owners(keys []string) *conditions {
	w := &conditions{}
	if r.q.WorkspaceID != "" {
		w.where("workspace_id = ?", r.q.WorkspaceID)
	}
	switch {
	case len(keys) == 1:
		w.where("key_id = ?", keys[0])
	case len(keys) > 1:
		w.where("key_id IN (" + Parameters(len(w.args)+1, ListSize) + ")")
		w.args = Padded(w.args, keys)
	}
	return w
}

// inSpan returns the conditions of w and that a column is in a span, and adds their parameters to w.
func (w *conditions) inSpan(column string, size int64, in span) string {
	all := append(slices.Clip(w.all), column+" >= "+w.arg(ceilDiv(in.from, size)), column+" < "+w.arg(ceilDiv(in.to, size)))
	return strings.Join(all, " AND ")
}

// packed reads packed cells. One statement reads all sources, so that it finds late cells once while a roll-up moves them.
func (r *cellReader) packed(ctx context.Context, sources ...cellSource) error {
	for _, keys := range r.keyLists() {
		w := r.owners(keys)
		var text []string
		for _, s := range sources {
			if !s.in.empty() {
				text = append(text, fmt.Sprintf(`SELECT workspace_id, key_id, %s * %d, cells FROM %s WHERE %s`,
					s.column, s.size, s.table, w.inSpan(s.column, s.size, s.in)))
			}
		}
		if len(text) == 0 {
			continue
		}
		err := eachPacked(ctx, r.s.usage.In(ctx), strings.Join(text, " UNION ALL "), w.args, func(row *packedCells) error {
			r.cell.WorkspaceID, r.cell.KeyID, r.cell.Start = row.workspaceID, row.keyID, r.start(row.at)
			return r.unpacker.each(row.cells, &r.cell, r.fn)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oldRows reads a table of an earlier release.
func (r *cellReader) oldRows(ctx context.Context, table string, in span) error {
	return r.old(ctx, `workspace_id, key_id, minute, route, method, status, version, surface, requests, charged, bytes_in, bytes_out, latency`,
		minutesIn(table, in))
}

// oldHours reads the hours that a release before packed ones rolled up. The next roll-up packs them.
func (r *cellReader) oldHours(ctx context.Context, in span) error {
	return r.old(ctx, `workspace_id, key_id, hour, route, method, status, version, surface, requests, charged, bytes_in, bytes_out, NULL`,
		hoursIn("usage_hour", in))
}

func (r *cellReader) old(ctx context.Context, columns string, from cellSource) error {
	if from.in.empty() {
		return nil
	}
	for _, keys := range r.keyLists() {
		w := r.owners(keys)
		text := `SELECT ` + columns + ` FROM ` + from.table + ` WHERE ` + w.inSpan(from.column, from.size, from.in)
		err := r.s.eachUsageRow(ctx, text, w.args, func(row Row) error {
			c := &r.cell
			var at int64
			var latency []byte
			err := row.Scan(&c.WorkspaceID, &c.KeyID, &at, &c.Route, &c.Method, &c.Status, &c.Version, &c.Surface,
				&c.Requests, &c.Charged, &c.BytesIn, &c.BytesOut, &latency)
			if err != nil {
				return err
			}
			c.Start, c.Latency = r.start(at*from.size), latency
			return r.fn(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *cellReader) start(seconds int64) time.Time {
	return time.Unix(seconds, 0).UTC().Truncate(r.q.Step)
}

// packedBatch is rows that were read together. The cells of all are in one buffer.
type packedBatch struct {
	rows []packedCells
	body []byte
}

const (
	batchRows  = 32
	batchBytes = 32 << 10
)

// add copies a row.
func (b *packedBatch) add(r packedCells) {
	from := len(b.body)
	b.body = append(b.body, r.cells...)
	r.cells = b.body[from:]
	b.rows = append(b.rows, r)
}

func (b *packedBatch) full() bool { return len(b.rows) >= batchRows || len(b.body) >= batchBytes }

// eachPacked calls fn for the rows of a query, while it reads the next ones. A row is valid until fn returns.
func eachPacked(ctx context.Context, q Querier, text string, args []any, fn func(row *packedCells) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	filled, spare := make(chan *packedBatch), make(chan *packedBatch, 2)
	for range cap(spare) {
		spare <- &packedBatch{body: make([]byte, 0, batchBytes+batchBytes/4)}
	}
	var failed error
	go func() {
		defer close(filled)
		failed = fillBatches(ctx, q, text, args, filled, spare)
	}()
	var err error
	for b := range filled {
		for i := 0; i < len(b.rows) && err == nil; i++ {
			if err = fn(&b.rows[i]); err != nil {
				stop()
			}
		}
		b.rows, b.body = b.rows[:0], b.body[:0]
		spare <- b
	}
	return cmp.Or(err, failed)
}

// fillBatches reads the rows of a query into spare batches and sends these.
func fillBatches(ctx context.Context, q Querier, text string, args []any, filled chan<- *packedBatch, spare <-chan *packedBatch) error {
	rows, err := q.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	b := <-spare
	var r packedCells
	err = ForEach(rows, func(row Row) error {
		if err := row.Scan(&r.workspaceID, &r.keyID, &r.at, (*sql.RawBytes)(&r.cells)); err != nil {
			return err
		}
		if b.add(r); b.full() {
			filled <- b
			b = <-spare
		}
		return ctx.Err()
	})
	if err == nil {
		filled <- b
	}
	return err
}

// KeySeries implements usage.Store. A cell of an hour or day counts in the step that contains its start.
func (s *Store) KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error) {
	q := usage.CellQuery{WorkspaceID: workspaceID, KeyIDs: []string{keyID}, From: from, To: to, Step: time.Minute}
	for _, finest := range []time.Duration{time.Hour, 24 * time.Hour} {
		if step%finest == 0 {
			q.Step = finest
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

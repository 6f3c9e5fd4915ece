package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/usage"
)

// Usage is kept three times: cells of minutes are rows for two days, packed hours are kept for months, and packed days for
// longest. A roll-up closes an hour some time after its end and then packs it. Because no cell is added to the minutes of a
// closed hour, packing it reads the same rows however often it runs, and needs no lock. Cells that arrive later go to
// usage_late, which is read in addition to each of the three.

const (
	hourSeconds = 3600
	dayHours    = 24
	daySeconds  = dayHours * hourSeconds
)

// usageMarks is the row of usage_mark. Each is a Unix hour; they only rise.
type usageMarks struct {
	closed      int64 // cells of earlier hours go to usage_late
	packedHours int64 // earlier hours are packed; at most closed
	packedDays  int64 // earlier days are packed; at most packedHours
	minutesFrom int64 // earlier minutes are deleted; at most packedHours
	hoursFrom   int64 // earlier packed hours are deleted; at most packedDays
}

func (s *Store) usageMarks(ctx context.Context) (m usageMarks, err error) {
	err = s.usage.In(ctx).QueryRow(ctx, `SELECT closed, packed_hours, packed_days, minutes_from, hours_from FROM usage_mark WHERE id = 1`).
		Scan(&m.closed, &m.packedHours, &m.packedDays, &m.minutesFrom, &m.hoursFrom)
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
// It reads the marks first. A roll-up that runs meanwhile only adds rows that this call does not read, and deletes no row that
// it reads: see PruneUsage.
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
	latency  []byte
	unpacker cellUnpacker
}

func (r *cellReader) read(ctx context.Context, m usageMarks, in span) error {
	p := m.plan(in.from, in.to, r.q.Step)
	for _, days := range p.days {
		if err := r.packed(ctx, "usage_packed_day", days); err != nil {
			return err
		}
	}
	for _, hours := range p.hours {
		if err := r.packed(ctx, "usage_packed_hour", hours); err != nil {
			return err
		}
	}
	for _, minutes := range p.minutes {
		if err := r.rows(ctx, "usage_minute", minutes); err != nil {
			return err
		}
		if err := r.oldHours(ctx, span{max(minutes.from, m.packedHours*hourSeconds), minutes.to}); err != nil {
			return err
		}
	}
	return r.rows(ctx, "usage_late", in)
}

// where calls fn with the condition that selects a span of a table, in steps of size seconds. It calls it for each part of a
// long list of keys.
func (r *cellReader) where(column string, size int64, in span, fn func(where string, args []any) error) error {
	if in.empty() {
		return nil
	}
	lists := slices.Collect(slices.Chunk(r.q.KeyIDs, ListSize))
	if len(lists) == 0 {
		lists = [][]string{nil}
	}
	for _, keys := range lists {
		w := &conditions{}
		if r.q.WorkspaceID != "" {
			w.where("workspace_id = ?", r.q.WorkspaceID)
		}
		w.where(column+" >= ? AND "+column+" < ?", ceilDiv(in.from, size), ceilDiv(in.to, size))
		text := w.String()
		switch {
		case len(keys) == 1:
			text += " AND key_id = " + w.arg(keys[0])
		case len(keys) > 1:
			text += " AND key_id IN (" + Parameters(len(w.args)+1, ListSize) + ")"
			w.args = Padded(w.args, keys)
		}
		if err := fn(text, w.args); err != nil {
			return err
		}
	}
	return nil
}

func (r *cellReader) packed(ctx context.Context, table string, in span) error {
	return r.where("hour", hourSeconds, in, func(where string, args []any) error {
		var body []byte
		return r.s.eachUsageRow(ctx, `SELECT workspace_id, key_id, hour, cells FROM `+table+` WHERE `+where, args, func(row Row) error {
			var hour int64
			if err := row.Scan(&r.cell.WorkspaceID, &r.cell.KeyID, &hour, &body); err != nil {
				return err
			}
			r.cell.Start = r.start(hour * hourSeconds)
			return r.unpacker.each(body, &r.cell, r.fn)
		})
	})
}

func (r *cellReader) rows(ctx context.Context, table string, in span) error {
	return r.where("minute", 60, in, func(where string, args []any) error {
		return r.s.eachUsageRow(ctx, `SELECT `+cellColumns+` FROM `+table+` WHERE `+where, args, func(row Row) error {
			at, err := scanCell(row, &r.cell, &r.latency)
			if err != nil {
				return err
			}
			r.cell.Start = r.start(at * 60)
			return r.fn(&r.cell)
		})
	})
}

// oldHours reads the hours that a release before packed ones rolled up. The next roll-up packs them.
func (r *cellReader) oldHours(ctx context.Context, in span) error {
	return r.where("hour", hourSeconds, in, func(where string, args []any) error {
		return r.s.eachUsageRow(ctx, oldHours+where, args, func(row Row) error {
			hour, err := scanCell(row, &r.cell, nil)
			if err != nil {
				return err
			}
			r.cell.Start = r.start(hour * hourSeconds)
			return r.fn(&r.cell)
		})
	})
}

const oldHours = `SELECT workspace_id, key_id, hour, route, method, status, version, surface, requests, charged, bytes_in, bytes_out
	FROM usage_hour WHERE `

func (r *cellReader) start(seconds int64) time.Time {
	return time.Unix(seconds, 0).UTC().Truncate(r.q.Step)
}

// scanCell reads a row of cellColumns, or of oldHours without latency, and returns the number of its minute or hour.
func scanCell(row Row, c *usage.Cell, latency *[]byte) (at int64, err error) {
	into := [...]any{
		&c.WorkspaceID, &c.KeyID, &at, &c.Route, &c.Method, &c.Status, &c.Version, &c.Surface,
		&c.Requests, &c.Charged, &c.BytesIn, &c.BytesOut, latency,
	}
	if latency == nil {
		c.Latency.Reset()
		return at, row.Scan(into[:len(into)-1]...)
	}
	if err := row.Scan(into[:]...); err != nil {
		return 0, err
	}
	return at, c.Latency.UnmarshalBinary(*latency)
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

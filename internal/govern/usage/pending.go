package usage

import "time"

// pending contains counts that were not sent to the store yet. Only the flush uses it.
type pending struct {
	places map[cell]int // indexes into cells
	cells  []counts
	pairs  pairs
	// others is how many requests were counted under Other since the last report.
	others int64
}

type counts struct {
	cell cell // without a duration
	sum
	latency Histogram
}

func newPending() *pending { return &pending{places: map[cell]int{}, pairs: pairs{}} }

// add counts what was drained from a stripe.
func (p *pending) add(c cell, amount *sum) {
	took := c.took
	c.took = 0
	at, known := p.places[c]
	if !known {
		if c.route != otherRoute && !p.pairs.allow(c) {
			c.route = otherRoute
		}
		at = p.place(c)
	}
	if c.route == otherRoute {
		p.others += amount.requests
	}
	total := &p.cells[at]
	total.add(*amount)
	if took > 0 {
		total.latency.add(int(took)-1, amount.requests)
	}
}

// place returns the index of the counts of c. It adds them if there are none.
func (p *pending) place(c cell) int {
	at, known := p.places[c]
	if !known {
		at = len(p.cells)
		p.places[c] = at
		p.cells = append(p.cells, counts{cell: c})
	}
	return at
}

// reset removes all counts.
func (p *pending) reset() {
	if len(p.cells) > maxKept {
		p.places, p.cells = map[cell]int{}, nil
		return
	}
	clear(p.places)
	clear(p.cells)
	p.cells = p.cells[:0]
}

// tooMany is how many cells can be pending after a failed flush before minutes are merged into hours.
const tooMany = 100_000

// coarsen limits the pending cells while the store is unavailable: beyond tooMany cells, the minutes of an hour become
// one cell, as in a roll-up. Sums and quotas do not change.
func (p *pending) coarsen() {
	if len(p.cells) <= tooMany {
		return
	}
	all := p.cells
	p.places, p.cells = make(map[cell]int, len(all)/2), nil
	for _, s := range all {
		s.cell.minute -= s.cell.minute % 60
		total := &p.cells[p.place(s.cell)]
		total.add(s.sum)
		total.latency.Merge(&s.latency)
	}
}

// list converts the counts for the store.
func (p *pending) list(owners *owners, routes *routes) []Cell {
	list := make([]Cell, 0, len(p.cells))
	for i := range p.cells {
		s, c := &p.cells[i], &p.cells[i].cell
		route := routes.name(c.route)
		workspaceID, keyID := owners.name(c.owner)
		list = append(list, Cell{
			Start: time.Unix(int64(c.minute)*60, 0).UTC(), WorkspaceID: workspaceID, KeyID: keyID,
			Route: route.path, Method: route.method,
			Status: int(c.status), Version: int(c.version), Surface: c.surface.String(),
			Requests: s.requests, Charged: s.charged, BytesIn: s.bytesIn, BytesOut: s.bytesOut, Latency: s.latency,
		})
	}
	return list
}

// MaxPairs is how many combinations of key and route a recorder counts separately in each minute. The requests of all others
// are counted under Other.
const MaxPairs = 5_000

// pairs contains the combinations of key and route that are counted separately, by minute.
type pairs map[uint32]map[pair]struct{}

type pair struct {
	owner Owner
	route Route
}

// pairMinutes is how many minutes are remembered: requests that end late and clocks that differ concern two at a time.
const pairMinutes = 3

// allow reports whether c is counted separately.
func (p pairs) allow(c cell) bool {
	minute := p[c.minute]
	if minute == nil {
		minute = map[pair]struct{}{}
		p[c.minute] = minute
		if len(p) > pairMinutes {
			oldest := c.minute
			for m := range p {
				oldest = min(oldest, m)
			}
			delete(p, oldest)
		}
	}
	of := pair{c.owner, c.route}
	if _, known := minute[of]; known {
		return true
	}
	if len(minute) >= MaxPairs {
		return false
	}
	minute[of] = struct{}{}
	return true
}

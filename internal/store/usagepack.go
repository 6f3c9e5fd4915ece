package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"keepsake/internal/usage"
)

// The cells of a key in a minute, hour or day are packed into one value. It has one or more parts, one after another, so that
// a database can append to it. A part is a format number, the number of cells, and then for each its route, method, surface,
// status, version, counts, and the length and bytes of its durations. All numbers are varints. A text is the number of an earlier
// text in the part, from 1, or 0 and then the length and bytes of a new one.

const packedFormat = 1

// packCells encodes the cells of one key and time. It sorts them.
func packCells(cells []usage.Cell) []byte {
	slices.SortFunc(cells, func(a, b usage.Cell) int { return compareCells(&a, &b) })
	var p cellPacker
	p.begin(len(cells))
	for i := range cells {
		p.add(&cells[i])
	}
	return p.body
}

// compareCells compares the dimensions of cells.
func compareCells(a, b *usage.Cell) int {
	if n := cmp.Compare(a.WorkspaceID, b.WorkspaceID); n != 0 {
		return n
	}
	if n := cmp.Compare(a.KeyID, b.KeyID); n != 0 {
		return n
	}
	if n := a.Start.Compare(b.Start); n != 0 {
		return n
	}
	if n := cmp.Compare(a.Route, b.Route); n != 0 {
		return n
	}
	return cmp.Or(
		cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Surface, b.Surface),
	)
}

type cellPacker struct {
	body  []byte
	texts []string // of the part
}

// begin begins a part of n cells.
func (p *cellPacker) begin(n int) {
	p.texts = p.texts[:0]
	p.number(packedFormat)
	p.number(int64(n))
}

func (p *cellPacker) add(c *usage.Cell) {
	p.text(c.Route)
	p.text(c.Method)
	p.text(c.Surface)
	for _, n := range [...]int64{int64(c.Status), int64(c.Version), c.Requests, c.Charged, c.BytesIn, c.BytesOut} {
		p.number(n)
	}
	p.number(int64(len(c.Latency)))
	p.body = append(p.body, c.Latency...)
}

func (p *cellPacker) number(n int64) { p.body = binary.AppendUvarint(p.body, uint64(n)) }

func (p *cellPacker) text(s string) {
	if at := slices.Index(p.texts, s); at >= 0 {
		p.number(int64(at + 1))
		return
	}
	p.texts = append(p.texts, s)
	p.number(0)
	p.number(int64(len(s)))
	p.body = append(p.body, s...)
}

var errPacked = errors.New("damaged cells of usage")

// cellUnpacker decodes packed cells.
type cellUnpacker struct {
	body  []byte
	at    int               // where the next number begins
	known map[string]string // every text so far, so that each is one string
	texts []string          // of the current part
	bad   bool
}

// each calls fn for every cell of a value. It sets everything of c but the workspace, key and start.
func (u *cellUnpacker) each(body []byte, c *usage.Cell, fn func(c *usage.Cell) error) error {
	u.body, u.at, u.bad = body, 0, false
	for {
		if err := u.part(c, fn); err != nil || u.at == len(u.body) {
			return err
		}
	}
}

func (u *cellUnpacker) part(c *usage.Cell, fn func(c *usage.Cell) error) error {
	u.texts = u.texts[:0]
	if format := u.number(); !u.bad && format != packedFormat {
		return fmt.Errorf("cells of usage have the format %d: a newer release packed them, or they are damaged", format)
	}
	for n := u.number(); n > 0 && !u.bad; n-- {
		c.Route, c.Method, c.Surface = u.text(), u.text(), u.text()
		c.Status, c.Version = int(u.number()), int(u.number())
		c.Requests, c.Charged, c.BytesIn, c.BytesOut = u.number(), u.number(), u.number(), u.number()
		c.Latency = u.bytes()
		if u.bad {
			break
		}
		if err := fn(c); err != nil {
			return err
		}
	}
	if u.bad {
		return errPacked
	}
	return nil
}

func (u *cellUnpacker) number() int64 {
	if u.at < len(u.body) && u.body[u.at] < 0x80 {
		u.at++
		return int64(u.body[u.at-1])
	}
	n, size := binary.Uvarint(u.body[u.at:])
	u.bad = u.bad || size <= 0
	u.at += max(size, 0)
	return int64(n)
}

func (u *cellUnpacker) bytes() []byte {
	n, from := u.number(), u.at
	if n < 0 || n > int64(len(u.body)-from) {
		u.bad = true
		return nil
	}
	u.at += int(n)
	return u.body[from:u.at:u.at]
}

func (u *cellUnpacker) text() string {
	at := u.number()
	if at > 0 && at <= int64(len(u.texts)) {
		return u.texts[at-1]
	}
	u.bad = u.bad || at != 0
	b := u.bytes()
	s, ok := u.known[string(b)]
	if !ok {
		s = string(b)
		if u.known == nil {
			u.known = map[string]string{}
		}
		u.known[s] = s
	}
	u.texts = append(u.texts, s)
	return s
}

// cellGroup merges the cells of one key and time.
type cellGroup struct {
	cells     []usage.Cell // without durations
	latencies []usage.Histogram
	places    map[cellDimensions]int
}

type cellDimensions struct {
	route, method, surface string
	status, version        int
}

func newCellGroup() *cellGroup { return &cellGroup{places: map[cellDimensions]int{}} }

func (g *cellGroup) add(c *usage.Cell) error {
	d := cellDimensions{c.Route, c.Method, c.Surface, c.Status, c.Version}
	at, known := g.places[d]
	if !known {
		at = len(g.cells)
		g.places[d] = at
		g.cells = append(g.cells, usage.Cell{Route: c.Route, Method: c.Method, Surface: c.Surface, Status: c.Status, Version: c.Version})
		g.latencies = append(g.latencies, usage.Histogram{})
	}
	counts := *c
	counts.Latency = nil
	g.cells[at].Add(&counts)
	return g.latencies[at].MergeEncoded(c.Latency)
}

// pack encodes the cells of the group in one part, in which each has one histogram.
func (g *cellGroup) pack() []byte {
	cells := slices.Clone(g.cells)
	for i := range cells {
		cells[i].Latency = g.latencies[i].Encode(nil)
	}
	return packCells(cells)
}

package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"keepsake/internal/usage"
)

// The cells of a key in an hour or day are packed into one value: a format number, the number of cells, and then for each its
// route, method, surface, status, version, counts, and the length and bytes of its encoded histogram. All numbers are varints.
// A text is the number of an earlier text in the value, from 1, or 0 and then the length and bytes of a new one.

const packedFormat = 1

// packCells encodes the cells of one key and time. It sorts them.
func packCells(cells []usage.Cell) []byte {
	slices.SortFunc(cells, func(a, b usage.Cell) int { return compareCells(&a, &b) })
	p := &cellPacker{body: binary.AppendUvarint(nil, packedFormat)}
	p.number(int64(len(cells)))
	for i := range cells {
		c := &cells[i]
		p.text(c.Route)
		p.text(c.Method)
		p.text(c.Surface)
		for _, n := range [...]int64{int64(c.Status), int64(c.Version), c.Requests, c.Charged, c.BytesIn, c.BytesOut} {
			p.number(n)
		}
		p.latency, _ = c.Latency.AppendBinary(p.latency[:0]) // never fails
		p.number(int64(len(p.latency)))
		p.body = append(p.body, p.latency...)
	}
	return p.body
}

// compareCells compares the dimensions of cells in the order of the primary key.
func compareCells(a, b *usage.Cell) int {
	return cmp.Or(
		cmp.Compare(a.WorkspaceID, b.WorkspaceID), cmp.Compare(a.KeyID, b.KeyID), a.Start.Compare(b.Start),
		cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Surface, b.Surface),
	)
}

type cellPacker struct {
	body    []byte
	texts   []string
	latency []byte // reused
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
	known map[string]string // every text so far, so that each is one string
	texts []string          // of the current value
	bad   bool
}

// each calls fn for every cell of a value. It sets everything of c but the workspace, key and start.
func (u *cellUnpacker) each(body []byte, c *usage.Cell, fn func(c *usage.Cell) error) error {
	u.body, u.texts, u.bad = body, u.texts[:0], false
	if format := u.number(); !u.bad && format != packedFormat {
		return fmt.Errorf("cells of usage have the format %d: a newer release packed them", format)
	}
	for n := u.number(); n > 0 && !u.bad; n-- {
		c.Route, c.Method, c.Surface = u.text(), u.text(), u.text()
		c.Status, c.Version = int(u.number()), int(u.number())
		c.Requests, c.Charged, c.BytesIn, c.BytesOut = u.number(), u.number(), u.number(), u.number()
		latency := u.bytes()
		if u.bad {
			break
		}
		if err := c.Latency.UnmarshalBinary(latency); err != nil {
			return err
		}
		if err := fn(c); err != nil {
			return err
		}
	}
	if u.bad || len(u.body) > 0 {
		return errPacked
	}
	return nil
}

func (u *cellUnpacker) number() int64 {
	if len(u.body) > 0 && u.body[0] < 0x80 {
		n := int64(u.body[0])
		u.body = u.body[1:]
		return n
	}
	n, size := binary.Uvarint(u.body)
	u.bad = u.bad || size <= 0
	u.body = u.body[max(size, 0):]
	return int64(n)
}

func (u *cellUnpacker) bytes() []byte {
	n := u.number()
	if n < 0 || n > int64(len(u.body)) {
		u.bad = true
		return nil
	}
	b := u.body[:n]
	u.body = u.body[n:]
	return b
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

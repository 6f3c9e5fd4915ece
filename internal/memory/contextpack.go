package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/text"
)

// pack selects memories for a context and writes them. The order of its steps decides what a small budget keeps: pinned memories
// have half of it before the best answer has its place, a cut memory grows before others are added, and a memory that is too long
// does not keep shorter ones after it from being selected.
func pack(task *fairshare.Task, ranked *Recalled, q *ContextQuery) (*Packed, error) {
	p := newPacker(task, q)
	var pinned, found, recent []*Memory
	for _, r := range ranked.Results {
		switch m := r.Memory; {
		case m.Pinned:
			pinned = append(pinned, m)
		case r.Found:
			found = append(found, m)
		default:
			recent = append(recent, m)
		}
	}
	later := pinned
	if len(found) > 0 {
		later = p.place(&p.pinned, pinned, bounds{size: p.size / 2, memories: max(1, q.Limit-1), cut: true})
		for len(found) > 0 && p.said(found[0]) {
			found = found[1:]
		}
		if len(found) > 0 {
			best := p.place(&p.recalled, found[:1], bounds{size: p.size, memories: q.Limit, cut: true})
			found = append(best, found[1:]...)
		}
	}
	later = p.place(&p.pinned, later, bounds{size: p.size, memories: q.Limit, cut: true})
	p.grow()
	found = p.place(&p.recalled, found, bounds{size: p.size, memories: q.Limit})
	recent = p.place(&p.recent, recent, bounds{size: p.size, memories: q.Limit})
	if p.count == 0 {
		p.placeAny(&later, &found, &recent)
	}
	if p.err != nil {
		return nil, p.err
	}
	packed := p.write()
	packed.Omitted.Pinned = len(later) + max(0, ranked.Pinned-len(pinned))
	if p.count < q.Limit {
		packed.Omitted.Recalled, packed.Omitted.Recent = len(found), len(recent)
	}
	return packed, nil
}

// packer selects memories while there is room, and writes them.
type packer struct {
	task    *fairshare.Task
	measure func(string) int
	size    int // of the text at most, as measured
	zone    *time.Location

	pinned, recalled, recent part
	cut                      []*piece
	texts                    map[string]bool // of the selected memories
	used, count              int             // size and number of the selected memories
	err                      error           // the search was cancelled
}

// part is a part of a context.
type part struct {
	pieces []*piece
	days   map[string]bool // with a heading
}

// piece is the text of a selected memory.
type piece struct {
	memory *Memory
	line   string
	cut    bool
}

// bounds say what a memory must fit into together with the selected ones.
type bounds struct {
	size     int
	memories int
	cut      bool // a memory that does not fit is cut
}

func newPacker(task *fairshare.Task, q *ContextQuery) *packer {
	p := &packer{task: task, measure: Tokens, size: q.MaxTokens, zone: q.zone, texts: map[string]bool{}}
	if q.MaxCharacters > 0 {
		p.measure, p.size = utf8.RuneCountInString, q.MaxCharacters
	}
	for _, each := range []*part{&p.pinned, &p.recalled, &p.recent} {
		each.days = map[string]bool{}
	}
	return p
}

// place selects those of the memories that fit, best first, and returns those that have no room. A memory that says what a selected
// one says is left out.
func (p *packer) place(to *part, memories []*Memory, b bounds) (left []*Memory) {
	for _, m := range memories {
		if p.err = cmp.Or(p.err, p.task.Step(4*len(m.Text))); p.err != nil {
			return nil
		}
		if p.said(m) {
			continue
		}
		whole := &piece{memory: m, line: line(m, said(m))}
		switch {
		case p.count >= b.memories:
			left = append(left, m)
		case p.fits(to, whole, b.size):
			p.add(to, whole)
		case !b.cut:
			left = append(left, m)
		default:
			short := p.shorten(m, func(prefix string) bool { return utf8.RuneCountInString(prefix) <= firstCut })
			if short == nil || !p.fits(to, short, b.size) {
				left = append(left, m)
				continue
			}
			p.add(to, short)
			p.cut = append(p.cut, short)
		}
	}
	return left
}

// firstCut is how many characters a cut memory has at least. What other memories leave, it gets in grow.
const firstCut = 32

// grow gives what is left of the budget to the cut memories. Those that then fit become whole, best first; the others share.
func (p *packer) grow() {
	for i, cut := range p.cut {
		p.err = cmp.Or(p.err, p.task.Step(16*len(cut.memory.Text)))
		if p.err != nil {
			return
		}
		p.used -= p.measure(cut.line)
		if whole := line(cut.memory, said(cut.memory)); p.used+p.measure(whole) <= p.size {
			cut.line, cut.cut = whole, false
		} else {
			shorter := p.measure(cut.line)
			share := shorter + (p.size-p.used-shorter)/(len(p.cut)-i)
			if longer := p.shorten(cut.memory, func(prefix string) bool { return p.measure(cutLine(cut.memory, prefix)) <= share }); longer != nil && len(longer.line) > len(cut.line) {
				cut.line = longer.line
			}
		}
		p.used += p.measure(cut.line)
	}
}

// placeAny cuts the first memory that the budget has room for at all.
func (p *packer) placeAny(pinned, found, recent *[]*Memory) {
	for _, each := range []struct {
		to   *part
		left *[]*Memory
	}{{&p.pinned, pinned}, {&p.recalled, found}, {&p.recent, recent}} {
		for i, m := range *each.left {
			if p.err = cmp.Or(p.err, p.task.Step(16*len(m.Text))); p.err != nil {
				return
			}
			room := p.size - p.measure(p.heading(m))
			cut := p.shorten(m, func(prefix string) bool { return p.measure(cutLine(m, prefix)) <= room })
			if cut == nil {
				cut = &piece{memory: m, line: cutLine(m, ""), cut: true}
			}
			if p.fits(each.to, cut, p.size) {
				p.add(each.to, cut)
				*each.left = slices.Delete(slices.Clone(*each.left), i, i+1)
				return
			}
		}
	}
}

// shorten cuts a memory; nil if not even its first character fits.
func (p *packer) shorten(m *Memory, fits func(prefix string) bool) *piece {
	prefix := text.Prefix(said(m), fits)
	if prefix == "" {
		return nil
	}
	return &piece{memory: m, line: cutLine(m, prefix), cut: true}
}

// said reports whether a selected memory says the same.
func (p *packer) said(m *Memory) bool { return p.texts[saying(m)] }

func (p *packer) fits(to *part, it *piece, size int) bool { return p.used+p.sizeIn(to, it) <= size }

// sizeIn measures a piece, with the heading that its day still needs.
func (p *packer) sizeIn(to *part, it *piece) int {
	size := p.measure(it.line)
	if h := p.heading(it.memory); !to.days[h] {
		size += p.measure(h)
	}
	return size
}

func (p *packer) add(to *part, it *piece) {
	p.used += p.sizeIn(to, it)
	p.count++
	to.days[p.heading(it.memory)], p.texts[saying(it.memory)] = true, true
	to.pieces = append(to.pieces, it)
}

// write writes the parts, each in the order of time.
func (p *packer) write() *Packed {
	var packed Packed
	var written strings.Builder
	day := ""
	for _, each := range []struct {
		*part
		ids *[]string
	}{{&p.pinned, &packed.Parts.Pinned}, {&p.recalled, &packed.Parts.Recalled}, {&p.recent, &packed.Parts.Recent}} {
		slices.SortStableFunc(each.pieces, func(a, b *piece) int {
			return cmp.Or(a.memory.At().Compare(b.memory.At()), a.memory.CreatedAt.Compare(b.memory.CreatedAt), cmp.Compare(a.memory.ID, b.memory.ID))
		})
		for _, it := range each.pieces {
			if h := p.heading(it.memory); h != day {
				written.WriteString(h)
				day = h
			}
			written.WriteString(it.line)
			*each.ids = append(*each.ids, it.memory.ID)
			if it.cut {
				packed.Cut = append(packed.Cut, it.memory.ID)
			}
		}
		packed.MemoryIDs = append(packed.MemoryIDs, *each.ids...)
	}
	packed.Text = written.String()
	packed.Tokens = Tokens(packed.Text)
	return &packed
}

// heading is the line before the memories of a day.
func (p *packer) heading(m *Memory) string {
	return m.At().In(p.zone).Format("2006-01-02 (Monday)") + "\n"
}

// saying is equal for memories that say the same.
func saying(m *Memory) string {
	return m.Speaker + "\x00" + strings.Join(strings.Fields(text.Fold(m.Text)), " ")
}

func said(m *Memory) string { return strings.TrimSpace(m.Text) }

// line formats a memory. Lines after a line break are indented, so that a text cannot look like another memory or a day.
func line(m *Memory, said string) string {
	said = strings.ReplaceAll(lineBreaks.Replace(said), "\n", "\n  ")
	if m.Speaker == "" {
		return "- " + said + "\n"
	}
	return "- " + strings.Join(strings.Fields(m.Speaker), " ") + ": " + said + "\n"
}

// cutLine formats the beginning of a memory, and says where the rest is.
func cutLine(m *Memory, prefix string) string {
	return line(m, strings.TrimLeft(prefix+" … [cut: "+m.ID+"]", " "))
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n")

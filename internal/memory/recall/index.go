package recall

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
	"unsafe"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
)

// Index contains the words of one subject's memories, not their texts. It is safe for concurrent use.
//
// Each memory has a slot, a number that is not used again until the index is compacted. Removing a memory only marks its slot
// as dead. Searches skip postings of dead slots, and a fifth of dead slots compacts the index.
//
// What every search reads of every memory is in slices of its own, so that it is close together: docs, alive and directions.
type Index struct {
	analyzer *text.Analyzer

	mu      sync.RWMutex
	slots   map[string]int32 // by id
	docs    []doc            // by slot
	alive   []bool           // by slot
	records []record         // by slot
	dead    int
	all     census // of the live memories

	windows []window // of the memories that are not valid always; the first one is of all others
	limited int      // live memories with a window

	table      *vectors.Table   // of vectors of words; nil: words alone are compared
	directions []vectors.Packed // by slot; nil without a table

	terms map[string]int32 // into words
	words []word

	meanings []vectors.Word // by word; nil without a table

	replaced map[int32]*replaced // by slot: of memories whose earlier revisions said something else

	agents, sessions, kinds, tags, speakers names

	orders   []order // by session
	unsorted []int32 // sessions that are not sorted
	scratch  sync.Pool

	compactions int // how often the words were numbered again

	adding sync.Mutex // of adder
	adder  *Adder     // of Put

	lists int64 // bytes of the lists below words, orders and records
	texts int64 // bytes of terms, ids and names
}

// window is when a memory is valid and when it expires, in microseconds.
type window struct {
	validFrom, validTo, expires int64
}

const (
	always = math.MinInt64
	never  = math.MaxInt64
)

// doc is what a search reads of a memory, in addition to its words. The zero doc is dead.
type doc struct {
	length   int32
	session  int32 // numbers of names; 0 is none
	speaker  int32
	window   int32 // into Index.windows
	traits   traits
	marks    marks
	language text.Language
	kind     uint8
	pinned   bool
	said     uint64 // hash of the words of an assistant's turn; 0 for all others
}

// record is the rest of a memory.
type record struct {
	id         string // empty: the slot is dead
	tags       []int32
	at         int64 // occurredAt or, without it, createdAt
	created    int64
	importance float32
	agent      int32
}

// marks say which kinds of answers a text contains.
type marks uint8

const (
	hasTime marks = 1 << iota
	hasNumber
	asks
	byAssistant // the speaker is a program that answers
)

// word is a term with the memories that contain it.
type word struct {
	term     string
	postings []posting
}

// posting is a slot and how often it contains the word, up to maxTimes. No subject has 2²⁶ memories.
type posting uint32

const (
	timesBits = 6
	maxTimes  = 1<<timesBits - 1
)

func (p posting) slot() int32 { return int32(p >> timesBits) }
func (p posting) times() int  { return int(p & maxTimes) }

// order contains a session's memories, sorted by time, creation and ID.
type order struct {
	slots    []int32
	unsorted bool
}

// names numbers strings from 1; the empty one is 0.
type names struct {
	numbers map[string]int32
	list    []string
}

func (n *names) number(s string) int32 {
	if s == "" {
		return 0
	}
	if i, ok := n.numbers[s]; ok {
		return i
	}
	if n.numbers == nil {
		n.numbers = map[string]int32{}
	}
	n.list = append(n.list, s)
	i := int32(len(n.list))
	n.numbers[s] = i
	return i
}

// known returns the number of s; ok is false if no memory has it.
func (n *names) known(s string) (int32, bool) {
	i, ok := n.numbers[s]
	return i, ok
}

func (n *names) of(i int32) string {
	if i == 0 {
		return ""
	}
	return n.list[i-1]
}

// New returns an empty Index with room for a number of memories. Without a table of vectors, it compares words alone.
func New(a *text.Analyzer, table *vectors.Table, room int) *Index {
	x := &Index{
		analyzer: a, table: table, slots: make(map[string]int32, room), terms: map[string]int32{}, orders: make([]order, 1),
		replaced: map[int32]*replaced{}, docs: make([]doc, 0, room), alive: make([]bool, 0, room), records: make([]record, 0, room), windows: []window{unlimited},
	}
	if table != nil {
		x.directions = make([]vectors.Packed, 0, room)
	}
	x.adder = x.Adder()
	return x
}

// compares reports whether words of a language have vectors.
func (x *Index) compares(l text.Language) bool {
	return x.table != nil && (l == text.English || !x.table.EnglishOnly())
}

// unlimited is the window of memories that are always valid.
var unlimited = window{validFrom: always, validTo: never, expires: never}

// Put adds a memory, or replaces the one with the same ID.
func (x *Index) Put(it Item) {
	x.adding.Lock()
	defer x.adding.Unlock()
	x.adder.Put(it)
	x.adder.forget()
}

// add adds a memory that the adder has analyzed. old is what its earlier revisions said, or nil.
func (x *Index) add(by *Adder, it *Item, m *analyzed, old *replaced) {
	x.remove(it.ID)
	x.sweep()
	slot := int32(len(x.docs))
	id := string([]byte(it.ID)) // all strings are copied, so that none keeps the text in memory
	x.slots[id] = slot
	x.texts += stringBytes(id)
	r := record{id: id, at: micro(it.CreatedAt), created: micro(it.CreatedAt), importance: -1, agent: x.intern(&x.agents, it.AgentID)}
	if it.OccurredAt != nil {
		r.at = micro(*it.OccurredAt)
	}
	if it.Importance != nil {
		r.importance = float32(*it.Importance)
	}
	if len(it.Tags) > 0 {
		r.tags = make([]int32, len(it.Tags))
		for i, tag := range it.Tags {
			r.tags[i] = x.intern(&x.tags, tag)
		}
		x.lists += int64(4 * cap(r.tags))
	}
	d := doc{
		length: m.length, marks: m.marks, language: m.language, traits: m.traits, pinned: it.Pinned,
		session: x.intern(&x.sessions, it.SessionID), speaker: x.intern(&x.speakers, it.Speaker),
		kind: uint8(x.intern(&x.kinds, it.Kind)), // there are seven kinds
	}
	if isAssistant(it.Speaker) {
		d.marks |= byAssistant
		d.said = m.said
	}
	w := window{validFrom: microOr(it.ValidFrom, always), validTo: microOr(it.ValidTo, never), expires: microOr(it.ExpiresAt, never)}
	if w != unlimited {
		d.window = int32(len(x.windows))
		x.windows = append(x.windows, w)
	}
	by.countTerms(slot)
	if x.table != nil {
		x.directions = append(x.directions, m.direction)
	}
	x.records = append(x.records, r)
	x.replace(slot, old)
	x.enter(d)
}

// replace keeps what earlier revisions of a memory said.
func (x *Index) replace(slot int32, old *replaced) {
	if old != nil {
		x.replaced[slot] = old
		x.texts += old.bytes()
	}
}

// enter adds a memory to docs, whose record exists, and counts it.
func (x *Index) enter(d doc) {
	slot := int32(len(x.docs))
	x.docs, x.alive = append(x.docs, d), append(x.alive, true)
	x.enlist(slot, d.session)
	x.all.grow(len(x.orders), len(x.speakers.list)+1)
	x.all.add(&d, 1)
	if d.window > 0 {
		x.limited++
	}
}

// intern returns the number of s, of which it keeps a copy.
func (x *Index) intern(n *names, s string) int32 {
	if i, ok := n.known(s); ok || s == "" {
		return i
	}
	x.texts += stringBytes(s) + mapEntry + 16
	return n.number(string([]byte(s)))
}

// enlist adds a slot to its session.
func (x *Index) enlist(slot, session int32) {
	if session == 0 {
		return
	}
	for int(session) >= len(x.orders) {
		x.orders = append(x.orders, order{})
	}
	o := &x.orders[session]
	before := cap(o.slots)
	o.slots = append(o.slots, slot)
	x.lists += int64(4 * (cap(o.slots) - before))
	if n := len(o.slots); n > 1 && !o.unsorted && x.compareTurns(o.slots[n-2], slot) > 0 {
		o.unsorted = true
		x.unsorted = append(x.unsorted, session)
	}
}

// compareTurns orders two memories of a session.
func (x *Index) compareTurns(a, b int32) int {
	return cmp.Or(
		cmp.Compare(x.records[a].at, x.records[b].at),
		cmp.Compare(x.records[a].created, x.records[b].created),
		cmp.Compare(x.records[a].id, x.records[b].id),
	)
}

// settle sorts the sessions that were not added to in order.
func (x *Index) settle() {
	for _, session := range x.unsorted {
		o := &x.orders[session]
		slices.SortFunc(o.slots, x.compareTurns)
		o.unsorted = false
	}
	x.unsorted = nil
}

// Remove removes a memory, if it exists.
func (x *Index) Remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(id)
	x.sweep()
}

// Compact removes the words of removed memories, which otherwise stay until there are many.
func (x *Index) Compact() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dead > 0 {
		x.compact()
	}
}

// sweep compacts the index if a fifth of the slots are dead.
func (x *Index) sweep() {
	if x.dead > 64 && x.dead > len(x.docs)/5 {
		x.compact()
	}
}

func (x *Index) remove(id string) {
	slot, ok := x.slots[id]
	if !ok {
		return
	}
	delete(x.slots, id)
	d, r := &x.docs[slot], &x.records[slot]
	x.texts -= stringBytes(r.id)
	x.lists -= int64(4 * cap(r.tags))
	if d.session != 0 {
		o := &x.orders[d.session]
		if i := slices.Index(o.slots, slot); i >= 0 {
			o.slots = slices.Delete(o.slots, i, i+1)
		}
	}
	x.all.add(d, -1)
	if d.window > 0 {
		x.limited--
	}
	if old := x.replaced[slot]; old != nil {
		x.texts -= old.bytes()
		delete(x.replaced, slot)
	}
	*d, *r, x.alive[slot] = doc{}, record{}, false
	x.dead++
}

// compact rebuilds the index without the removed memories.
func (x *Index) compact() {
	moved := make([]int32, len(x.docs))
	y := New(x.analyzer, x.table, len(x.slots))
	for slot := range x.docs {
		d, r := x.docs[slot], x.records[slot]
		moved[slot] = -1
		if !x.alive[slot] {
			continue
		}
		to := int32(len(y.docs))
		moved[slot] = to
		y.slots[r.id] = to
		y.texts += stringBytes(r.id)
		r.agent = y.intern(&y.agents, x.agents.of(r.agent))
		d.session = y.intern(&y.sessions, x.sessions.of(d.session))
		d.speaker = y.intern(&y.speakers, x.speakers.of(d.speaker))
		d.kind = uint8(y.intern(&y.kinds, x.kinds.of(int32(d.kind))))
		for i, tag := range r.tags {
			r.tags[i] = y.intern(&y.tags, x.tags.of(tag))
		}
		y.lists += int64(4 * cap(r.tags))
		if d.window > 0 {
			y.windows = append(y.windows, x.windows[d.window])
			d.window = int32(len(y.windows) - 1)
		}
		if x.table != nil {
			y.directions = append(y.directions, x.directions[slot])
		}
		y.records = append(y.records, r)
		y.replace(to, x.replaced[int32(slot)])
		y.enter(d)
	}
	for i := range x.words {
		w := &x.words[i]
		n := 0
		for _, p := range w.postings {
			if moved[p.slot()] >= 0 {
				n++
			}
		}
		if n == 0 {
			continue
		}
		list := make([]posting, 0, n)
		for _, p := range w.postings {
			if to := moved[p.slot()]; to >= 0 {
				list = append(list, posting(to)<<timesBits|p&maxTimes)
			}
		}
		y.terms[w.term] = int32(len(y.words))
		y.addWord(word{term: w.term, postings: list})
		y.texts += stringBytes(w.term)
		y.lists += int64(4 * n)
	}
	x.slots, x.docs, x.alive, x.records, x.dead = y.slots, y.docs, y.alive, y.records, 0
	x.all, x.windows, x.limited, x.directions = y.all, y.windows, y.limited, y.directions
	x.terms, x.words, x.meanings, x.replaced = y.terms, y.words, y.meanings, y.replaced
	x.orders, x.unsorted = y.orders, y.unsorted
	x.agents, x.sessions, x.kinds, x.tags, x.speakers = y.agents, y.sessions, y.kinds, y.tags, y.speakers
	x.lists, x.texts = y.lists, y.texts
	x.compactions++
}

// idOf returns the ID of the memory in a slot.
func (x *Index) idOf(slot int32) string { return x.records[slot].id }

// Len returns the number of memories.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots)
}

// mapEntry is the size of an entry of a map from string to int32, including unused room.
const mapEntry = 40

// Bytes returns the memory that the index uses, except that of running searches.
func (x *Index) Bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return int64(unsafe.Sizeof(*x)) + x.lists + x.texts +
		int64(len(x.slots)+len(x.terms)+len(x.replaced))*mapEntry +
		int64(cap(x.docs))*int64(unsafe.Sizeof(doc{})) + int64(cap(x.records))*int64(unsafe.Sizeof(record{})) +
		int64(cap(x.alive)) + 4*int64(cap(x.all.turns)+cap(x.all.speaks)) +
		int64(cap(x.windows))*int64(unsafe.Sizeof(window{})) +
		int64(cap(x.directions))*int64(unsafe.Sizeof(vectors.Packed{})) +
		int64(cap(x.words))*int64(unsafe.Sizeof(word{})) + int64(cap(x.meanings))*int64(unsafe.Sizeof(vectors.Word{})) +
		int64(cap(x.orders))*int64(unsafe.Sizeof(order{}))
}

// stringBytes returns the size of the allocation of a string.
func stringBytes(s string) int64 { return int64(len(s)+7) &^ 7 }

// micro converts a time into microseconds. Every valid timestamp fits.
func micro(t time.Time) int64 { return t.UnixMicro() }

func microOr(t *time.Time, otherwise int64) int64 {
	if t == nil {
		return otherwise
	}
	return micro(*t)
}

package recall

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
	"unsafe"

	"keepsake/internal/memory/recall/vectors"
	"keepsake/internal/text"
)

// Index contains the words of one subject's memories, not their texts. It is safe for concurrent use.
//
// Each memory has a slot, a number that is not used again until the index is compacted. Removing a memory only marks its slot
// as dead. Searches skip postings of dead slots, and a fifth of dead slots compacts the index.
type Index struct {
	analyzer *text.Analyzer

	mu    sync.RWMutex
	slots map[string]int32 // by id
	lives []life           // by slot
	docs  []doc            // by slot
	dead  int

	traits     []traits         // by slot
	directions []vectors.Vector // by slot; nil without vectors
	vectors    bool

	tokens []text.Token // of the text that is being added

	terms map[string]int32 // into words
	words []word

	agents, sessions, kinds, tags, speakers names

	orders   []order // by session
	unsorted []int32 // sessions that are not sorted
	scratch  sync.Pool

	lists int64 // bytes of the lists below words, orders and docs
	texts int64 // bytes of terms, ids and names
}

// life is when a memory exists and is valid, in microseconds. It is separate from doc because every search reads all of it.
type life struct {
	created, validFrom, validTo, expires int64
}

const (
	always = math.MinInt64
	never  = math.MaxInt64
)

// doc is a memory without its words.
type doc struct {
	id         string // empty: the slot is dead
	at         int64  // occurredAt or, without it, createdAt
	tags       []int32
	importance float32
	length     int32
	agent      int32 // numbers of names; 0 is none
	session    int32
	speaker    int32
	kind       uint8
	language   text.Language
	pinned     bool
	marks      marks
}

// marks say which kinds of answers a text contains.
type marks uint8

const (
	hasTime marks = 1 << iota
	hasNumber
	asks
)

// word is a term with the memories that contain it.
type word struct {
	term     string
	grams    uint64 // see gramsOf
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

// New returns an empty Index. Without vectors, it compares words alone.
func New(a *text.Analyzer, withVectors bool) *Index {
	return &Index{analyzer: a, vectors: withVectors, slots: map[string]int32{}, terms: map[string]int32{}, orders: make([]order, 1)}
}

// Put adds a memory, or replaces the one with the same ID.
func (x *Index) Put(it Item) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(it.ID)
	x.sweep()
	slot := int32(len(x.docs))
	id := string([]byte(it.ID)) // all strings are copied, so that none keeps the text in memory
	x.slots[id] = slot
	x.texts += stringBytes(id)
	d := doc{
		id: id, at: micro(it.CreatedAt), importance: -1, pinned: it.Pinned,
		agent: x.intern(&x.agents, it.AgentID), session: x.intern(&x.sessions, it.SessionID),
		speaker: x.intern(&x.speakers, it.Speaker), kind: uint8(x.intern(&x.kinds, it.Kind)), // there are seven kinds
	}
	if it.OccurredAt != nil {
		d.at = micro(*it.OccurredAt)
	}
	if it.Importance != nil {
		d.importance = float32(*it.Importance)
	}
	if len(it.Tags) > 0 {
		d.tags = make([]int32, len(it.Tags))
		for i, tag := range it.Tags {
			d.tags[i] = x.intern(&x.tags, tag)
		}
		x.lists += int64(4 * cap(d.tags))
	}
	x.lives = append(x.lives, life{
		created: micro(it.CreatedAt), validFrom: microOr(it.ValidFrom, always),
		validTo: microOr(it.ValidTo, never), expires: microOr(it.ExpiresAt, never),
	})
	told := x.addText(slot, it.Text)
	d.length, d.marks, d.language = told.length, told.marks, told.language
	x.traits = append(x.traits, told.traits)
	if x.vectors {
		x.directions = append(x.directions, told.sum.Vector())
	}
	for _, tag := range it.Tags {
		x.addTag(slot, tag, d.language)
	}
	x.docs = append(x.docs, d)
	x.enlist(slot, d.session)
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
		cmp.Compare(x.docs[a].at, x.docs[b].at),
		cmp.Compare(x.lives[a].created, x.lives[b].created),
		cmp.Compare(x.docs[a].id, x.docs[b].id),
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
	d := &x.docs[slot]
	x.texts -= stringBytes(d.id)
	x.lists -= int64(4 * cap(d.tags))
	if d.session != 0 {
		o := &x.orders[d.session]
		if i := slices.Index(o.slots, slot); i >= 0 {
			o.slots = slices.Delete(o.slots, i, i+1)
		}
	}
	*d = doc{}
	x.lives[slot], x.traits[slot] = life{}, traits{}
	x.dead++
}

// compact rebuilds the index without the removed memories.
func (x *Index) compact() {
	moved := make([]int32, len(x.docs))
	y := New(x.analyzer, x.vectors)
	y.docs, y.lives, y.traits = make([]doc, 0, len(x.slots)), make([]life, 0, len(x.slots)), make([]traits, 0, len(x.slots))
	for slot := range x.docs {
		d := x.docs[slot]
		moved[slot] = -1
		if d.id == "" {
			continue
		}
		to := int32(len(y.docs))
		moved[slot] = to
		y.slots[d.id] = to
		y.texts += stringBytes(d.id)
		d.agent = y.intern(&y.agents, x.agents.of(d.agent))
		d.session = y.intern(&y.sessions, x.sessions.of(d.session))
		d.speaker = y.intern(&y.speakers, x.speakers.of(d.speaker))
		d.kind = uint8(y.intern(&y.kinds, x.kinds.of(int32(d.kind))))
		for i, tag := range d.tags {
			d.tags[i] = y.intern(&y.tags, x.tags.of(tag))
		}
		y.lists += int64(4 * cap(d.tags))
		y.docs, y.lives, y.traits = append(y.docs, d), append(y.lives, x.lives[slot]), append(y.traits, x.traits[slot])
		if x.vectors {
			y.directions = append(y.directions, x.directions[slot])
		}
		y.enlist(to, d.session)
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
		y.words = append(y.words, word{term: w.term, grams: w.grams, postings: list})
		y.texts += stringBytes(w.term)
		y.lists += int64(4 * n)
	}
	x.slots, x.lives, x.docs, x.traits, x.dead = y.slots, y.lives, y.docs, y.traits, 0
	x.directions = y.directions
	x.terms, x.words, x.orders, x.unsorted = y.terms, y.words, y.orders, y.unsorted
	x.agents, x.sessions, x.kinds, x.tags, x.speakers = y.agents, y.sessions, y.kinds, y.tags, y.speakers
	x.lists, x.texts = y.lists, y.texts
}

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
		int64(len(x.slots)+len(x.terms))*mapEntry +
		int64(cap(x.docs))*int64(unsafe.Sizeof(doc{})) + int64(cap(x.lives))*int64(unsafe.Sizeof(life{})) +
		int64(cap(x.traits))*int64(unsafe.Sizeof(traits{})) +
		int64(cap(x.directions))*int64(unsafe.Sizeof(vectors.Vector{})) +
		int64(cap(x.words))*int64(unsafe.Sizeof(word{})) + int64(cap(x.orders))*int64(unsafe.Sizeof(order{}))
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

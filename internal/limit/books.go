package limit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"sync"
	"time"
)

// bookOf finds the book of a directory's counters, by the number they carry. A place of a directory that was given to
// another subject meanwhile has another phase in all but one of sixty cases, and in that one it carries no number yet.
func (s *Shared) bookOf(u *Use, payer Payer, isKey bool) *book {
	home := u.home.Load()
	if n := home >> phaseBits; n != 0 {
		if b := (*s.books.Load())[n]; b.use.phase() == home&phaseMask {
			return b
		}
	}
	return s.register(u, payer.Payer(), isKey)
}

// register gives a subject its book, and its counters the number of it. The book starts from what they show.
func (s *Shared) register(u *Use, of Subject, isKey bool) *book {
	subject := of.Workspace
	if isKey || of.KeyAlone {
		subject = of.Key
	}
	unix := s.ledgerUnix(s.since())
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.subjects[subject]
	list := *s.books.Load()
	if b == nil {
		b = newBook(subject, u, unix)
		s.join(b, of.Workspace)
		s.subjects[subject] = b
		b.use.home.Store(b.use.phase() | uint32(len(list))<<phaseBits)
		list = append(list, b) // readers have the shorter slice, and the number only after this is stored
		s.books.Store(&list)
	}
	u.home.Store(b.use.home.Load())
	return b
}

// newBook makes a book that starts from what a directory's counters show of the day and the month.
func newBook(subject string, from *Use, unix int64) *book {
	b := &book{subject: subject}
	b.use.Init(subject)
	if from != nil {
		b.use.Daily.word.Store(from.Daily.word.Load())
		b.use.Monthly.word.Store(from.Monthly.word.Load())
	}
	for k := range Kind(kinds) {
		t, word := &b.tallies[k], b.counter(k).word.Load()
		window, _ := windowOf(k, unix, b.use.phase(), word)
		t.turn(window)
		t.others = used(word, window)
		t.durable, t.durableWindow = t.others, window
		t.unsure = true
	}
	return b
}

// join puts a book into the group of its tag. The caller holds s.mu.
func (s *Shared) join(b *book, tag string) {
	g := s.tags[tag]
	if g == nil {
		g = &group{tag: tag}
		s.tags[tag] = g
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	b.group, b.busyAt = g, s.since()
	g.books = append(g.books, b)
}

// activate puts a group on the list of those that are looked after.
func (s *Shared) activate(g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.active.Load() {
		return
	}
	g.mu.Lock()
	for _, b := range g.books {
		b.busyAt = s.since()
	}
	g.mu.Unlock()
	s.active = append(s.active, g)
	g.active.Store(true)
}

const addressShards = 64

// addressBooks are the books of callers without a credential. Theirs are the only ones that are given up: there is no
// bound to how many addresses may call.
type addressBooks struct {
	mu    sync.Mutex
	byKey map[addressKey]*book
}

var addressSeed = maphash.MakeSeed()

func (s *Shared) addressBook(of Subject) *book {
	key := keyOf(of.Address, of.SignIn)
	shard := &s.addresses[maphash.Comparable(addressSeed, key)%addressShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if b := shard.byKey[key]; b != nil {
		return b
	}
	if len(shard.byKey) >= max(1, s.o.Addresses/addressShards) {
		s.giveUpOne(shard)
	}
	subject := s.hash(key)
	b := newBook(subject, nil, s.ledgerUnix(s.since()))
	b.group = &group{tag: subject, books: []*book{b}}
	b.busyAt = s.since()
	shard.byKey[key] = b
	return b
}

// looks is among how many addresses the one that was silent longest is given up. The exact answer would cost a list that
// every request changes.
const looks = 8

// giveUpOne forgets an address. What it used is in the ledger, and comes back with it.
func (s *Shared) giveUpOne(shard *addressBooks) {
	var stalest addressKey
	oldest, seen := time.Duration(0), 0
	for key, b := range shard.byKey {
		b.group.mu.Lock()
		busyAt := b.busyAt
		b.group.mu.Unlock()
		if seen == 0 || busyAt < oldest {
			stalest, oldest = key, busyAt
		}
		if seen++; seen == looks {
			break
		}
	}
	b := shard.byKey[stalest]
	delete(shard.byKey, stalest)
	b.group.mu.Lock()
	b.evicted = true
	b.group.mu.Unlock()
}

// hash is what the ledger learns of an address.
func (s *Shared) hash(key addressKey) string {
	mac := hmac.New(sha256.New, s.o.Secret)
	purpose := "limits of an address\x00"
	if key.signIn {
		purpose = "limits of signing in from an address\x00"
	}
	mac.Write([]byte(purpose))
	mac.Write(key.network[:])
	return "adr_" + hex.EncodeToString(mac.Sum(nil)[:16])
}

package usage

import (
	"sync"
	"sync/atomic"
	"time"
)

// lastUses records when secrets were last used. A use stores one word, at most once per millisecond. A flush walks over
// all words, which takes about a nanosecond per secret.
type lastUses struct {
	mu     sync.Mutex // serializes add
	count  int
	hints  arena
	blocks atomic.Pointer[[]*lastUseBlock] // replaced when a block is added; blocks do not move
}

const lastUsesPerBlock = 1024

type lastUseBlock [lastUsesPerBlock]struct {
	at    atomic.Int64 // Unix millisecond of the last use, 0 for none
	saved int64        // what the store contains; only for the flush
	owner Owner        // the owner of the secret
	hint  text
}

func newLastUses() *lastUses {
	l := &lastUses{}
	l.blocks.Store(&[]*lastUseBlock{})
	l.add(0, "") // handle 0: no secret
	return l
}

func (l *lastUses) add(o Owner, hint string) Secret {
	l.mu.Lock()
	defer l.mu.Unlock()
	blocks := *l.blocks.Load()
	if l.count == len(blocks)*lastUsesPerBlock {
		blocks = append(blocks[:len(blocks):len(blocks)], new(lastUseBlock))
		l.blocks.Store(&blocks)
	}
	e := &blocks[l.count/lastUsesPerBlock][l.count%lastUsesPerBlock]
	e.owner, e.hint = o, l.hints.add(hint)
	l.count++
	return Secret(l.count - 1)
}

func (l *lastUses) word(s Secret) *atomic.Int64 {
	return &(*l.blocks.Load())[s/lastUsesPerBlock][s%lastUsesPerBlock].at
}

func (l *lastUses) touch(s Secret, at time.Time) {
	if s == 0 {
		return
	}
	word, ms := l.word(s), at.UnixMilli()
	for {
		last := word.Load()
		if ms <= last || word.CompareAndSwap(last, ms) {
			return
		}
	}
}

func (l *lastUses) last(s Secret) time.Time {
	if ms := l.word(s).Load(); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

// unsaved lists the uses since the last save. The caller calls done once the list is stored.
func (l *lastUses) unsaved(owners *owners) (list []LastUse, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type save struct {
		word *int64
		at   int64
	}
	var saves []save
	blocks := *l.blocks.Load()
	for i := range l.count {
		e := &blocks[i/lastUsesPerBlock][i%lastUsesPerBlock]
		if at := e.at.Load(); at > e.saved {
			_, keyID := owners.name(e.owner)
			list = append(list, LastUse{KeyID: keyID, Hint: l.hints.text(e.hint), At: time.UnixMilli(at).UTC()})
			saves = append(saves, save{&e.saved, at})
		}
	}
	return list, func() {
		for _, s := range saves {
			*s.word = s.at
		}
	}
}

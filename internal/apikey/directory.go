package apikey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
	"keepsake/internal/usage"
)

// Recorder makes the handles under which usage counts a key, and notes when its secrets are used and what it pays beside
// its own requests. *usage.Recorder is one.
type Recorder interface {
	Owner(workspaceID, keyID string) usage.Owner
	Secret(keyID, hint string) usage.Secret
	Touch(s usage.Secret, at time.Time)
	LastUsed(s usage.Secret) time.Time
	Charge(o usage.Owner, at time.Time, cost int64)
}

// ErrNotInMemory says of a text that could be a key's that only the store knows whether it is one (RecogniseStored).
var ErrNotInMemory = errors.New("apikey: the key is not in memory")

// ErrInvalid is the problem of a text that is no key's.
var ErrInvalid = problem.New(problem.Unauthenticated, problem.CodeInvalidAPIKey, "This API key is not valid.")

// What a credential can be told. They are shared, so that refusing costs as little as recognising; nobody changes them.
var (
	errExpired  = problem.New(problem.Unauthenticated, problem.CodeAPIKeyExpired, "This API key has expired.")
	errRevoked  = problem.New(problem.Unauthenticated, problem.CodeAPIKeyRevoked, "This API key has been revoked.")
	errDisabled = problem.New(problem.Unauthenticated, problem.CodeAPIKeyDisabled, "This API key is disabled.")
)

// Directory holds every key that is not revoked in memory, found by the hash of its secrets. Recognising a key takes no
// lock and allocates nothing; it is safe for concurrent use.
type Directory struct {
	store    Store
	hasher   *Hasher
	accounts *account.Directory
	recorder Recorder
	now      func() time.Time

	shards  [shardCount]shard
	shelves atomic.Pointer[[]*shelf]
	unknown *unknown

	mu      sync.Mutex // orders writers; what follows is theirs
	byID    map[id.UUID]uint32
	length  uint32           // slots handed out so far
	free    []uint32         // slots to use again
	removed []removal        // oldest first
	denied  map[id.UUID]bool // revoked here, whatever the store says
	evicted atomic.Int64
}

// shardCount spreads the hashes so that a writer copies a 256th of the index and two cores rarely count hits in one place.
const shardCount = 256

// index finds where a secret lies. It is never changed once published.
type index = map[[32]byte]ref

type shard struct {
	index   atomic.Pointer[index]
	changes atomic.Uint64 // counts what was published, after it is there
	_       [48]byte      // hits change with every request, the index hardly ever: not in one cache line
	hits    atomic.Uint64
	_       [56]byte
}

func (s *shard) publish(next *index) {
	s.index.Store(next)
	s.changes.Add(1)
}

// removal is a revoked key that still has its slot.
type removal struct {
	key id.UUID
	at  time.Time
}

// quarantine is how long a revoked key keeps its slot: longer than any request that recognised it still runs, so that
// no late charge or refund reaches the counters of another key.
const quarantine = time.Hour

// NewDirectory makes an empty directory.
func NewDirectory(store Store, hasher *Hasher, accounts *account.Directory, recorder Recorder, now func() time.Time) *Directory {
	d := &Directory{
		store: store, hasher: hasher, accounts: accounts, recorder: recorder, now: now,
		unknown: newUnknown(), byID: map[id.UUID]uint32{},
	}
	for i := range d.shards {
		d.shards[i].publish(&index{})
	}
	d.shelves.Store(&[]*shelf{})
	return d
}

// Load fills the directory from the store, at start. used may be nil.
func (d *Directory) Load(ctx context.Context, used account.Used) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var indexes [shardCount]index
	for i := range indexes {
		indexes[i] = maps.Clone(*d.shards[i].index.Load())
	}
	now := d.now()
	err := d.store.EachAPIKey(ctx, func(k *APIKey) error {
		slot, moves, err := d.place(k)
		if err != nil {
			return err
		}
		for _, m := range moves.list() {
			m.apply(indexes[m.hash[0]])
		}
		if used != nil {
			day, month := used(k.ID)
			d.slot(slot).use.Restore(now, day, month)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read API keys: %w", err)
	}
	for i := range indexes {
		d.shards[i].publish(&indexes[i])
	}
	return nil
}

// Recognise finds the key with this text as of now. What it answers is from memory for every key that is not revoked;
// other texts with a right checksum cost one read of the store that all who ask at once share.
//
// The errors are *problem.Problem: invalid_api_key, and only where the secret itself was right api_key_revoked,
// api_key_disabled or api_key_expired, in this order. Whether the address may use the key and whether the workspace is
// suspended is for the caller to ask (Live.AllowedFrom, Live.Workspace).
func (d *Directory) Recognise(ctx context.Context, text string, now time.Time) (Live, error) {
	var l Live
	err := d.RecogniseAgain(text, nil, now, &l)
	if errors.Is(err, ErrNotInMemory) {
		err = d.RecogniseStored(ctx, text, now, &l)
	}
	return l, err
}

// RecogniseAgain is Recognise without the store, for a caller who remembers the text that came last, because it often
// comes again. It fills in l, which is the zero Live, and leaves it so where it answers an error, which is also
// ErrNotInMemory.
func (d *Directory) RecogniseAgain(text string, recent *Recent, now time.Time, l *Live) error {
	if len(text) != textLen {
		return ErrInvalid
	}
	var fresh Recent
	if recent == nil {
		recent = &fresh
	}
	if !recent.is(text) {
		recent.keep(text, d.hasher.Hash(text))
	}
	shard := &d.shards[recent.hash[0]]
	if changes := shard.changes.Load(); recent.changes != changes {
		ref, ok := (*shard.index.Load())[recent.hash]
		switch {
		case ok:
			recent.ref, recent.changes = ref, changes
		case WellFormed(text): // only now: a text that is some key's has a right checksum, and most texts are
			return ErrNotInMemory
		default:
			return ErrInvalid
		}
	}
	shard.hits.Add(1)
	return d.live(recent.ref, now, l)
}

// RecogniseStored is Recognise for a text that RecogniseAgain has not found. It costs one read of the store that all who
// ask at once share.
func (d *Directory) RecogniseStored(ctx context.Context, text string, now time.Time, l *Live) error {
	hash := d.hasher.Hash(text)
	if err := d.recogniseStored(ctx, hash, now); err != nil {
		return err
	}
	// The store had it and the directory did not: now it has.
	if ref, ok := (*d.shards[hash[0]].index.Load())[hash]; ok {
		return d.live(ref, now, l)
	}
	return ErrInvalid
}

// live judges what a slot says, and fills in l.
func (d *Directory) live(r ref, now time.Time, l *Live) error {
	var f facts
	i := r.slot()
	s := (*d.shelves.Load())[i/shelfLen].read(i%shelfLen, &f)
	secret := f.secrets[r.place()]
	ms := now.UnixMilli()
	switch {
	case secret.turn != r.turn(): // it was taken away since it was looked up
		return ErrInvalid
	case secret.validUntil != 0 && ms >= secret.validUntil:
		return ErrInvalid
	case f.flags&flagRevoked != 0:
		return errRevoked
	case f.flags&flagDisabled != 0:
		return errDisabled
	case f.expiresAt != 0 && ms >= f.expiresAt:
		return errExpired
	}
	workspace := d.accounts.At(f.workspace)
	p := &l.Principal
	p.Kind, p.WorkspaceID, p.Operator, p.Key, p.Scopes = auth.APIKey, workspace.ID(), workspace.Operator(), f.key, f.scopes
	if f.bounds != nil {
		p.SubjectID, p.AgentID = f.bounds.subjectID, f.bounds.agentID
	}
	l.Workspace, l.Usage = workspace, f.owner
	l.Key.Use = &s.use
	l.Key.Allowance = limit.Allowance{PerMinute: f.perMinute, Daily: f.daily, Monthly: f.monthly}
	if l.Key.PerMinute == 0 {
		l.Key.PerMinute = workspace.Tier().RequestsPerMinute
	}
	l.RotateBy, l.ExpiresAt = secret.validUntil/1000, f.expiresAt/1000
	l.secret, l.bounds, l.recorder = secret.usage, f.bounds, d.recorder
	return nil
}

func (d *Directory) slot(i uint32) *slot {
	return &(*d.shelves.Load())[i/shelfLen].slots[i%shelfLen]
}

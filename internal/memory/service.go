package memory

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/text"
	"keepsake/internal/base/unit"
	"keepsake/internal/base/vectors"
	"keepsake/internal/govern/event"
	"keepsake/internal/memory/seal"
)

// Service has a part for each concern. The parts share a store, keys and caches. All methods are safe for concurrent use. They
// act for a principal and see only what its API key is bound to; anything else is problem.Missing.
type Service struct {
	Writer        *Writer
	Changer       *Changer
	Reader        *Reader
	SubjectReader *SubjectReader
	Recaller      *Recaller
	Eraser        *Eraser
	Forgetter     *Forgetter
	SubjectEraser *SubjectEraser
	Sweeper       *Sweeper
	Exporter      *Exporter
	Importer      *Importer
	Backfiller    *Backfiller
	Caches        *Caches
}

// Options is what a Service needs.
type Options struct {
	Store   Store
	Units   unit.Runner
	Keys    Keys
	Lookup  Lookup
	Audit   AccessLog
	Events  event.Recorder // none if nil
	Journal Journal
	// Alone says that no other process writes to the store, so that the generation that this process wrote last is current.
	Alone bool
	// MaxMemories returns how many memories a workspace can have, and MaxBytes how many bytes it can store;
	// nil is no limit, and 0 allows none.
	MaxMemories func(workspaceID string) *int64
	MaxBytes    func(workspaceID string) *int64
	// Sign returns a compact JWS of a payload by a key of the JWKS.
	Sign func(payload []byte) (string, error)
	// SealAnswerWith, if not nil, sets the data key that must encrypt a stored response to the request of ctx.
	SealAnswerWith func(ctx context.Context, workspaceID string, subject Hash, generation int64)
	// DropKey, if not nil, removes a destroyed data key from the memory of other processes, and waits until it is removed.
	DropKey func(ctx context.Context, workspaceID string, subject Hash) error
	// Shares, if not nil, divides the processors among workspaces whose recalls and lists take long.
	Shares *fairshare.Scheduler
	// RecallBytes is the size of the cache of recall indexes.
	RecallBytes int64
	// Embeddings is the embeddings endpoint of the instance; nil if there is none.
	Embeddings *Embeddings
	// Vectors returns the table of vectors of words; nil makes recalls compare words alone. It is called when a subject is first
	// recalled, because reading the table takes time.
	Vectors func() *vectors.Table
	Now     func() time.Time
	Random  io.Reader // for IDs
	Log     *slog.Logger
}

// Keys stores the data keys of subjects: *seal.Subjects.
type Keys interface {
	// Find returns an existing key, or seal.ErrDestroyed.
	Find(ctx context.Context, workspaceID string, subject Hash, generation int64) (*seal.DataKey, error)
	// Ensure returns keys and creates missing ones, on stable storage; seal.ErrDestroyed if one was destroyed. It is a
	// transaction of another database, so it must not be called in a transaction.
	Ensure(ctx context.Context, workspaceID string, want []seal.SubjectGeneration) ([]*seal.DataKey, error)
	// Destroy destroys the keys of a subject up to a generation, on stable storage and in memory.
	Destroy(ctx context.Context, workspaceID string, subject Hash, upTo int64) error
}

// Lookup returns the keyed hashes by which names are found.
type Lookup interface {
	Subject(workspaceID, id string) Hash
	Agent(workspaceID, id string) Hash
	Session(workspaceID, id string) Hash
}

// Journal records erasures outside the database and its backups, so that a restore repeats them. Its methods are called in
// the transaction of the erasure. If that fails to commit, a later restore erases what was not erased: an erasure without an
// entry would be worse, because a restore would bring back what a receipt says is gone.
type Journal interface {
	SubjectErased(ctx context.Context, workspaceID string, subject Hash, generation int64, at time.Time) error
	MemoriesErased(ctx context.Context, workspaceID string, subject Hash, ids []string, at time.Time) error
	// MemoriesExpired is called for memories that a restored backup would expire again.
	MemoriesExpired(ctx context.Context, workspaceID string, subject Hash) error
}

// NewService assembles a Service.
func NewService(o Options) *Service {
	if o.Events == nil {
		o.Events = event.Discard{}
	}
	var (
		now    = clock(o.Now)
		words  = text.NewAnalyzer()
		log    = accessLog{o.Audit}
		opener = &opener{o.Keys}
		limits = &tierLimits{store: o.Store, maxMemories: o.MaxMemories, maxBytes: o.MaxBytes}
		caches = &Caches{words: words, indexes: newIndexCache(o.RecallBytes)}
		rows   = &rowEraser{store: o.Store, log: log, events: eventLog{o.Events}, journal: o.Journal, now: now}

		backfiller = &Backfiller{
			store: o.Store, units: o.Units, opener: opener, log: log, embeddings: o.Embeddings, now: now, logger: o.Log,
		}
		committer = &committer{
			store: o.Store, units: o.Units, keys: o.Keys, lookup: o.Lookup, limits: limits, log: log, events: eventLog{o.Events},
			generations: &caches.generations, written: backfiller.noteChanged,
			alone: o.Alone, sealAnswerWith: o.SealAnswerWith, now: now,
		}
		matcher       = &matcher{store: o.Store, now: now}
		writer        = &Writer{committer: committer, matcher: matcher, lookup: o.Lookup, now: now, random: o.Random}
		indexer       = &indexer{store: o.Store, keys: o.Keys, lookup: o.Lookup, caches: caches, words: words, vectors: o.Vectors}
		reader        = &Reader{store: o.Store, opener: opener, lookup: o.Lookup, log: log, shares: o.Shares, now: now}
		subjects      = &SubjectReader{store: o.Store, opener: opener, lookup: o.Lookup, log: log, now: now}
		subjectEraser = &SubjectEraser{
			store: o.Store, units: o.Units, keys: o.Keys, lookup: o.Lookup, rows: rows, log: log, events: o.Events,
			journal: o.Journal, caches: caches,
			sign: o.Sign, dropKey: o.DropKey, now: now, random: o.Random,
		}
	)
	backfiller.init()
	writer.groups = newGroups(writer, o.Alone)
	return &Service{
		Writer:        writer,
		Changer:       &Changer{committer: committer, matcher: matcher, reader: reader, store: o.Store, lookup: o.Lookup, now: now},
		Reader:        reader,
		SubjectReader: subjects,
		Recaller: &Recaller{
			store: o.Store, opener: opener, indexer: indexer, lookup: o.Lookup, log: log, shares: o.Shares, now: now,
			embeddings: o.Embeddings,
		},
		Eraser: &Eraser{store: o.Store, units: o.Units, reader: reader, rows: rows, lookup: o.Lookup, now: now},
		Forgetter: &Forgetter{
			store: o.Store, units: o.Units, opener: opener, rows: rows, limits: limits, lookup: o.Lookup, log: log, words: words,
			caches: caches, shares: o.Shares, now: now, random: o.Random,
		},
		SubjectEraser: subjectEraser,
		Sweeper: &Sweeper{
			store: o.Store, units: o.Units, opener: opener, rows: rows, subjects: subjectEraser, indexer: indexer, now: now, log: o.Log,
		},
		Exporter: &Exporter{store: o.Store, opener: opener, subjects: subjects, lookup: o.Lookup, log: log, now: now},
		Importer: &Importer{
			store: o.Store, committer: committer, matcher: matcher, lookup: o.Lookup, now: now, random: o.Random,
		},
		Backfiller: backfiller,
		Caches:     caches,
	}
}

// clock returns the current time.
type clock func() time.Time

// stored returns the current time as it is stored.
func (c clock) stored() time.Time { return storedTime(c()) }

// Caches contains what a process keeps in memory about subjects.
type Caches struct {
	words       *text.Analyzer
	indexes     *indexCache
	generations generations
	emptied     atomic.Int64 // how often words was emptied
}

// DropSubject removes an erased subject.
func (c *Caches) DropSubject(workspaceID string, subject Hash) {
	c.dropIndex(workspaceID, subject)
	c.generations.remove(subject)
}

// DropSubjects removes all subjects. It is for a process that cannot know which of them were erased.
func (c *Caches) DropSubjects() {
	c.indexes.clear()
	c.dropWords()
	c.generations.clear()
}

// RecallStats returns the statistics of the cache of recall indexes.
func (c *Caches) RecallStats() RecallStats { return c.indexes.statistics() }

// dropIndex removes all words of a subject.
func (c *Caches) dropIndex(workspaceID string, subject Hash) {
	c.indexes.remove(workspaceID, subject)
	c.dropWords()
}

func (c *Caches) dropWords() {
	c.emptied.Add(1)
	c.words.Clear()
}

// analyze calls analyze, which analyzes texts of a subject. If words was emptied meanwhile, it empties words again, because
// the subject can have been erased.
func (c *Caches) analyze(analyze func()) {
	before := c.emptied.Load()
	analyze()
	if c.emptied.Load() != before {
		c.words.Clear()
	}
}

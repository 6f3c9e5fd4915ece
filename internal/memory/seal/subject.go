package seal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
)

// SubjectHash identifies a person without revealing who it is (see Lookup).
type SubjectHash = [16]byte

// SubjectGeneration names a data key of a subject. A subject's keys are numbered from 1, and each erasure begins the
// next number.
type SubjectGeneration struct {
	Subject    SubjectHash
	Generation int64
}

// SubjectKey is a stored data key: wrapped by a wrapping secret, and bound to the instance, the workspace, the subject
// and the generation.
type SubjectKey struct {
	WorkspaceID string
	SubjectGeneration
	Wrapped   []byte // empty if this key and all before it were destroyed
	With      string // the name of the wrapping secret
	CreatedAt time.Time
}

// SubjectStore stores wrapped data keys, separate from the data. Its writes are on stable storage when they return. It
// runs transactions in the keys database, so writes must not be called inside another database's transaction.
type SubjectStore interface {
	// SubjectKeys reads all keys of some subjects, including destroyed ones, in no order.
	SubjectKeys(ctx context.Context, workspaceID string, subjects []SubjectHash) ([]SubjectKey, error)
	// AddSubjectKeys adds keys in one transaction. It skips a key if its generation exists, or if this or a later
	// generation was destroyed. It returns the resulting SubjectKeys of these subjects. If a wrapping secret no longer
	// exists, the error is ErrWrappingGone and nothing is added.
	AddSubjectKeys(ctx context.Context, workspaceID string, keys []SubjectKey) ([]SubjectKey, error)
	// DestroySubjectKeys deletes the keys of a subject up to a generation and records that they were destroyed. No file
	// of ours contains them afterwards, as far as the engine can ensure that. It is idempotent.
	DestroySubjectKeys(ctx context.Context, workspaceID string, subject SubjectHash, upTo int64, at time.Time) error
	// SubjectKeysWith reads keys under a wrapping secret, ordered by name, after the given key unless it is nil.
	SubjectKeysWith(ctx context.Context, with string, after *SubjectKey, limit int) ([]SubjectKey, error)
	// RewrapSubjectKeys replaces the ciphertexts of keys that are still under the secret old.
	RewrapSubjectKeys(ctx context.Context, old string, keys []SubjectKey) error
}

var (
	// ErrDestroyed reports that a data key does not exist. What was sealed with it can never be read.
	ErrDestroyed = problem.Missing()
	// ErrWrappingGone reports that another process has replaced and removed a wrapping secret.
	ErrWrappingGone = errors.New("the wrapping secret no longer exists")
)

// SubjectsOptions configures Subjects.
type SubjectsOptions struct {
	Store     SubjectStore
	Secrets   *Secrets
	Now       func() time.Time
	Random    io.Reader // for data keys; nil for crypto/rand.Reader
	CacheSize int       // max number of data keys in memory; 0 for 16,384
}

// Subjects provides the data keys of subjects. It is safe for concurrent use. It caches the most recently used keys.
//
// A cached key can have been destroyed by another process. So a caller that reads or writes sealed data reads the
// subject's generation in the same transaction and requests the key of that generation.
type Subjects struct {
	SubjectsOptions
	instance string

	rewrapping sync.Mutex
	wake       chan struct{} // wakes Run

	mu     sync.Mutex
	open   *simplelru.LRU[subjectName, *DataKey]
	forgot uint64 // counts Forget and ForgetAll: a key that was read before must not be cached afterwards
}

type subjectName struct {
	workspaceID string
	subject     SubjectHash
}

// NewSubjects creates a Subjects.
func NewSubjects(o SubjectsOptions) *Subjects {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.CacheSize == 0 {
		o.CacheSize = 16384
	}
	open, _ := simplelru.NewLRU[subjectName, *DataKey](o.CacheSize, nil)
	return &Subjects{SubjectsOptions: o, instance: o.Secrets.Instance(), wake: make(chan struct{}, 1), open: open}
}

// Find returns a data key. The error is ErrDestroyed if it was destroyed or never existed.
func (s *Subjects) Find(ctx context.Context, workspaceID string, subject SubjectHash, generation int64) (*DataKey, error) {
	if key := s.cached(subjectName{workspaceID, subject}, generation); key != nil {
		return key, nil
	}
	keys, err := s.find(ctx, workspaceID, []SubjectGeneration{{subject, generation}})
	if err != nil {
		return nil, err
	}
	if keys[0] == nil {
		return nil, ErrDestroyed
	}
	return keys[0], nil
}

// find returns the keys that exist, and nil for others.
func (s *Subjects) find(ctx context.Context, workspaceID string, want []SubjectGeneration) ([]*DataKey, error) {
	return s.resolve(ctx, workspaceID, want, func(missing []SubjectGeneration) ([]SubjectKey, error) {
		subjects := make([]SubjectHash, len(missing))
		for i, m := range missing {
			subjects[i] = m.Subject
		}
		return s.Store.SubjectKeys(ctx, workspaceID, subjects)
	})
}

// Ensure returns the data keys of some subjects, in the order of want, and creates missing ones in one commit, which is
// on stable storage when it returns. If a key was destroyed, the subject was erased meanwhile and has another
// generation; the error for all of them is then ErrDestroyed. Ensure must not be called inside a transaction, because
// it waits for the disk.
func (s *Subjects) Ensure(ctx context.Context, workspaceID string, want []SubjectGeneration) ([]*DataKey, error) {
	if unit.Running(ctx) {
		return nil, errors.New("seal: data keys cannot be created inside a transaction")
	}
	keys, err := s.find(ctx, workspaceID, want)
	if err != nil || !hasNil(keys) {
		return keys, err
	}
	keys, err = s.resolve(ctx, workspaceID, want, func(missing []SubjectGeneration) ([]SubjectKey, error) {
		return s.add(ctx, workspaceID, missing)
	})
	if err == nil && hasNil(keys) {
		err = ErrDestroyed
	}
	if err != nil {
		return nil, err
	}
	return keys, nil
}

func hasNil(keys []*DataKey) bool {
	for _, k := range keys {
		if k == nil {
			return true
		}
	}
	return false
}

// Destroy destroys the data keys of a subject up to a generation, for good and on stable storage. After an error it may
// have happened; call it again.
func (s *Subjects) Destroy(ctx context.Context, workspaceID string, subject SubjectHash, upTo int64) error {
	defer s.Forget(workspaceID, subject)
	if err := s.Store.DestroySubjectKeys(ctx, workspaceID, subject, upTo, s.Now()); err != nil {
		return fmt.Errorf("destroy a data key: %w", err)
	}
	return nil
}

// Forget removes a subject's key from the cache after another process destroyed it.
func (s *Subjects) Forget(workspaceID string, subject SubjectHash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot++
	s.open.Remove(subjectName{workspaceID, subject})
}

// ForgetAll clears the cache when it is unknown which keys another process has destroyed.
func (s *Subjects) ForgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot++
	s.open.Purge()
}

// Cached is the number of cached data keys.
func (s *Subjects) Cached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open.Len()
}

// resolve returns the cached keys and unwraps the others, which read returns. If another process wrapped one with an
// unknown secret, resolve reloads the secrets and reads again.
func (s *Subjects) resolve(ctx context.Context, workspaceID string, want []SubjectGeneration, read func(missing []SubjectGeneration) ([]SubjectKey, error)) ([]*DataKey, error) {
	const tries = 3 // the second with new secrets, the third if they were replaced meanwhile
	var missing []SubjectGeneration
	for try := 1; ; try++ {
		seen := s.forgotten()
		keys := make([]*DataKey, len(want))
		missing = missing[:0]
		for i, w := range want {
			if keys[i] = s.cached(subjectName{workspaceID, w.Subject}, w.Generation); keys[i] == nil {
				missing = append(missing, w)
			}
		}
		if len(missing) == 0 {
			return keys, nil
		}
		rows, err := read(missing)
		if err == nil {
			err = s.openAll(workspaceID, want, rows, keys, seen)
		}
		switch {
		case err == nil:
			return keys, nil
		case !errors.Is(err, ErrWrappingGone) || try == tries:
			return nil, err
		}
		if err := s.Secrets.Reload(ctx); err != nil {
			return nil, problem.NotAvailable("The data key of this subject cannot be opened right now; try again.", 2*time.Second).
				Because(fmt.Errorf("reload the wrapping secrets: %w", err))
		}
	}
}

// openAll unwraps the wanted rows into keys.
func (s *Subjects) openAll(workspaceID string, want []SubjectGeneration, rows []SubjectKey, keys []*DataKey, seen uint64) error {
	there := make(map[SubjectGeneration]*SubjectKey, len(rows))
	for i := range rows {
		if len(rows[i].Wrapped) > 0 {
			there[rows[i].SubjectGeneration] = &rows[i]
		}
	}
	opened := make(map[SubjectGeneration]*DataKey, len(there))
	for i, w := range want {
		row := there[w]
		if keys[i] != nil || row == nil {
			continue
		}
		if opened[w] == nil {
			key, err := s.unwrap(row)
			if err != nil {
				return err
			}
			opened[w] = key
			s.keep(subjectName{workspaceID, w.Subject}, key, seen)
		}
		keys[i] = opened[w]
	}
	return nil
}

func (s *Subjects) cached(name subjectName, generation int64) *DataKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.open.Peek(name); !ok || key.Generation != generation {
		return nil
	}
	key, _ := s.open.Get(name)
	return key
}

func (s *Subjects) forgotten() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgot
}

// keep caches a key, unless a key was forgotten since it was read: it may have been this one.
func (s *Subjects) keep(name subjectName, key *DataKey, seen uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgot != seen {
		return
	}
	if known, ok := s.open.Get(name); !ok || known.Generation < key.Generation {
		s.open.Add(name, key)
	}
}

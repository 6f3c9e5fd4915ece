package seal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"keepsake/internal/lru"
	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// SubjectHash stands for a person and does not say who it is (see Lookup).
type SubjectHash = [16]byte

// SubjectGeneration names a data key of a subject. A subject's keys are numbered from 1; each erasure begins the next number.
type SubjectGeneration struct {
	Subject    SubjectHash
	Generation int64
}

// SubjectKey is a data key as it lies in the store: wrapped by a wrapping secret, and bound to the instance, the workspace,
// the subject and the generation.
type SubjectKey struct {
	WorkspaceID string
	SubjectGeneration
	Wrapped   []byte // empty: the key was destroyed, and all before it
	With      string // the name of the wrapping secret
	CreatedAt time.Time
}

// SubjectStore keeps wrapped data keys, apart from the data. What it writes is on stable storage when it returns. It opens
// units of work of the keys' database, so it must not be called inside another one's to write.
type SubjectStore interface {
	// SubjectKeys reads all there is of some subjects, destroyed keys included, in no order.
	SubjectKeys(ctx context.Context, workspaceID string, subjects []SubjectHash) ([]SubjectKey, error)
	// AddSubjectKeys adds, all in one unit, those keys for which there is none of the same generation, nor a destroyed one
	// of it or a later one. It gives what SubjectKeys gives of these subjects then. Keys under a wrapping secret that is
	// not there any more are ErrWrappingGone, and nothing is added.
	AddSubjectKeys(ctx context.Context, workspaceID string, keys []SubjectKey) ([]SubjectKey, error)
	// DestroySubjectKeys deletes the keys of a subject up to a generation, and remembers that they were destroyed. Nothing
	// of them is left in files of ours, as far as the engine can see to that. To do it twice changes nothing.
	DestroySubjectKeys(ctx context.Context, workspaceID string, subject SubjectHash, upTo int64, at time.Time) error
	// SubjectKeysWith reads keys under a wrapping secret, in the order of their names, those behind after if that is given.
	SubjectKeysWith(ctx context.Context, with string, after *SubjectKey, limit int) ([]SubjectKey, error)
	// RewrapSubjectKeys replaces how keys are wrapped, of those that still are under the secret named old.
	RewrapSubjectKeys(ctx context.Context, old string, keys []SubjectKey) error
}

var (
	// ErrDestroyed is the problem of a data key that is not there: nothing that was sealed with it can ever be read.
	ErrDestroyed = problem.Missing()
	// ErrWrappingGone says that another process has replaced a wrapping secret and removed it.
	ErrWrappingGone = errors.New("the wrapping secret is not there any more")
)

// SubjectsOptions is what Subjects needs.
type SubjectsOptions struct {
	Store     SubjectStore
	Secrets   *Secrets
	Now       func() time.Time
	Random    io.Reader // of data keys; nil: crypto/rand.Reader
	CacheSize int       // data keys that are kept open; 0: 16,384
}

// Subjects keeps the data keys of subjects. All of it is safe for concurrent use. Open keys are kept in memory, the most
// recently used ones.
//
// A key in memory is no proof that it was not destroyed: another process may have done it. Whoever reads or writes what is
// sealed reads the subject's generation in the same moment, and asks for the key of that one.
type Subjects struct {
	SubjectsOptions
	instance string

	rewrapping sync.Mutex
	wake       chan struct{} // there may be keys to wrap anew

	mu     sync.Mutex
	open   *lru.Cache[subjectName, *DataKey]
	forgot uint64 // how often something was forgotten: what was read before must not be kept after
}

type subjectName struct {
	workspaceID string
	subject     SubjectHash
}

// NewSubjects makes a Subjects.
func NewSubjects(o SubjectsOptions) *Subjects {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.CacheSize == 0 {
		o.CacheSize = 16384
	}
	return &Subjects{
		SubjectsOptions: o, instance: o.Secrets.Instance(), wake: make(chan struct{}, 1), open: lru.New[subjectName, *DataKey](o.CacheSize),
	}
}

// Find gives the data key of a generation. One that was destroyed, or never made, is ErrDestroyed.
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

// find gives the keys that are there, nil for others.
func (s *Subjects) find(ctx context.Context, workspaceID string, want []SubjectGeneration) ([]*DataKey, error) {
	return s.resolve(ctx, workspaceID, want, func(missing []SubjectGeneration) ([]SubjectKey, error) {
		subjects := make([]SubjectHash, len(missing))
		for i, m := range missing {
			subjects[i] = m.Subject
		}
		return s.Store.SubjectKeys(ctx, workspaceID, subjects)
	})
}

// Ensure gives the data keys of some subjects, in the order of want, and makes those that are missing: all in one commit,
// which is on stable storage when it returns. A generation that was destroyed is ErrDestroyed for all of them; the
// subject was erased meanwhile, and has another one now. It must not be called inside a unit of work, whose others
// would wait for the keys.
func (s *Subjects) Ensure(ctx context.Context, workspaceID string, want []SubjectGeneration) ([]*DataKey, error) {
	if unit.Running(ctx) {
		return nil, errors.New("seal: data keys are not made inside a unit of work")
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

// Destroy destroys the data keys of a subject up to a generation, for good and on stable storage, and forgets them here.
// After an error it may have happened: do it again.
func (s *Subjects) Destroy(ctx context.Context, workspaceID string, subject SubjectHash, upTo int64) error {
	defer s.Forget(workspaceID, subject)
	if err := s.Store.DestroySubjectKeys(ctx, workspaceID, subject, upTo, s.Now()); err != nil {
		return fmt.Errorf("destroy a data key: %w", err)
	}
	return nil
}

// Forget drops a subject's key from memory, where another process has destroyed it.
func (s *Subjects) Forget(workspaceID string, subject SubjectHash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot++
	s.open.Remove(subjectName{workspaceID, subject})
}

// ForgetAll drops all keys from memory, where nobody knows which of them another process has destroyed.
func (s *Subjects) ForgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot++
	s.open.Clear()
}

// Cached is how many data keys are open.
func (s *Subjects) Cached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open.Len()
}

// resolve opens what read gives of the keys that are not in memory. What another process has wrapped with a secret that is
// not known here is read once more after the secrets were.
func (s *Subjects) resolve(ctx context.Context, workspaceID string, want []SubjectGeneration, read func(missing []SubjectGeneration) ([]SubjectKey, error)) ([]*DataKey, error) {
	const tries = 3 // the second with new secrets, a third where they were replaced just then
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
				Because(fmt.Errorf("read the wrapping secrets anew: %w", err))
		}
	}
}

// openAll opens the rows that are wanted and puts the keys in their places.
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
	if key := s.open.Peek(name); key == nil || (*key).Generation != generation {
		return nil
	}
	return *s.open.Get(name)
}

func (s *Subjects) forgotten() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgot
}

// keep puts a key into memory, unless something was forgotten since it was read: it may have been this one.
func (s *Subjects) keep(name subjectName, key *DataKey, seen uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgot != seen {
		return
	}
	if known := s.open.GetOrAdd(name); *known == nil || (*known).Generation < key.Generation {
		*known = key
	}
}

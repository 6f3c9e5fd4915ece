package seal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

const secretSize = 32

// names are the secrets that every instance has. Check is first, because it distinguishes a wrong key from a damaged
// secret.
var names = [...]string{Check, Pepper, Cursor, Replay, Log}

// ErrWrongMasterKey reports that the secrets are wrapped with another key. It names the setting.
var ErrWrongMasterKey = errors.New("masterKey: this is not the key the data is sealed with; use the key that was created with this data folder, or the one that the last `keepsake keys rotate-master` replaced it with")

// Secrets are the unwrapped secrets of an instance, only in memory. They are safe for concurrent use.
type Secrets struct {
	store Store

	// changing serializes writes to the store, so that no secret is added under a key that is being replaced.
	changing sync.Mutex
	box      *box // of the master key
	doubt    *box // of the key that may have replaced it, after a commit with an unknown outcome

	mu     sync.RWMutex
	byName map[string][]byte
}

// Instance is the ID of the instance.
func (s *Secrets) Instance() string {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.box.instance
}

// Get returns a secret that must exist: a constant of this package or an ensured one. It panics for any other, because
// an empty secret would silently hash and sign with nothing. The caller must not modify it.
func (s *Secrets) Get(name string) []byte {
	secret, ok := s.Find(name)
	if !ok {
		panic("seal: no secret named " + name)
	}
	return secret
}

// Find returns a secret, if it exists. The caller must not modify it.
func (s *Secrets) Find(name string) ([]byte, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	secret, ok := s.byName[name]
	return secret, ok
}

// Names lists the secrets whose names begin with prefix, such as signing/.
func (s *Secrets) Names(prefix string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.byName)), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// Add wraps and stores a secret, on stable storage when it returns. An existing name is a conflict. It runs a
// transaction in the keys database, so it must not be called inside another database's transaction.
func (s *Secrets) Add(ctx context.Context, name string, secret []byte) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.add(ctx, name, bytes.Clone(secret))
}

// Ensure returns a secret, and creates it with 32 random bytes if it does not exist. It must not be used if data can
// exist that was written with a lost secret; refuse instead.
func (s *Secrets) Ensure(ctx context.Context, name string) ([]byte, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if secret, ok := s.Find(name); ok {
		return secret, nil
	}
	secret, err := random()
	if err != nil {
		return nil, err
	}
	return secret, s.add(ctx, name, secret)
}

func (s *Secrets) add(ctx context.Context, name string, secret []byte) error {
	if err := s.inForce(ctx); err != nil {
		return err
	}
	if err := s.store.AddSecrets(ctx, []Wrapped{s.box.wrap(name, secret)}); err != nil {
		return fmt.Errorf("store secret %s: %w", name, err)
	}
	// Another process may have replaced the master key meanwhile, and a secret under the old one must not stay.
	if err := s.inForce(ctx); err != nil {
		return errors.Join(err, s.store.RemoveSecret(context.WithoutCancel(ctx), name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[name] = secret
	return nil
}

// Remove deletes an added secret for good. It panics for one that every instance has.
func (s *Secrets) Remove(ctx context.Context, name string) error {
	if slices.Contains(names[:], name) {
		panic("seal: an instance without its secret " + name)
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if err := s.store.RemoveSecret(ctx, name); err != nil {
		return fmt.Errorf("remove secret %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
	return nil
}

// Open unwraps the secrets in st. If there are none and the data is fresh, it creates them. If other data exists, its
// secrets were lost, and new ones would silently invalidate every API key.
func Open(ctx context.Context, st Store, master MasterKey, fresh bool) (*Secrets, error) {
	box, err := openBox(ctx, st, master)
	if err != nil {
		return nil, err
	}
	wrapped, err := st.Secrets(ctx)
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	s := &Secrets{store: st, box: box}
	switch {
	case len(wrapped) > 0:
		s.byName, err = box.unwrapAll(wrapped)
	case fresh:
		s.byName, err = box.make(ctx, st)
	default:
		err = errors.New("the secrets of this data are missing: restore the keys.db that belongs to it")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Opens reports whether the secrets in st are wrapped with master.
func Opens(ctx context.Context, st Store, master MasterKey) (bool, error) {
	box, err := openBox(ctx, st, master)
	if err != nil {
		return false, err
	}
	wrapped, err := st.Secrets(ctx)
	if err != nil {
		return false, fmt.Errorf("read secrets: %w", err)
	}
	for _, w := range wrapped {
		if w.Name == Check {
			_, err := box.unwrap(w)
			return err == nil, nil
		}
	}
	return false, nil
}

// make creates the secrets of a new instance.
func (b *box) make(ctx context.Context, st Store) (map[string][]byte, error) {
	byName := make(map[string][]byte, len(names))
	var all []Wrapped
	for _, name := range names {
		secret, err := random()
		if err != nil {
			return nil, err
		}
		byName[name] = secret
		all = append(all, b.wrap(name, secret))
	}
	if err := st.AddSecrets(ctx, all); err != nil {
		return nil, fmt.Errorf("store secrets: %w", err)
	}
	return byName, nil
}

func random() ([]byte, error) {
	secret := make([]byte, secretSize)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("create a secret: %w", err)
	}
	return secret, nil
}

// unwrapAll unwraps all secrets, or names the first that is missing or damaged.
func (b *box) unwrapAll(all []Wrapped) (map[string][]byte, error) {
	byName := make(map[string][]byte, len(all))
	sealed := make(map[string]Wrapped, len(all))
	for _, w := range all {
		sealed[w.Name] = w
	}
	for _, name := range names {
		if _, ok := sealed[name]; !ok {
			return nil, fmt.Errorf("secret %s is missing: restore the keys.db that belongs to this data", name)
		}
	}
	if _, err := b.unwrap(sealed[Check]); err != nil {
		return nil, ErrWrongMasterKey
	}
	for _, w := range all {
		secret, err := b.unwrap(w)
		if err != nil {
			return nil, fmt.Errorf("secret %s is damaged: restore the keys.db that belongs to this data", w.Name)
		}
		byName[w.Name] = secret
	}
	return byName, nil
}

// Rewrap seals all secrets with another master key, in one transaction. It returns their number. After an error, either
// key can be the one in use, so the caller must keep both.
func (s *Secrets) Rewrap(ctx context.Context, next MasterKey) (int, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	stored, err := s.settle(ctx)
	if err != nil {
		return 0, err
	}
	// Read the store, not the memory: a secret that no longer opens must not be lost silently.
	secrets, err := s.box.unwrapAll(stored)
	if err != nil {
		return 0, err
	}
	box, err := newBox(next, s.box.instance)
	if err != nil {
		return 0, err
	}
	for i, w := range stored {
		stored[i].Sealed = box.wrap(w.Name, secrets[w.Name]).Sealed
	}
	if err := s.store.ResealSecrets(ctx, stored); err != nil {
		s.doubt = box // the commit may have succeeded
		return 0, fmt.Errorf("store the secrets under the new master key: %w", err)
	}
	s.box = box
	return len(stored), nil
}

// settle reads the secrets and, after a change with an unknown outcome, finds out which key they are under.
func (s *Secrets) settle(ctx context.Context) ([]Wrapped, error) {
	stored, err := s.store.Secrets(ctx)
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	if s.doubt == nil {
		return stored, nil
	}
	for _, w := range stored {
		if w.Name != Check {
			continue
		}
		if _, err := s.doubt.unwrap(w); err == nil {
			s.box = s.doubt
		}
	}
	s.doubt = nil
	return stored, nil
}

// inForce returns an error if another process has replaced the master key.
func (s *Secrets) inForce(ctx context.Context) error {
	stored, err := s.settle(ctx)
	if err != nil {
		return err
	}
	for _, w := range stored {
		if w.Name != Check {
			continue
		}
		if _, err := s.box.unwrap(w); err != nil {
			return ErrMasterKeyReplaced
		}
	}
	return nil
}

// ErrMasterKeyReplaced reports that another process of the instance has replaced the master key. Unwrapped secrets stay
// valid; new ones need the new key.
var ErrMasterKeyReplaced = errors.New("the master key was replaced by another process: configure the new key and restart this process")

// Reload reads the secrets again, after another process may have added or removed some. The secrets that every instance
// has never change. If they did, the store belongs to another instance and Reload changes nothing.
func (s *Secrets) Reload(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	stored, err := s.settle(ctx)
	if err != nil {
		return err
	}
	byName, err := s.box.unwrapAll(stored)
	if errors.Is(err, ErrWrongMasterKey) {
		return ErrMasterKeyReplaced
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if !bytes.Equal(byName[name], s.byName[name]) {
			return fmt.Errorf("secret %s has changed since the start", name)
		}
	}
	s.byName = byName
	return nil
}

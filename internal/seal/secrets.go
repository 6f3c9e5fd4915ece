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

// names are the secrets an instance cannot be without; Check first, because it tells a wrong key from a damaged secret.
var names = [...]string{Check, Pepper, Cursor, Replay, Log}

// addable are those that data of an earlier release may lack: nothing is worthless for a new one.
var addable = []string{Log}

// ErrWrongMasterKey says that the key is not the one the secrets are wrapped with. It names the setting.
var ErrWrongMasterKey = errors.New("masterKey: this is not the key the data is sealed with; give the key that was made with this data folder, or that its last `keepsake keys rotate-master` put in its place")

// Secrets are the instance's unwrapped secrets. They live in memory only. All of it is safe for concurrent use.
type Secrets struct {
	store Store

	// changing orders those who write to the store, so that no secret is added under a key that is just being replaced.
	changing sync.Mutex
	box      *box // of the master key
	doubt    *box // of the one that may have replaced it: whether it did, nobody could say

	mu     sync.RWMutex
	byName map[string][]byte
}

// Instance is the id of the instance they belong to.
func (s *Secrets) Instance() string {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.box.instance
}

// Get gives a secret that must be there: one of this package's constants, or one that was ensured. It panics for any
// other: a secret that is silently empty would hash and sign with nothing. The caller must not change it.
func (s *Secrets) Get(name string) []byte {
	secret, ok := s.Find(name)
	if !ok {
		panic("seal: no secret named " + name)
	}
	return secret
}

// Find gives the secret of a name, if there is one. The caller must not change it.
func (s *Secrets) Find(name string) ([]byte, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	secret, ok := s.byName[name]
	return secret, ok
}

// authenticated ends the secret Check of instances that were made by a release that authenticates its journal and the rows
// of its audit log. Nobody can take it away who lacks the master key.
const authenticated = 2

// Authenticates reports whether the instance was made by a release that authenticates its journal and its audit log: there
// is nothing genuine without authentication then. An older one was upgraded at most.
func (s *Secrets) Authenticates() bool {
	check := s.Get(Check)
	return len(check) > secretSize && check[secretSize] >= authenticated
}

// Names lists the secrets whose names begin with prefix, by name: signing/….
func (s *Secrets) Names(prefix string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.byName)), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// Add wraps a secret and keeps it, on stable storage when it returns; a name that exists is a conflict. It is a unit of
// work of the keys' database: do not call it inside another database's.
func (s *Secrets) Add(ctx context.Context, name string, secret []byte) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.add(ctx, name, bytes.Clone(secret))
}

// Ensure gives the secret of a name and makes it, 32 random bytes, where there is none yet. What it is the key to must
// not exist without it: where data made with a lost secret could be there, refuse instead.
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
	wrapped, err := s.box.wrap(name, secret)
	if err != nil {
		return err
	}
	if err := s.store.AddSecrets(ctx, []Wrapped{wrapped}); err != nil {
		return fmt.Errorf("keep secret %s: %w", name, err)
	}
	// Another process may have replaced the master key in between, and a secret under the old one must not stay.
	if err := s.inForce(ctx); err != nil {
		return errors.Join(err, s.store.RemoveSecret(context.WithoutCancel(ctx), name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[name] = secret
	return nil
}

// Remove forgets a secret that was added, for good. It panics for one the instance cannot be without.
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

// Open unwraps the secrets in st. Where there are none it makes them, but only if the place is fresh: data without its
// secrets has lost them, and new ones would make every API key in it worthless without a word.
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
		if s.byName, err = box.unwrapAll(wrapped); err == nil {
			err = s.addNew(ctx)
		}
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

// addNew makes the secrets that came with this release.
func (s *Secrets) addNew(ctx context.Context) error {
	for _, name := range addable {
		if _, err := s.Ensure(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Opens reports whether master is the key the secrets in st are wrapped with.
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

// make makes the secrets of a new instance.
func (b *box) make(ctx context.Context, st Store) (map[string][]byte, error) {
	byName := make(map[string][]byte, len(names))
	var all []Wrapped
	for _, name := range names {
		secret, err := random()
		if err != nil {
			return nil, err
		}
		if name == Check {
			secret = append(secret, authenticated)
		}
		wrapped, err := b.wrap(name, secret)
		if err != nil {
			return nil, err
		}
		byName[name] = secret
		all = append(all, wrapped)
	}
	if err := st.AddSecrets(ctx, all); err != nil {
		return nil, fmt.Errorf("keep secrets: %w", err)
	}
	return byName, nil
}

func random() ([]byte, error) {
	secret := make([]byte, secretSize)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("make a secret: %w", err)
	}
	return secret, nil
}

// unwrapAll opens every secret there is, or says which one it is that does not open.
func (b *box) unwrapAll(all []Wrapped) (map[string][]byte, error) {
	byName := make(map[string][]byte, len(all))
	sealed := make(map[string]Wrapped, len(all))
	for _, w := range all {
		sealed[w.Name] = w
	}
	for _, name := range names {
		if _, ok := sealed[name]; !ok && !slices.Contains(addable, name) {
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

// Rewrap seals every secret with another master key, in one transaction: at any moment all of them open with the one key
// or all with the other. It says how many there are. The caller keeps both keys until it returns nil; after an error
// either may be the one.
func (s *Secrets) Rewrap(ctx context.Context, next MasterKey) (int, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	stored, err := s.settle(ctx)
	if err != nil {
		return 0, err
	}
	// What is in the store, not what is in memory: a secret that no longer opens must not be lost quietly.
	secrets, err := s.box.unwrapAll(stored)
	if err != nil {
		return 0, err
	}
	box, err := newBox(next, s.box.instance)
	if err != nil {
		return 0, err
	}
	for i, w := range stored {
		resealed, err := box.wrap(w.Name, secrets[w.Name])
		if err != nil {
			return 0, err
		}
		stored[i].Sealed = resealed.Sealed
	}
	if err := s.store.ResealSecrets(ctx, stored); err != nil {
		s.doubt = box // a commit that failed may have happened
		return 0, fmt.Errorf("keep the secrets under the new master key: %w", err)
	}
	s.box = box
	return len(stored), nil
}

// settle reads the secrets, and finds out which key they are under where a change of it left that open.
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

// inForce refuses to go on under a master key that another process has replaced.
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

// ErrMasterKeyReplaced says that another process on the same database has replaced the master key. What was opened under
// the old one stays good; new secrets take the new key.
var ErrMasterKeyReplaced = errors.New("the master key was replaced by another process: give this one the new key and start it again")

// Reload reads the secrets anew, where another process may have added and removed some. Those an instance cannot be
// without never change, so other ones under their names are another instance's, and nothing is taken over.
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
			return fmt.Errorf("secret %s is another one than at the start", name)
		}
	}
	s.byName = byName
	return nil
}

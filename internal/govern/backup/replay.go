package backup

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
)

// KeyEntry is the journal entry of a changed key.
func KeyEntry(k *apikey.APIKey) Entry {
	state := &KeyState{
		ID: k.ID, WorkspaceID: k.WorkspaceID, Revision: k.Revision, Scopes: k.Scopes.Names(), AllowedIPs: k.AllowedIPs,
		ExpiresAt: k.ExpiresAt, DisabledAt: k.DisabledAt, RevokedAt: k.RevokedAt,
	}
	for _, s := range k.Secrets {
		state.Secrets = append(state.Secrets, SecretState{Hash: s.Hash[:], Hint: s.Hint, CreatedAt: s.CreatedAt, ValidUntil: s.ValidUntil})
	}
	return Entry{Key: state}
}

// UserEntry is the journal entry of a changed or deleted user.
func UserEntry(u *account.User, deleted bool) Entry {
	if deleted {
		return Entry{User: &UserState{ID: u.ID, Revision: u.Revision, Deleted: true}}
	}
	return Entry{User: &UserState{
		ID: u.ID, Revision: u.Revision, Role: string(u.Role), Disabled: u.Disabled, PasswordHash: u.PasswordHash,
	}}
}

// WorkspaceEntry is the journal entry of a changed workspace.
func WorkspaceEntry(w *account.Workspace) Entry {
	return Entry{Workspace: &WorkspaceState{ID: w.ID, Revision: w.Revision, Suspended: w.Suspended, Embeddings: w.Embeddings}}
}

// SubjectEntry is the journal entry of an erased subject.
func SubjectEntry(workspaceID string, subject [16]byte, generation int64, at time.Time) Entry {
	return Entry{Subject: &ErasedSubject{WorkspaceID: workspaceID, Hash: subject, Generation: generation, At: at.UTC()}}
}

// MemoriesEntry is the journal entry of erased memories.
func MemoriesEntry(workspaceID string, subject [16]byte, ids []string, at time.Time) Entry {
	return Entry{Memories: &ErasedMemories{WorkspaceID: workspaceID, Hash: subject, IDs: ids, At: at.UTC()}}
}

// Credentials are what Replay changes.
type Credentials struct {
	APIKeys  APIKeys
	Accounts Accounts
}

// APIKeys reads and changes API keys.
type APIKeys interface {
	APIKey(ctx context.Context, workspaceID, id string) (*apikey.APIKey, error)
	UpdateAPIKey(ctx context.Context, k *apikey.APIKey) error
}

// Accounts reads and changes users and workspaces.
type Accounts interface {
	User(ctx context.Context, within account.Visibility, id string) (*account.User, error)
	UpdateUser(ctx context.Context, u *account.User) error
	DeleteUser(ctx context.Context, u *account.User) error
	Workspace(ctx context.Context, id string) (*account.Workspace, error)
	UpdateWorkspace(ctx context.Context, w *account.Workspace) error
}

// Erasures is what ReplayErasures changes.
type Erasures interface {
	// EraseAgain ends the generations of a subject up to one, and with all those after it. It reports whether any had not
	// ended.
	EraseAgain(ctx context.Context, workspaceID string, subject [16]byte, generation int64, all bool, at time.Time) (bool, error)
	// ForgetAgain erases those memories of a subject that exist, returns their number, and leaves tombstones of all.
	ForgetAgain(ctx context.Context, workspaceID string, subject [16]byte, ids []string, at time.Time) (int, error)
}

// ReplayErasures repeats the erasures in the journal and returns how many had an effect. asOf is the time of the newest data
// in the backup. A later erasure applies to all generations, because a restore in between can have reset the generation.
func ReplayErasures(ctx context.Context, st Erasures, journal []Entry, asOf time.Time) (subjects, memories int, err error) {
	for _, e := range latest(journal) {
		switch {
		case e.Memories != nil:
			n, err := st.ForgetAgain(ctx, e.Memories.WorkspaceID, e.Memories.Hash, e.Memories.IDs, e.Memories.At)
			if err != nil {
				return subjects, memories, fmt.Errorf("replay the journal: %w", err)
			}
			memories += n
		case e.Subject != nil:
			s := e.Subject
			again, err := st.EraseAgain(ctx, s.WorkspaceID, s.Hash, s.Generation, s.At.After(asOf), s.At)
			if err != nil {
				return subjects, memories, fmt.Errorf("replay the journal: %w", err)
			}
			if again {
				subjects++
			}
		}
	}
	return subjects, memories, nil
}

// Replayed is the result of a replay.
type Replayed struct {
	Keys       int `json:"apiKeys"` // updated
	Users      int `json:"users"`
	Workspaces int `json:"workspaces"`
	// Newer counts the entries about credentials that the backup does not contain, because they were created after it.
	Newer int `json:"newer"`
}

// Replay brings credentials to their last state in the journal. asOf is the time of the newest data in the
// backup. Entries before it, as in an old copy of the journal, do not undo what is in the store; but a revocation, deletion,
// suspension or disabling always applies.
func Replay(ctx context.Context, in Credentials, journal []Entry, asOf time.Time) (*Replayed, error) {
	done := &Replayed{}
	for _, e := range latest(journal) {
		var err error
		switch {
		case e.Key != nil:
			err = e.Key.replay(ctx, in.APIKeys, e.after(asOf), done)
		case e.User != nil:
			err = e.User.replay(ctx, in.Accounts, e.after(asOf), done)
		case e.Workspace != nil:
			err = e.Workspace.replay(ctx, in.Accounts, e.after(asOf), done)
		}
		if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
			done.Newer++
		} else if err != nil {
			return nil, fmt.Errorf("replay the journal: %w", err)
		}
	}
	return done, nil
}

// after returns a function that reports whether e is later than a backup with a given revision. The time decides, because a
// restore resets revisions; if a clock was set back, the revision does.
func (e *Entry) after(asOf time.Time) func(held int64) bool {
	revision, _ := e.revision()
	return func(held int64) bool { return !e.At.Before(asOf) || revision > held }
}

// latest merges the entries of each credential, in the order in which credentials first appear.
func latest(journal []Entry) []Entry {
	place := map[string]int{}
	var list []Entry
	for _, e := range journal {
		id := e.id()
		if i, ok := place[id]; ok {
			list[i] = merge(list[i], e)
			continue
		}
		place[id] = len(list)
		list = append(list, e)
	}
	return list
}

// over returns the state of a key after a replay. The later state wins, but revocations are final, and a key that the
// journal calls disabled stays disabled.
func (s *KeyState) over(held *KeyState, later bool) *KeyState {
	next := *held
	if later {
		next = *s
	}
	next.Revision = held.Revision
	next.RevokedAt = cmp.Or(held.RevokedAt, s.RevokedAt)
	next.DisabledAt = cmp.Or(next.DisabledAt, s.DisabledAt)
	return &next
}

func (s *KeyState) replay(ctx context.Context, st APIKeys, later func(held int64) bool, done *Replayed) error {
	k, err := st.APIKey(ctx, s.WorkspaceID, s.ID)
	if err != nil {
		return err
	}
	held := KeyEntry(k)
	next := s.over(held.Key, later(k.Revision))
	if same(held, Entry{Key: next}) {
		return nil
	}
	k.Scopes = auth.None
	for _, name := range next.Scopes {
		one, _ := auth.ParseScope(name) // an unknown scope grants nothing
		k.Scopes |= one
	}
	k.AllowedIPs, k.ExpiresAt, k.DisabledAt, k.RevokedAt = next.AllowedIPs, next.ExpiresAt, next.DisabledAt, next.RevokedAt
	k.Secrets = nil
	for _, secret := range next.Secrets {
		one := apikey.Secret{Hint: secret.Hint, CreatedAt: secret.CreatedAt, ValidUntil: secret.ValidUntil}
		copy(one.Hash[:], secret.Hash)
		k.Secrets = append(k.Secrets, one)
	}
	k.Revision++
	if err := st.UpdateAPIKey(ctx, k); err != nil {
		return err
	}
	done.Keys++
	return nil
}

// over returns the state of a user after a replay.
func (s *UserState) over(held *UserState, later bool) *UserState {
	next := *held
	if later {
		next = *s
	}
	next.Revision = held.Revision
	next.Disabled = next.Disabled || s.Disabled
	return &next
}

func (s *UserState) replay(ctx context.Context, st Accounts, later func(held int64) bool, done *Replayed) error {
	u, err := st.User(ctx, account.AllWorkspaces, s.ID)
	if err != nil {
		return err
	}
	if s.Deleted {
		if err := st.DeleteUser(ctx, u); err != nil {
			return err
		}
		done.Users++
		return nil
	}
	held := UserEntry(u, false)
	next := s.over(held.User, later(u.Revision))
	if same(held, Entry{User: next}) {
		return nil
	}
	u.Role, u.Disabled, u.PasswordHash = account.Role(next.Role), next.Disabled, next.PasswordHash
	u.Revision++
	if err := st.UpdateUser(ctx, u); err != nil {
		return err
	}
	done.Users++
	return nil
}

func (s *WorkspaceState) replay(ctx context.Context, st Accounts, later func(held int64) bool, done *Replayed) error {
	w, err := st.Workspace(ctx, s.ID)
	if err != nil {
		return err
	}
	suspended := s.Suspended || w.Suspended && !later(w.Revision)
	// A restore never makes texts leave the machine that did not before it.
	off := !s.Embeddings && later(w.Revision)
	if w.Suspended == suspended && !(w.Embeddings && off) {
		return nil
	}
	w.Suspended, w.Embeddings = suspended, w.Embeddings && !off
	w.Revision++
	if err := st.UpdateWorkspace(ctx, w); err != nil {
		return err
	}
	done.Workspaces++
	return nil
}

package account

import (
	"context"
	"fmt"
	"sync"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// maxLiveSessions bounds the sessions in memory. A session that is not in memory costs a read of the database.
const maxLiveSessions = 32_768

// liveSession is a session that has not ended, with the scopes of its user's role. It is immutable.
type liveSession struct {
	id, userID string
	workspace  *Entry
	scopes     auth.Scopes
}

// liveSessions holds the sessions of recent requests in memory. Whatever changes a session or its user removes the session
// here after the commit, and the next request reads it again.
type liveSessions struct {
	store     SessionStore
	directory *Directory

	mu     sync.RWMutex
	byID   map[string]*liveSession
	byUser map[string]map[string]*liveSession // by user, then by session
	// removals counts the removals by a change. A session that was read before a removal is not added after it.
	removals uint64
}

func newLiveSessions(store SessionStore, directory *Directory) *liveSessions {
	return &liveSessions{
		store: store, directory: directory,
		byID: map[string]*liveSession{}, byUser: map[string]map[string]*liveSession{},
	}
}

// find returns a session from memory or from the database. It returns auth.ErrInvalidToken if the session has ended.
func (l *liveSessions) find(ctx context.Context, id string) (*liveSession, error) {
	for {
		l.mu.RLock()
		session, removals := l.byID[id], l.removals
		l.mu.RUnlock()
		if session != nil {
			return session, nil
		}
		session, err := l.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if l.add(session, removals) {
			return session, nil
		}
	}
}

func (l *liveSessions) read(ctx context.Context, id string) (*liveSession, error) {
	s, err := l.store.Standing(ctx, id)
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		return nil, auth.ErrInvalidToken
	}
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	workspace, ok := l.directory.Entry(s.WorkspaceID)
	if !ok {
		return nil, fmt.Errorf("session %s: workspace %s does not exist", id, s.WorkspaceID)
	}
	return &liveSession{id: id, userID: s.UserID, workspace: workspace, scopes: s.Role.Scopes()}, nil
}

// add adds a session that was read when removals had this value. It returns false if it is out of date.
func (l *liveSessions) add(session *liveSession, removals uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removals != removals {
		return false
	}
	for _, other := range l.byID { // remove any session to make room
		if len(l.byID) < maxLiveSessions {
			break
		}
		l.remove(other)
	}
	l.byID[session.id] = session
	if l.byUser[session.userID] == nil {
		l.byUser[session.userID] = map[string]*liveSession{}
	}
	l.byUser[session.userID][session.id] = session
	return true
}

// removeUser removes the sessions of a user except one, which can be empty.
func (l *liveSessions) removeUser(userID, except string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removals++
	for id, session := range l.byUser[userID] {
		if id != except {
			l.remove(session)
		}
	}
}

// removeSession removes a session.
func (l *liveSessions) removeSession(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removals++
	if session := l.byID[id]; session != nil {
		l.remove(session)
	}
}

// removeAll removes every session.
func (l *liveSessions) removeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removals++
	clear(l.byID)
	clear(l.byUser)
}

// remove removes a session. The caller holds mu.
func (l *liveSessions) remove(session *liveSession) {
	delete(l.byID, session.id)
	delete(l.byUser[session.userID], session.id)
	if len(l.byUser[session.userID]) == 0 {
		delete(l.byUser, session.userID)
	}
}

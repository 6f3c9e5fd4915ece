package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"keepsake/internal/problem"
)

// State is how far a snapshot is.
type State string

// The states.
const (
	Running State = "running"
	Ready   State = "ready"
	Failed  State = "failed"
)

// Snapshot is a consistent copy of the databases in a folder of its own, for whoever packs it into archives.
type Snapshot struct {
	ID       string
	Dir      string // absolute; its files belong together once it is Ready
	State    State
	Instance string
	MadeAt   time.Time
	Bytes    int64 // of the copy so far
	Total    int64 // of the files it is made of: the copy can be smaller
	Problem  string
}

// Options is what Snapshots needs.
type Options struct {
	Dir      string // the data folder; snapshots are made in it, because only there is room to expect and privacy
	Instance string
	// Take copies everything into a folder. The copy is on stable storage when it returns.
	Take func(ctx context.Context, dir string) error
	// Size is how many bytes Take reads.
	Size func() int64
	// Free is how many bytes there is room for; nil where that does not matter.
	Free func() int64
	// Made logs that somebody made a snapshot.
	Made func(ctx context.Context, actor, id string) error
	// Lease is for how long a snapshot is kept for somebody who does not ask for it any more; 0: a minute.
	Lease time.Duration
	Now   func() time.Time
	Log   *slog.Logger
}

// Snapshots makes snapshots, one at a time. All of it is safe for concurrent use.
type Snapshots struct {
	Options

	mu      sync.Mutex
	current *underWay
	closed  bool
}

// underWay is the one snapshot there is.
type underWay struct {
	Snapshot
	cancel context.CancelFunc
	done   chan struct{}
	lease  *time.Timer
}

// spare is how much room a snapshot leaves for the writes that go on beside it.
const spare = 64 << 20

const folderPrefix = "snapshot-"

// NewSnapshots takes over a data folder that nobody else has open. What a process that was killed left of snapshots is
// removed.
func NewSnapshots(o Options) *Snapshots {
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	left, _ := filepath.Glob(filepath.Join(o.Dir, folderPrefix+"*")) // fails for a bad pattern only, as a folder [x] would be
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			o.Log.Warn("a snapshot that nobody needs is still there", "dir", dir, "error", err)
		}
	}
	return &Snapshots{Options: o}
}

// Start begins a snapshot. Whoever wants it asks for it again before its lease is over, each time anew. While there is
// another one, or no room for one, it is problem.Conflict.
func (s *Snapshots) Start(actor string) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, problem.NotAvailable("The service is stopping.", time.Second)
	}
	if s.current != nil {
		return nil, problem.Conflicts("Another backup is running. Wait until it has finished.")
	}
	size := s.Size()
	if s.Free != nil && s.Free() < size+spare {
		return nil, problem.Conflicts(fmt.Sprintf("There is not enough disk space for a copy: it needs %d MiB in the data folder.", (size+spare)>>20))
	}
	id := rand.Text()
	dir, err := filepath.Abs(filepath.Join(s.Dir, folderPrefix+id))
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for the snapshot: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &underWay{
		Snapshot: Snapshot{
			ID: id, Dir: dir, State: Running, Instance: s.Instance, MadeAt: s.Now().UTC().Truncate(time.Millisecond), Total: size,
		},
		cancel: cancel, done: make(chan struct{}),
	}
	u.lease = time.AfterFunc(s.Lease, func() { _ = s.Discard(id) }) // it may be gone
	s.current = u
	go s.take(ctx, u, actor)
	seen := u.Snapshot
	return &seen, nil
}

func (s *Snapshots) take(ctx context.Context, u *underWay, actor string) {
	defer close(u.done)
	err := s.Take(ctx, u.Dir)
	if err == nil {
		err = s.Made(ctx, actor, u.ID)
	}
	if err != nil {
		_ = os.RemoveAll(u.Dir) // now, where it may be what filled the disk; Discard tries again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u.State = Ready
	if err != nil {
		u.State, u.Problem = Failed, err.Error()
		if ctx.Err() == nil {
			s.Log.Error("a snapshot failed", "error", err)
		}
	}
}

// Snapshot tells how far one is, and renews its lease. One that is not there any more is problem.Missing.
func (s *Snapshots) Snapshot(id string) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.current
	if u == nil || u.ID != id {
		return nil, problem.Missing()
	}
	u.lease.Reset(s.Lease)
	seen := u.Snapshot
	seen.Bytes = sizeOf(u.Dir)
	return &seen, nil
}

// Discard ends a snapshot, or removes it where it is made. One that is not there any more is problem.Missing.
func (s *Snapshots) Discard(id string) error {
	s.mu.Lock()
	u := s.current
	if u == nil || u.ID != id {
		s.mu.Unlock()
		return problem.Missing()
	}
	s.mu.Unlock()

	u.lease.Stop()
	u.cancel()
	<-u.done
	err := os.RemoveAll(u.Dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == u {
		s.current = nil
	}
	if err != nil {
		return fmt.Errorf("remove the snapshot: %w", err)
	}
	return nil
}

// Close ends what is under way. The databases must not be closed before.
func (s *Snapshots) Close() error {
	s.mu.Lock()
	s.closed = true
	u := s.current
	s.mu.Unlock()
	if u == nil {
		return nil
	}
	err := s.Discard(u.ID)
	if _, gone := problem.As(err); gone {
		return nil
	}
	return err
}

// sizeOf adds up the files in a folder; those that go away meanwhile count as nothing.
func sizeOf(dir string) (bytes int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// CopyCheckpoints copies the checkpoints of the audit log, if there are any, into a snapshot.
func CopyCheckpoints(dataDir, dir string) error {
	data, err := os.ReadFile(filepath.Join(dataDir, checkpointsFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy checkpoints: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, checkpointsFile), data, 0o600)
}

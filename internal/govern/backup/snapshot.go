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

	"keepsake/internal/base/problem"
)

// State is the state of a snapshot.
type State string

// The states.
const (
	Running State = "running"
	Ready   State = "ready"
	Failed  State = "failed"
)

// Snapshot is a consistent copy of the databases in its own folder, from which archives are made.
type Snapshot struct {
	ID       string
	Dir      string // absolute; complete once State is Ready
	State    State
	Instance string
	MadeAt   time.Time
	Bytes    int64 // of the copy so far
	Total    int64 // of the source files; the copy can be smaller
	Problem  string
}

// Options is what Snapshots needs.
type Options struct {
	Dir      string // the data folder; snapshots are created in it, because it is private and on a disk of sufficient size
	Instance string
	// Take copies everything durably into a folder.
	Take func(ctx context.Context, dir string) error
	// Size returns the number of bytes that Take reads.
	Size func() int64
	// Free returns the free space in bytes; nil: unlimited.
	Free func() int64
	// Made records a snapshot in the audit log.
	Made func(ctx context.Context, actor, id string) error
	// Lease is how long a snapshot is kept after the last request for it; 0: a minute.
	Lease time.Duration
	Now   func() time.Time
	Log   *slog.Logger
}

// Snapshots creates snapshots, one at a time. It is safe for concurrent use.
type Snapshots struct {
	Options

	mu      sync.Mutex
	current *underWay
	closed  bool
}

// underWay is the current snapshot.
type underWay struct {
	Snapshot
	cancel context.CancelFunc
	done   chan struct{}
	lease  *time.Timer
}

// spare is the free space that a snapshot leaves for other writes.
const spare = 64 << 20

const folderPrefix = "snapshot-"

// NewSnapshots returns Snapshots for a data folder that this process has locked. It removes snapshots of a process that was
// killed.
func NewSnapshots(o Options) *Snapshots {
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	left, _ := filepath.Glob(filepath.Join(o.Dir, folderPrefix+"*")) // fails only for a bad pattern, such as a folder named [x]
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			o.Log.Warn("deleting old snapshot failed", "dir", dir, "error", err)
		}
	}
	return &Snapshots{Options: o}
}

// Start begins a snapshot. Snapshot must be called within each lease, or it is removed. Start returns problem.Conflict while
// another snapshot exists, or if there is not enough space.
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
		return nil, fmt.Errorf("create a folder for the snapshot: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	u := &underWay{
		Snapshot: Snapshot{
			ID: id, Dir: dir, State: Running, Instance: s.Instance, MadeAt: s.Now().UTC().Truncate(time.Millisecond), Total: size,
		},
		cancel: cancel, done: make(chan struct{}),
	}
	u.lease = time.AfterFunc(s.Lease, func() { _ = s.Discard(id) }) // possibly removed already
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
		_ = os.RemoveAll(u.Dir) // now, because it can have filled the disk; Discard tries again
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

// Snapshot returns the current state and renews the lease. It returns problem.Missing if the snapshot was removed.
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

// Discard cancels or removes a snapshot. It returns problem.Missing if the snapshot was removed.
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

// Close cancels the current snapshot. Close the databases afterwards.
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

// sizeOf adds up the files in a folder. It ignores files that disappear meanwhile.
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

// CopyCheckpoints copies the checkpoints of the audit log, if any, into a snapshot.
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

// Package sqlite is the embedded engine: three SQLite files in one folder, each with one writer that commits in groups
// and a pool of readers.
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/base/folder"
	"keepsake/internal/store"
)

// ErrInUse is the error of Open when another process has the folder open.
var ErrInUse = folder.ErrInUse

// The files of a data folder.
const (
	mainFile  = "main.db"
	keysFile  = "keys.db"
	usageFile = "usage.db"
)

// Options are where and how to open.
type Options struct {
	Dir        string        // created with mode 0700 if missing
	Log        *slog.Logger  // nil disables logging
	ProbeEvery time.Duration // how often a stopped writer tries again; 0 for one second
	LargeLog   int64         // size from which a write-ahead log counts as too large; 0 for store.LargeLog
	Memory     int64         // bytes that the process can use; 0 for no limit
	Instance   string        // the ID of an instance that moves in; empty for a new instance
}

// Engine is the open folder.
type Engine struct {
	dir      string
	instance string // the ID for a new folder
	memory   int64
	log      *slog.Logger
	lock     *folder.Lock
	main     *database
	keys     *database
	usage    *database

	stopCheck context.CancelFunc
	check     sync.WaitGroup
	checked   atomic.Bool           // the check completed without a finding
	damage    atomic.Pointer[error] // what the check found

	closing  sync.Once
	closeErr error
}

var _ store.Engine = (*Engine)(nil)

// Open opens or creates the databases in opt.Dir and upgrades their schemas. Its error is one line with advice. Files that
// contradict each other stay unchanged. Only one process at a time can open a folder.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.ProbeEvery == 0 {
		opt.ProbeEvery = time.Second
	}
	if opt.LargeLog == 0 {
		opt.LargeLog = store.LargeLog
	}
	if err := Examine(ctx, opt.Dir); err != nil { // before a lock is written
		return nil, err
	}
	l, err := folder.Take(opt.Dir)
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: opt.Dir, instance: opt.Instance, memory: opt.Memory, log: opt.Log, lock: l}
	if err := e.open(ctx); err != nil {
		e.closeFiles()
		l.Release(!l.Unclean) // an unchecked folder stays unchecked
		return nil, err
	}
	for _, d := range e.files() {
		d.writer = newWriter(filepath.Join(opt.Dir, d.file), d.session, opt)
	}
	if l.Unclean {
		e.checkInBackground()
	}
	return e, nil
}

func (e *Engine) open(ctx context.Context) error {
	found, err := inspect(ctx, e.dir)
	if err != nil {
		return err
	}
	if err := found.contradiction(e.dir); err != nil {
		return err
	}
	id := cmp.Or(found.keys, e.instance)
	if id == "" {
		id = newInstanceID()
	}
	if _, err := os.Stat(filepath.Join(e.dir, usageFile)); found.main != "" && errors.Is(err, fs.ErrNotExist) {
		e.log.Warn("usage.db is missing, so quotas start at zero", "dir", e.dir)
	}
	if err := e.openFiles(ctx); err != nil {
		return err
	}
	// keys.db first: if main.db has an ID, there was a keys.db.
	for _, d := range []*database{e.keys, e.main, e.usage} {
		has, err := d.name(ctx, id)
		if err != nil {
			return opening(filepath.Join(e.dir, d.file), err)
		}
		if has != id {
			return fmt.Errorf("%s: %s belongs to another instance: restore the one that belongs here", e.dir, d.file)
		}
	}
	return nil
}

// openFiles opens all files at once, because a first start mostly waits for the disk.
func (e *Engine) openFiles(ctx context.Context) error {
	open := func(file string, as **database, err *error) func() {
		return func() { *as, *err = openDatabase(ctx, filepath.Join(e.dir, file), file, file != usageFile, e.memory) }
	}
	var errs [3]error
	var all sync.WaitGroup
	all.Go(open(keysFile, &e.keys, &errs[0]))
	all.Go(open(mainFile, &e.main, &errs[1]))
	all.Go(open(usageFile, &e.usage, &errs[2]))
	all.Wait()
	return cmp.Or(errs[:]...) // one line: the first
}

func (e *Engine) files() []*database {
	var open []*database
	for _, d := range []*database{e.main, e.keys, e.usage} {
		if d != nil {
			open = append(open, d)
		}
	}
	return open
}

func (e *Engine) closeFiles() error {
	var errs []error
	for _, d := range e.files() {
		if err := d.close(); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", d.file, err))
		}
	}
	return errors.Join(errs...)
}

// Close waits for running transactions, refuses new ones and closes the files. Later calls return the first result.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		if e.stopCheck != nil {
			e.stopCheck()
			e.check.Wait()
		}
		err := e.closeFiles()
		// An interrupted check starts again next time.
		inOrder := err == nil && (e.stopCheck == nil || e.checked.Load())
		e.closeErr = errors.Join(err, e.lock.Release(inOrder))
	})
	return e.closeErr
}

// Main implements store.Engine.
func (e *Engine) Main() store.Database { return e.main }

// Keys implements store.Engine.
func (e *Engine) Keys() store.Database { return e.keys }

// Usage implements store.Engine.
func (e *Engine) Usage() store.Database { return e.usage }

// Shared implements store.Engine. The lock of the folder excludes other processes.
func (e *Engine) Shared() bool { return false }

// Alone implements store.Engine.
func (e *Engine) Alone(ctx context.Context, _ string, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

// Ready implements store.Engine. It reports a stopped writer and damage, and reads a row.
func (e *Engine) Ready(ctx context.Context) error {
	for _, d := range e.files() {
		if f := d.writer.stopped.Load(); f != nil {
			return fmt.Errorf("%s: %s: %w", d.file, f, f.problem())
		}
	}
	return e.Readable(ctx)
}

// Readable implements store.Engine.
func (e *Engine) Readable(ctx context.Context) error {
	if damage := e.damage.Load(); damage != nil {
		return *damage
	}
	var id string
	if err := e.main.In(ctx).QueryRow(ctx, "SELECT id FROM instance").Scan(&id); err != nil {
		return fmt.Errorf("read %s: %w", mainFile, err)
	}
	return nil
}

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

	"keepsake/internal/folder"
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

// Options say where and how to open.
type Options struct {
	Dir        string        // made with mode 0700 when absent
	Log        *slog.Logger  // nil: nothing is logged
	ProbeEvery time.Duration // how often a writer that has stopped tries again; 0 for one second
	LargeLog   int64         // bytes of a write-ahead log that are worth a warning; 0 for 256 MiB
	Memory     int64         // bytes that the process can use; 0: no bound
	Instance   string        // the id of an instance that is made here because it moves in; empty: a new one
}

// Engine is the open folder.
type Engine struct {
	dir      string
	instance string // the id for a place that has none
	memory   int64
	log      *slog.Logger
	lock     *folder.Lock
	main     *database
	keys     *database
	usage    *database

	stopCheck context.CancelFunc
	check     sync.WaitGroup
	checked   atomic.Bool           // the check ran to its end and found nothing
	damage    atomic.Pointer[error] // what it found

	closing  sync.Once
	closeErr error
}

var _ store.Engine = (*Engine)(nil)

// Open opens or makes the databases in opt.Dir and brings their schemas up to date. Its error is one line that says what
// to do; files that contradict each other are left as they are. Only one process at a time can have a folder open.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.ProbeEvery == 0 {
		opt.ProbeEvery = time.Second
	}
	if opt.LargeLog == 0 {
		opt.LargeLog = 256 << 20
	}
	l, err := folder.Take(opt.Dir)
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: opt.Dir, instance: opt.Instance, memory: opt.Memory, log: opt.Log, lock: l}
	if err := e.open(ctx); err != nil {
		e.closeFiles()
		l.Release(!l.Unclean) // what the last process left unchecked is still unchecked
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
	found, err := look(ctx, e.dir)
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
		e.log.Warn("usage.db is missing: what has been used of quotas so far is forgotten", "dir", e.dir)
	}
	if err := e.openFiles(ctx); err != nil {
		return err
	}
	// keys.db first: a main.db that has an id is then proof that there was a keys.db.
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

// openFiles opens all files at once: a first start waits for the disk most of the time.
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

// Close waits for running units, refuses new ones and closes the files. Later calls answer what the first did.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		if e.stopCheck != nil {
			e.stopCheck()
			e.check.Wait()
		}
		err := e.closeFiles()
		// A check that was cut short starts again next time.
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

// Shared implements store.Engine: the lock of the folder keeps others out.
func (e *Engine) Shared() bool { return false }

// Alone implements store.Engine.
func (e *Engine) Alone(ctx context.Context, _ string, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

// Ready implements store.Engine: it names a writer that has stopped and damage that was found, and reads a row.
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

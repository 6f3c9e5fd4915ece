package postgres

import (
	"context"
	"io/fs"
	"testing/fstest"
	"time"
)

// The causes of refusals: no connection became free in time, and the server does not answer.
var (
	ErrTurn = errTurn
	ErrDown = errDown
)

// SetAcquire changes how long transactions and reads wait for a connection. None may be running.
func SetAcquire(e *Engine, wait time.Duration) { e.opt.Acquire = wait }

// Down reports whether the engine has noticed that its server does not answer.
func Down(e *Engine) bool { return e.monitors[e.where].down.Load() }

// Acquisitions is how many transactions have requested a connection, including those that gave up.
func Acquisitions(e *Engine) int64 {
	stat := e.main.units.Stat()
	return stat.AcquireCount() + stat.CanceledAcquireCount()
}

// MigrateSome is Migrate with only some of the migrations.
func MigrateSome(ctx context.Context, opt Options, knows func(path string) bool) error {
	e, err := newEngine(opt)
	if err != nil {
		return err
	}
	some := fstest.MapFS{}
	for _, part := range []string{mainPart, keysPart, usagePart} {
		entries, err := migrations.ReadDir("migration/" + part)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			path := part + "/" + entry.Name()
			if !knows(path) {
				continue
			}
			text, err := migrations.ReadFile("migration/" + path)
			if err != nil {
				return err
			}
			some["migration/"+path] = &fstest.MapFile{Data: text}
		}
	}
	e.trees = []fs.FS{some}
	return e.prepare(ctx, false)
}

// OpenNewer is Open with additional migrations, by part/name.
func OpenNewer(ctx context.Context, opt Options, more map[string]string) (*Engine, error) {
	e, err := newEngine(opt)
	if err != nil {
		return nil, err
	}
	tree := fstest.MapFS{}
	for path, text := range more {
		tree["migration/"+path] = &fstest.MapFile{Data: []byte(text)}
	}
	e.trees = []fs.FS{migrations, tree}
	return e.open(ctx)
}

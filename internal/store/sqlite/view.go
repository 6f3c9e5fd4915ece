package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"keepsake/internal/store"
)

// View reads the files of a folder and changes nothing of them, also while another process has the folder open. It makes
// no schema anew: what it reads must have been written by a program as new as this one.
type View struct {
	main, keys *viewed
}

var _ store.Engine = (*View)(nil)

// errViewed is the error of whoever writes through a View.
var errViewed = errors.New("sqlite: the folder was opened to be read only")

// OpenView opens the files of dir. An absent one is fs.ErrNotExist.
func OpenView(ctx context.Context, dir string) (*View, error) {
	v := &View{}
	var err error
	if v.main, err = view(ctx, filepath.Join(dir, mainFile)); err != nil {
		return nil, err
	}
	if v.keys, err = view(ctx, filepath.Join(dir, keysFile)); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// OlderKeys refuses secrets that no program as new as this one has been started on.
func (v *View) OlderKeys(ctx context.Context) error {
	has, want, err := v.keys.schema(ctx, keysFile)
	if err == nil && has < want {
		err = errors.New("has a schema of an older release: start this keepsake on the folder once, or verify with that release")
	}
	if err != nil {
		return fmt.Errorf("%s %w", keysFile, err)
	}
	return nil
}

// Close closes the files.
func (v *View) Close() error {
	var errs []error
	for _, d := range []*viewed{v.main, v.keys} {
		if d != nil {
			errs = append(errs, d.readers.db.Close())
		}
	}
	return errors.Join(errs...)
}

// Main implements store.Engine.
func (v *View) Main() store.Database { return v.main }

// Keys implements store.Engine.
func (v *View) Keys() store.Database { return v.keys }

// Usage implements store.Engine. Nobody looks at counters from outside, so that file is left alone.
func (v *View) Usage() store.Database { return v.main }

// Shared implements store.Engine: nobody waits for a View to see what is new.
func (*View) Shared() bool { return false }

// Alone implements store.Engine.
func (*View) Alone(ctx context.Context, _ string, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

// Ready implements store.Engine.
func (*View) Ready(context.Context) error { return nil }

// Readable implements store.Engine.
func (*View) Readable(context.Context) error { return nil }

// viewed is one file of a View.
type viewed struct{ readers readers }

func view(ctx context.Context, path string) (*viewed, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		// Nobody has the file open. SQLite would make files of its own beside it to say that we have, which is a change
		// to the folder and not possible everywhere.
		q.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, opening(path, err)
	}
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return nil, errors.Join(opening(path, err), db.Close())
	}
	return &viewed{readers{db: db}}, nil
}

// Run implements store.Database.
func (*viewed) Run(context.Context, func(context.Context) error) error { return errViewed }

// In implements store.Database.
func (v *viewed) In(context.Context) store.Querier { return &v.readers }

// Once implements store.Database.
func (*viewed) Once(context.Context, string, ...any) (int64, error) { return 0, errViewed }

// Hold implements store.Database.
func (*viewed) Hold(context.Context, string, ...any) error { return nil }

// HoldRow implements store.Database.
func (v *viewed) HoldRow(ctx context.Context, query string, args ...any) store.Row {
	return v.readers.QueryRow(ctx, query, args...)
}

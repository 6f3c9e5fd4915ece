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
	"keepsake/internal/store/schema"
)

// View reads the files of a folder without changing them, even while another process has the folder open. It does not upgrade
// the schema.
type View struct {
	main, keys *viewed
}

var _ store.Engine = (*View)(nil)

// errViewed is the error of a write through a View.
var errViewed = errors.New("sqlite: the folder was opened to be read only")

// OpenView opens the files of dir. If one is missing, the error is fs.ErrNotExist. It refuses a schema that this program cannot
// use, or would upgrade first.
func OpenView(ctx context.Context, dir string) (*View, error) {
	v := &View{}
	var err error
	if v.main, err = viewUpgraded(ctx, dir, mainFile); err != nil {
		return nil, err
	}
	if v.keys, err = viewUpgraded(ctx, dir, keysFile); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// viewUpgraded opens one file and checks its schema.
func viewUpgraded(ctx context.Context, dir, file string) (*viewed, error) {
	v, err := view(ctx, filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	s, known, err := checkSchema(ctx, &v.readers, file)
	switch {
	case errors.Is(err, schema.ErrUnreleased):
		err = fmt.Errorf("the data folder %s %w", dir, err)
	case err != nil:
		err = opening(filepath.Join(dir, file), err)
	case s.Version < known:
		err = fmt.Errorf("%s has a schema of an older release: start this keepsake on the folder once", filepath.Join(dir, file))
	default:
		v.ahead = s.Version > known
		return v, nil
	}
	return nil, errors.Join(err, v.readers.db.Close())
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

// Usage implements store.Engine. It does not open usage.db, because callers of a View do not need counters.
func (v *View) Usage() store.Database { return v.main }

// Shared implements store.Engine.
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
type viewed struct {
	readers readers
	ahead   bool // its schema is newer than this program, which can use it
}

func view(ctx context.Context, path string) (*viewed, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		// No process has the file open. SQLite would create files next to it to announce this process, which changes the folder
		// and is not possible everywhere.
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
	return &viewed{readers: readers{db: db}}, nil
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

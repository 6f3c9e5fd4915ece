package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"keepsake/internal/base/folder"
	"keepsake/internal/store"
)

// Source is a folder that an instance is moved out of: a View of all its files that locks the folder. It changes nothing in the
// files, not even their schema.
type Source struct {
	*View
	usage *viewed
	lock  *folder.Lock
}

var _ store.Engine = (*Source)(nil)

// OpenSource opens the files of a folder and locks it. Without files the error is fs.ErrNotExist, and for a folder in use it is
// ErrInUse.
func OpenSource(ctx context.Context, dir string) (*Source, error) {
	if _, err := os.Stat(filepath.Join(dir, mainFile)); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err) // before Take creates the folder
	}
	l, err := folder.Take(dir)
	if err != nil {
		return nil, err
	}
	s := &Source{lock: l}
	if err := s.open(ctx, dir); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Source) open(ctx context.Context, dir string) (err error) {
	if s.View, err = OpenView(ctx, dir); err != nil {
		return err
	}
	if s.usage, err = view(ctx, filepath.Join(dir, usageFile)); err != nil {
		return err
	}
	for file, v := range map[string]*viewed{mainFile: s.main, keysFile: s.keys, usageFile: s.usage} {
		if err := v.upToDate(ctx, file); err != nil {
			return fmt.Errorf("%s: %s %w", dir, file, err)
		}
	}
	return nil
}

// upToDate returns an error unless the schema is the one of this program.
func (v *viewed) upToDate(ctx context.Context, file string) error {
	has, want, err := v.schema(ctx, file)
	switch {
	case err != nil:
		return err
	case has < want:
		return fmt.Errorf("has a schema of an older release: start this keepsake on the folder once, then move")
	case has > want:
		return fmt.Errorf("has a schema of a newer release: move it with that keepsake")
	}
	return nil
}

// schema returns the version of a file's schema, and the version that this program writes.
func (v *viewed) schema(ctx context.Context, file string) (has, want int64, err error) {
	names, err := fs.Glob(migrations, "migration/"+strings.TrimSuffix(file, ".db")+"/*.sql")
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscanf(filepath.Base(names[len(names)-1]), "%d_", &want); err != nil {
		return 0, 0, fmt.Errorf("has no numbered schema: %w", err)
	}
	if err := v.readers.QueryRow(ctx, "SELECT max(version_id) FROM schema_version").Scan(&has); err != nil {
		return 0, 0, fmt.Errorf("cannot tell the version of its schema: %w", err)
	}
	return has, want, nil
}

// Usage implements store.Engine.
func (s *Source) Usage() store.Database { return s.usage }

// Close closes the files and unlocks the folder.
func (s *Source) Close() error {
	var errs []error
	if s.View != nil {
		errs = append(errs, s.View.Close())
	}
	if s.usage != nil {
		errs = append(errs, s.usage.readers.db.Close())
	}
	return errors.Join(append(errs, s.lock.Release(!s.lock.Unclean))...) // an unchecked folder stays unchecked
}

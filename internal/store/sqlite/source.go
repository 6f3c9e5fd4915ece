package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	if s.usage, err = viewUpgraded(ctx, dir, usageFile); err != nil {
		return err
	}
	if s.main.ahead || s.keys.ahead || s.usage.ahead {
		return fmt.Errorf("%s has a schema of a newer release: move it with that keepsake", dir)
	}
	return nil
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

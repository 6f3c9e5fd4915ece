package seal

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"keepsake/internal/base/folder"
)

// KeyFile is the path of the file with the master key, DIR/master.key.
//
// A change first writes the new key to stable storage, next to the old one, with the suffix ".next". Then it seals all
// secrets with the new key in one transaction, and then the new file replaces the old one. So after a power loss, one
// of the two files contains the right key, and Recover finds out which.
type KeyFile string

func (f KeyFile) next() string { return string(f) + ".next" }

// replaced returns the new name of a key that was in use until at. Older backups need it.
func (f KeyFile) replaced(at time.Time) string {
	return string(f) + ".replaced-" + at.UTC().Format("20060102T150405.000Z")
}

// ReplacedKeys lists the files of former keys, oldest first.
func (f KeyFile) ReplacedKeys() ([]string, error) { return filepath.Glob(string(f) + ".replaced-*") }

// Recover returns the key that opens the secrets in st. It completes or reverts a change that was cut off; recovered
// reports that it completed one. The error is fs.ErrNotExist if there is no file. Recover does not check the key if
// there was no change; Open does.
func (f KeyFile) Recover(ctx context.Context, st Store, now time.Time) (key MasterKey, recovered bool, err error) {
	f.sweep()
	key, err = LoadMasterKey(string(f))
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return key, false, err
	}
	next, nextErr := LoadMasterKey(f.next())
	if errors.Is(nextErr, fs.ErrNotExist) {
		return key, false, err
	}
	if !absent {
		opens, err := Opens(ctx, st, key)
		if err != nil {
			return key, false, err
		}
		if opens { // the secrets were not sealed yet
			return key, false, os.Remove(f.next())
		}
	}
	if nextErr != nil {
		return key, false, nextErr
	}
	opens, openErr := Opens(ctx, st, next)
	if openErr != nil || !opens {
		return key, false, errors.Join(err, openErr)
	}
	_, err = f.replace(now)
	return next, err == nil, err
}

// Find is Recover for readers. It changes nothing, and during a change it can return either key.
func (f KeyFile) Find(ctx context.Context, st Store) (MasterKey, error) {
	key, err := LoadMasterKey(string(f))
	if err == nil {
		if opens, err := Opens(ctx, st, key); opens || err != nil {
			return key, err
		}
	}
	if next, nextErr := LoadMasterKey(f.next()); nextErr == nil {
		if opens, openErr := Opens(ctx, st, next); opens || openErr != nil {
			return next, openErr
		}
	}
	return key, err
}

// sweep removes incomplete key files of a killed process. No secret was ever sealed with them.
func (f KeyFile) sweep() {
	torn, _ := filepath.Glob(f.next() + ".*") // the pattern is well-formed
	for _, path := range torn {
		os.Remove(path)
	}
}

// offer writes the next key beside the key in use. It replaces the one of a failed change.
func (f KeyFile) offer(key MasterKey) error {
	if err := os.Remove(f.next()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeNew(f.next(), []byte(base64.StdEncoding.EncodeToString(key[:])+"\n"))
}

// replace renames the offered key to the key in use, and the key in use to a name for backups.
func (f KeyFile) replace(now time.Time) (kept string, err error) {
	kept = f.replaced(now)
	err = os.Link(string(f), kept)
	if errors.Is(err, fs.ErrNotExist) { // the key in use was lost while the change was cut off
		kept, err = "", nil
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keep the old master key: %w", err)
	}
	if err := os.Rename(f.next(), string(f)); err != nil {
		return "", fmt.Errorf("rename the new master key: %w", err)
	}
	return kept, folder.Sync(filepath.Dir(string(f)))
}

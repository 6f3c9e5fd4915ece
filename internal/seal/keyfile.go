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

	"keepsake/internal/folder"
)

// KeyFile is where the master key lies, by its path: DIR/master.key.
//
// While the key is changed the new one lies beside it, under the same name and ".next". The order is: the new file is on
// stable storage, then all secrets are sealed with it in one transaction, then its file takes the old one's place. So
// whenever the power goes, one of the two files has the key that opens, and Recover finds out which.
type KeyFile string

func (f KeyFile) next() string { return string(f) + ".next" }

// replaced is the name under which a key that was in use until a moment is kept, for backups made before it.
func (f KeyFile) replaced(at time.Time) string {
	return string(f) + ".replaced-" + at.UTC().Format("20060102T150405.000Z")
}

// ReplacedKeys lists the files of keys that are not in use any more, oldest first.
func (f KeyFile) ReplacedKeys() ([]string, error) { return filepath.Glob(string(f) + ".replaced-*") }

// Recover gives the key that opens the secrets in st, and completes or takes back a change that was cut off: recovered
// says that one was completed. A file that is not there is fs.ErrNotExist; that the key opens is for Open to say.
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
		if opens { // the change had not come to the secrets
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

// Find is Recover for who only looks: it changes nothing, and while a change is under way it may give either key.
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

// sweep removes what a process that was killed while it wrote a key has left. Nothing was ever sealed with such a one.
func (f KeyFile) sweep() {
	torn, _ := filepath.Glob(f.next() + ".*") // the pattern is well formed
	for _, path := range torn {
		os.Remove(path)
	}
}

// offer puts the key that is to come beside the one in use. One of a change that failed is replaced.
func (f KeyFile) offer(key MasterKey) error {
	if err := os.Remove(f.next()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeNew(f.next(), []byte(base64.StdEncoding.EncodeToString(key[:])+"\n"))
}

// replace puts the key that was offered in the place of the one in use, which is kept under another name.
func (f KeyFile) replace(now time.Time) (kept string, err error) {
	kept = f.replaced(now)
	err = os.Link(string(f), kept)
	if errors.Is(err, fs.ErrNotExist) { // it was lost, or carried away, while the change was cut off
		kept, err = "", nil
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keep the old master key: %w", err)
	}
	if err := os.Rename(f.next(), string(f)); err != nil {
		return "", fmt.Errorf("put the new master key in its place: %w", err)
	}
	return kept, folder.Sync(filepath.Dir(string(f)))
}

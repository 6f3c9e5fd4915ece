package app

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"keepsake/internal/apikey"
	"keepsake/internal/folder"
	"keepsake/internal/seal"
)

// RevocationsPath is where revocations that the database could not take are kept over a restart.
func RevocationsPath(dir string) string { return filepath.Join(dir, "revocations") }

// revocations keeps them in a file that has its size before the disk is full, and is written in place: that needs no room on
// most file systems. It has two halves that take turns, so that a write that is cut off leaves the one before.
type revocations struct {
	path string
	key  *seal.DataKey
	turn uint64 // of the half that was written last
}

var _ apikey.PendingStore = (*revocations)(nil)

const (
	revocationsHalf  = 64 << 10
	revocationsAbout = "keepsake revocations"
)

// kept is what a half holds.
type kept struct {
	Turn uint64              `json:"turn"`
	List []apikey.Revocation `json:"list"`
}

// openRevocations sets room aside. Without room, revocations are in memory alone until the database takes them.
func openRevocations(dir string, key *seal.DataKey) (*revocations, error) {
	r := &revocations{path: RevocationsPath(dir), key: key}
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return r, nil
	}
	if err == nil {
		_, err = f.Write(make([]byte, 2*revocationsHalf)) // a file with holes would have no room
		err = errors.Join(err, f.Sync(), f.Close(), folder.Sync(dir))
		if err != nil {
			err = errors.Join(err, os.Remove(r.path))
		}
	}
	if err != nil {
		return r, fmt.Errorf("set room for revocations aside: %w", err)
	}
	return r, nil
}

// Load implements apikey.PendingStore. What this instance did not seal counts as nothing.
func (r *revocations) Load() ([]apikey.Revocation, error) {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read revocations: %w", err)
	}
	var newest kept
	for n := range 2 {
		if len(data) < (n+1)*revocationsHalf {
			break
		}
		half := data[n*revocationsHalf:][:revocationsHalf]
		size := int64(binary.BigEndian.Uint32(half))
		if size == 0 || size > revocationsHalf-4 {
			continue
		}
		text, err := r.key.Open(half[4:][:size], []byte(revocationsAbout))
		if err != nil {
			continue // cut off, and the other half is the one before
		}
		var k kept
		if err := json.Unmarshal(text, &k); err != nil {
			return nil, fmt.Errorf("decode revocations: %w", err)
		}
		if k.Turn > newest.Turn {
			newest = k
		}
	}
	r.turn = newest.Turn
	return newest.List, nil
}

// Save implements apikey.PendingStore.
func (r *revocations) Save(list []apikey.Revocation) error {
	text, err := json.Marshal(kept{r.turn + 1, list})
	if err != nil {
		return err
	}
	sealed := r.key.Seal(text, []byte(revocationsAbout))
	if len(sealed) > revocationsHalf-4 {
		return fmt.Errorf("keep %d revocations: there is no room for so many", len(list))
	}
	f, err := os.OpenFile(r.path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("keep revocations: %w", err)
	}
	half := append(binary.BigEndian.AppendUint32(nil, uint32(len(sealed))), sealed...)
	_, err = f.WriteAt(half, int64((r.turn+1)%2)*revocationsHalf)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keep revocations: %w", err)
	}
	r.turn++
	return nil
}

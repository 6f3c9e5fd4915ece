package instance

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"keepsake/internal/base/folder"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/memory/seal"
)

// PendingRevocations stores revocations in a preallocated file while the database does not accept writes. On most file
// systems that works on a full disk. The file has two halves that are written in turn, so an interrupted write leaves the
// previous list intact.
type PendingRevocations struct {
	path    string
	key     *seal.DataKey
	version uint64 // of the list that was written last
}

var _ apikey.PendingStore = (*PendingRevocations)(nil)

const (
	halfSize           = 64 << 10
	revocationsContext = "keepsake revocations" // additional data of the encryption
)

// revocationList is the content of one half.
type revocationList struct {
	Version uint64                     `json:"turn"`
	List    []apikey.PendingRevocation `json:"list"`
}

// OpenPendingRevocations creates the file if necessary. If that fails, Save fails too, and pending revocations are lost at a
// restart.
func OpenPendingRevocations(dir string, key *seal.DataKey) (*PendingRevocations, error) {
	r := &PendingRevocations{path: RevocationsPath(dir), key: key}
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return r, nil
	}
	if err == nil {
		_, err = f.Write(make([]byte, 2*halfSize)) // a sparse file would reserve nothing
		err = errors.Join(err, f.Sync(), f.Close(), folder.Sync(dir))
		if err != nil {
			err = errors.Join(err, os.Remove(r.path))
		}
	}
	if err != nil {
		return r, fmt.Errorf("preallocate the file of pending revocations: %w", err)
	}
	return r, nil
}

// Load implements apikey.PendingStore. It ignores a half that was not encrypted by this instance.
func (r *PendingRevocations) Load() ([]apikey.PendingRevocation, error) {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read pending revocations: %w", err)
	}
	var newest revocationList
	for n := range 2 {
		if len(data) < (n+1)*halfSize {
			break
		}
		half := data[n*halfSize:][:halfSize]
		size := int64(binary.BigEndian.Uint32(half))
		if size == 0 || size > halfSize-4 {
			continue
		}
		text, err := r.key.Open(half[4:][:size], []byte(revocationsContext))
		if err != nil {
			continue // an interrupted write; the other half has the list before it
		}
		var list revocationList
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("decode pending revocations: %w", err)
		}
		if list.Version > newest.Version {
			newest = list
		}
	}
	r.version = newest.Version
	return newest.List, nil
}

// Save implements apikey.PendingStore.
func (r *PendingRevocations) Save(list []apikey.PendingRevocation) error {
	text, err := json.Marshal(revocationList{r.version + 1, list})
	if err != nil {
		return err
	}
	sealed := r.key.Seal(text, []byte(revocationsContext))
	if len(sealed) > halfSize-4 {
		return fmt.Errorf("save %d pending revocations: the file is full", len(list))
	}
	f, err := os.OpenFile(r.path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("save pending revocations: %w", err)
	}
	half := append(binary.BigEndian.AppendUint32(nil, uint32(len(sealed))), sealed...)
	_, err = f.WriteAt(half, int64((r.version+1)%2)*halfSize)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("save pending revocations: %w", err)
	}
	r.version++
	return nil
}

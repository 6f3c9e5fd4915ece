// Package backup writes an instance into two files and reads it back.
//
// The data file holds what clients stored; the keys file holds the wrapped secrets without which the data is of no use.
// They are two so that they are kept apart: an old data file is worth as much as the keys file beside it allows. Neither
// holds the master key.
//
// Either file is a tar archive, gzip over it, and age over that where somebody said for whom: header.json first, then the
// files, then sums.json. An archive that lacks its end, or whose files are not what they were, is refused.
package backup

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind is which of the two files an archive is.
type Kind string

// The kinds.
const (
	Data Kind = "data"
	Keys Kind = "keys"
)

// The files of a data folder that are backed up.
const (
	mainFile        = "main.db"
	usageFile       = "usage.db"
	keysFile        = "keys.db"
	checkpointsFile = "audit.checkpoints"
)

// needed are the files that an archive of a kind must hold, known those it may hold, in their order.
var (
	needed = map[Kind][]string{Data: {mainFile, usageFile}, Keys: {keysFile}}
	known  = map[Kind][]string{Data: {mainFile, usageFile, checkpointsFile}, Keys: {keysFile}}
)

// Files are the files of a data folder that go into the archive of a kind, as far as there are any.
func (k Kind) Files() []string { return slices.Clone(known[k]) }

// format is the number of the archive's form; a program reads those up to its own.
const format = 1

// Header says what an archive is.
type Header struct {
	Format   int       `json:"format"`
	Kind     Kind      `json:"kind"`
	Instance string    `json:"instance"` // whose it is; the same in both files
	Snapshot string    `json:"snapshot"` // which one it is; the same in the two files that were made together
	MadeAt   time.Time `json:"madeAt"`
	Build    string    `json:"build"` // of the program that made it
}

// Errors of reading that commands tell apart.
var (
	// ErrNotBackup: the file is none, or not of the kind that is asked for.
	ErrNotBackup = errors.New("is no backup of this kind")
	// ErrDamaged: the file is cut off, or is not what was written.
	ErrDamaged = errors.New("is damaged")
	// ErrEncrypted: the file is encrypted, and what was given does not open it.
	ErrEncrypted = errors.New("is encrypted for somebody else: name the right --identity or --passphrase-file")
)

// Together says in one line why two archives cannot be restored together. Keys that are older than the data may lack
// secrets that the data was written with; olderKeys takes them all the same.
func Together(data, keys *Header, olderKeys bool) error {
	if data.Instance != keys.Instance {
		return errors.New("the two files are of different instances")
	}
	if keys.MadeAt.Before(data.MadeAt) && !olderKeys {
		return fmt.Errorf("the keys file is of %s and the data of %s: what was written in between may not open; name a newer keys file, or say --older-keys",
			keys.MadeAt.UTC().Format(time.RFC3339), data.MadeAt.UTC().Format(time.RFC3339))
	}
	return nil
}

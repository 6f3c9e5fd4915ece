// Package backup writes an instance into two files and reads it back.
//
// The data file contains what clients stored. The keys file contains the wrapped secrets that decrypt it. They are separate
// so that they can be kept apart: the data can only be read with the keys file. Neither contains the master key.
//
// Both are gzipped tar archives, encrypted with age if recipients were named. They contain header.json, the files, and
// sums.json. An archive that is truncated or changed is refused.
package backup

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind is the kind of an archive.
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

// needed are the files that an archive of a kind must contain, in order; known are those that it can contain.
var (
	needed = map[Kind][]string{Data: {mainFile, usageFile}, Keys: {keysFile}}
	known  = map[Kind][]string{Data: {mainFile, usageFile, checkpointsFile}, Keys: {keysFile}}
)

// Files lists the files of a data folder that belong to a kind of archive.
func (k Kind) Files() []string { return slices.Clone(known[k]) }

// format is the version of the archive format. A program reads versions up to its own.
const format = 1

// Header describes an archive.
type Header struct {
	Format   int       `json:"format"`
	Kind     Kind      `json:"kind"`
	Instance string    `json:"instance"` // the same in both files
	Snapshot string    `json:"snapshot"` // the same in both files of one backup
	MadeAt   time.Time `json:"madeAt"`
	Build    string    `json:"build"` // of the program that wrote it
}

// Errors of Extract that commands distinguish.
var (
	// ErrNotBackup: the file is not a backup, or not of the requested kind.
	ErrNotBackup = errors.New("is not a backup of this kind")
	// ErrDamaged: the file is truncated or was changed.
	ErrDamaged = errors.New("is damaged")
	// ErrEncrypted: none of the identities decrypts the file.
	ErrEncrypted = errors.New("cannot be decrypted with what was given: use another --identity or --passphrase-file")
)

// Together returns an error if two archives cannot be restored together. Keys that are older than the data can lack secrets
// that encrypted a part of it; olderKeys accepts them.
func Together(data, keys *Header, olderKeys bool) error {
	if data.Instance != keys.Instance {
		return errors.New("the two files belong to different instances")
	}
	if keys.MadeAt.Before(data.MadeAt) && !olderKeys {
		return fmt.Errorf("the keys file is from %s and the data from %s: data written in between can be unreadable; use a newer keys file, or --older-keys",
			keys.MadeAt.UTC().Format(time.RFC3339), data.MadeAt.UTC().Format(time.RFC3339))
	}
	return nil
}

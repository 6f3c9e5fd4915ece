package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"keepsake/internal/base/folder"
	"keepsake/internal/memory/seal"
)

// SocketPath returns the socket of the process that has locked a data folder.
func SocketPath(data string) string { return filepath.Join(data, "keepsake.sock") }

// MasterKeyPath returns the file of the master key, which is used if no setting provides it.
func MasterKeyPath(data string) string { return filepath.Join(data, "master.key") }

// MasterKeyFile is MasterKeyPath as the file that seal reads and replaces.
func MasterKeyFile(data string) seal.KeyFile { return seal.KeyFile(MasterKeyPath(data)) }

// BackendSecretPath returns the file of the backend secret, which is used if no setting provides it.
func BackendSecretPath(data string) string { return filepath.Join(data, "backend-secret") }

// FirstStartPath returns the file in which a first start leaves its secrets for the operator.
func FirstStartPath(data string) string { return filepath.Join(data, "first-start.json") }

// JournalPath returns the journal of a data folder.
func JournalPath(data string) string { return filepath.Join(data, "journal.ndjson") }

// CheckpointsPath returns the file with the checkpoints of the audit log.
func CheckpointsPath(data string) string { return filepath.Join(data, "audit.checkpoints") }

// RevocationsPath returns the file with revocations that could not be stored in the database.
func RevocationsPath(data string) string { return filepath.Join(data, "revocations") }

// writeFile replaces a file atomically, mode 0600. The file is durable when it returns.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(path))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"keepsake/internal/folder"
	"keepsake/internal/seal"
)

// Errors of New and Init that commands tell apart.
var (
	// ErrInitialised: there is an instance already, and nothing was changed.
	ErrInitialised = errors.New("is already initialised")
	// ErrNotInitialised: there is no instance to work on, and none was made.
	ErrNotInitialised = errors.New("holds no Keepsake data; `keepsake serve` or `keepsake init` makes it")
)

// First is what a first start makes: the workspace `default`, its admin and a key with all scopes (decisions.md, O).
type First struct {
	WorkspaceID string `json:"workspaceId"`
	UserID      string `json:"userId"`
	Email       string `json:"email"`
	Password    string `json:"password,omitempty"` // only when it was generated
	APIKey      string `json:"apiKey"`
	URL         string `json:"url,omitempty"` // in the file only
}

// FirstStartPath is where a first start keeps its secrets until somebody has read them.
func FirstStartPath(data string) string { return filepath.Join(data, "first-start.json") }

// SocketPath is where the operator of the machine reaches the server that holds a data folder.
func SocketPath(data string) string { return filepath.Join(data, "keepsake.sock") }

// MasterKeyFile is the master key of a data folder when no setting names another place.
func MasterKeyFile(data string) seal.KeyFile { return seal.KeyFile(MasterKeyPath(data)) }

// MasterKeyPath is where the master key lies when no setting names another place.
func MasterKeyPath(data string) string { return filepath.Join(data, "master.key") }

// keep writes f to the folder before what it describes is committed: a crash may leave a file whose secrets never
// worked, and the next start replaces it, but never an instance whose only key nobody has seen.
func (f First) keep(data string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode first-start.json: %w", err)
	}
	return writeFile(FirstStartPath(data), append(text, '\n'))
}

// writeFile replaces a file of mode 0600 in one step, on stable storage when it returns.
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

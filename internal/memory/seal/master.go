package seal

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"keepsake/internal/base/folder"
	"keepsake/internal/base/secretfile"
)

// MasterKey wraps the instance's secrets. It is 32 random bytes in a file, in the environment or with the operator,
// never in a database or a backup.
type MasterKey [32]byte

// Format keeps a key that is printed by mistake out of logs, whatever the verb.
func (MasterKey) Format(f fmt.State, _ rune) { io.WriteString(f, "(master key)") }

// ParseMasterKey parses a key of 32 bytes in base64. It ignores white space around it.
func ParseMasterKey(text string) (MasterKey, error) {
	return parse([]byte(text))
}

func parse(text []byte) (MasterKey, error) {
	var k MasterKey
	secret, err := secretfile.Text(text)
	if err != nil {
		return k, fmt.Errorf("masterKey: %w", err)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(secret))
	if err != nil || len(raw) != len(k) {
		// The decoder's own error would quote a part of the key.
		return k, errors.New("masterKey: expected 32 bytes in base64")
	}
	copy(k[:], raw)
	return k, nil
}

// LoadMasterKey reads the key from a file. The error is fs.ErrNotExist if there is no file.
func LoadMasterKey(path string) (MasterKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return MasterKey{}, fmt.Errorf("read master key: %w", err)
	}
	k, err := parse(text)
	if err != nil {
		return MasterKey{}, fmt.Errorf("read master key %s: %w", path, err)
	}
	return k, nil
}

// CreateMasterKey creates a random key in a new file of mode 0600. The file is on stable storage when it returns,
// because data sealed with a lost key is lost. It never replaces a file; the error is then fs.ErrExist.
func CreateMasterKey(path string) (MasterKey, error) {
	var k MasterKey
	if _, err := rand.Read(k[:]); err != nil {
		return k, fmt.Errorf("create master key: %w", err)
	}
	if err := writeNew(path, []byte(base64.StdEncoding.EncodeToString(k[:])+"\n")); err != nil {
		return MasterKey{}, fmt.Errorf("write master key: %w", err)
	}
	return k, nil
}

// writeNew writes a temporary file and links it to path, so that path is always complete or absent.
func writeNew(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s: %w", path, fs.ErrExist)
		}
		return err
	}
	return folder.Sync(filepath.Dir(path))
}

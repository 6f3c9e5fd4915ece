package app

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"keepsake/internal/config"
)

// member is a process on a shared database, by the folder it has: its name outlives it, so that what it is the name of
// goes on after a restart.
type member struct {
	Name     string `json:"name"`
	Instance string `json:"instance"` // whose database the folder is beside
}

// memberPath is the file that makes a folder one beside a shared database.
func memberPath(dir string) string { return filepath.Join(dir, "member") }

func isMember(dir string) bool { return exists(memberPath(dir)) }

// memberOf reads the member that a folder is of an instance, and makes it where the folder is none yet. A folder of
// another instance is refused: its index, its journal and its checkpoints would not fit.
func memberOf(dir, instance string) (member, error) {
	path := memberPath(dir)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		m := member{Name: strings.ToLower(rand.Text()[:13]), Instance: instance}
		return m, m.write(path)
	}
	if err != nil {
		return member{}, fmt.Errorf("read the member's name: %w", err)
	}
	var m member
	if err := json.Unmarshal(text, &m); err != nil || m.Name == "" {
		return member{}, fmt.Errorf("%s is damaged: remove it, and the member begins anew", path)
	}
	if m.Instance != instance {
		return member{}, &config.Error{Setting: "data", Reason: dir + " is beside another instance's database than that of databaseUrl: name another folder, or the other database"}
	}
	return m, nil
}

// memberName is the name of the member that a folder is, empty where it is none.
func memberName(dir string) (string, error) {
	text, err := os.ReadFile(memberPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the member's name: %w", err)
	}
	var m member
	if err := json.Unmarshal(text, &m); err != nil {
		return "", fmt.Errorf("%s is damaged", memberPath(dir))
	}
	return m.Name, nil
}

func (m member) write(path string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeFile(path, append(text, '\n'))
}

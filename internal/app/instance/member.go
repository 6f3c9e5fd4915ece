package instance

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"keepsake/internal/app/config"
)

// member is the content of a file in a folder next to a shared database. The name survives restarts of the process, and so
// do the audit chain and the index that belong to it.
type member struct {
	Name     string `json:"name"`
	Instance string `json:"instance"` // the instance in the database
}

func memberPath(dir string) string { return filepath.Join(dir, "member") }

func isMember(dir string) bool { return exists(memberPath(dir)) }

// loadMember reads the member file, and creates it in a new folder. It refuses a folder of another instance, whose index,
// journal and checkpoints would not match the database.
func loadMember(dir, instance string) (member, error) {
	m, err := readMember(dir)
	if errors.Is(err, fs.ErrNotExist) {
		m := member{Name: strings.ToLower(rand.Text()[:13]), Instance: instance}
		return m, m.write(memberPath(dir))
	}
	if err != nil {
		return member{}, err
	}
	if m.Instance != instance {
		return member{}, &config.Error{Setting: "data", Reason: dir + " belongs to another instance than databaseUrl: use another folder, or the other database"}
	}
	return m, nil
}

// readMember reads the member file. The error is fs.ErrNotExist if there is none.
func readMember(dir string) (m member, err error) {
	path := memberPath(dir)
	text, err := os.ReadFile(path)
	if err != nil {
		return m, fmt.Errorf("read the member file: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Name == "" {
		return m, fmt.Errorf("%s is damaged: remove it, and the process starts as a new member", path)
	}
	return m, nil
}

func (m member) write(path string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeFile(path, append(text, '\n'))
}

package enginetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// ClusterVariable names a folder that NewCluster created. Without it, each test binary creates its own.
const ClusterVariable = "KEEPSAKE_TEST_CLUSTER"

// NewCluster creates the files of a PostgreSQL server that has never run. initdb takes most of the time of a server's start,
// so it runs once, and each server starts on a copy. If PostgreSQL is not installed, there is no folder and no error.
func NewCluster() (dir string, remove func(), err error) {
	program, err := findPostgres()
	if err != nil {
		return "", func() {}, nil
	}
	dir, remove, err = tempDir()
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for initdb: %w", err)
	}
	// Texts are sorted by bytes and encoded in UTF-8, as on SQLite.
	initdb := exec.Command(filepath.Join(filepath.Dir(program), "initdb"), "--pgdata="+filepath.Join(dir, "data"), "--username="+superuser,
		"--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions", "--wal-segsize=1")
	if err := runIn(dir, initdb); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// cluster is the folder that each server starts on a copy of.
var cluster = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(ClusterVariable); dir != "" {
		return dir, nil
	}
	dir, remove, err := NewCluster()
	if err == nil {
		onStop(remove)
	}
	return dir, err
})

// copyCluster copies the files of cluster into a server's folder.
func copyCluster(to string) error {
	from, err := cluster()
	if err != nil {
		return err
	}
	// cp runs as the owner of the files and preserves their modes, which PostgreSQL checks.
	return runIn(to, exec.Command("cp", "-Rp", filepath.Join(from, "data"), filepath.Join(to, "data")))
}

// runIn runs a program in a folder, as the user of the servers.
func runIn(dir string, cmd *exec.Cmd) error {
	var said output
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	wait, err := start(cmd, syscall.SIGKILL)
	if err == nil {
		err = wait()
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, &said)
	}
	return nil
}

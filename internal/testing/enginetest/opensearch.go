package enginetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/testing/testtier"
)

// OpenSearchVariable contains the URL of a node that tests use instead of starting one.
const OpenSearchVariable = "KEEPSAKE_TEST_OPENSEARCH"

// installOpenSearch is the message of a test that is skipped because there is no node.
const installOpenSearch = missing("OpenSearch, which `sh tools/engines.sh all` installs (Java 17 or later and Maven)")

// OpenSearch returns the URL of a node of OpenSearch, which all tests of a binary share. It starts with the first of them, which takes
// several seconds, so its tests are long. Each test has indexes with names of its own.
func OpenSearch(t testing.TB) (url string) {
	t.Helper()
	testtier.Long(t, "starts OpenSearch")
	if url := os.Getenv(OpenSearchVariable); url != "" {
		return url
	}
	url, err := openSearch()
	check(t, err)
	return url
}

var openSearch = sync.OnceValues(func() (string, error) {
	node, err := startOpenSearch()
	if err != nil {
		return "", err
	}
	onStop(node.stop)
	return node.url, nil
})

// openSearchNode is a node in a process of its own.
type openSearchNode struct {
	url  string
	stop func()
}

func startOpenSearch() (*openSearchNode, error) {
	if runtime.GOOS == "windows" {
		return nil, installOpenSearch
	}
	folder, err := openSearchFolder()
	if err != nil {
		return nil, err
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, installOpenSearch
	}
	home, remove, err := tempDir()
	if err != nil {
		return nil, fmt.Errorf("make a folder for OpenSearch: %w", err)
	}
	cmd := exec.Command(java, "-Xms256m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(folder, "lib", "*"),
		filepath.Join(folder, "OpenSearchNode.java"), home, "cluster.routing.allocation.disk.threshold_enabled=false", "cluster.max_shards_per_node=20000")
	var log output
	url := ""
	ready := log.wait(func(line string) bool {
		port, ok := strings.CutPrefix(line, "http ")
		url = "http://127.0.0.1:" + port
		return ok
	})
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, &log, &log
	input, err := cmd.StdinPipe() // with which the node ends
	if err != nil {
		remove()
		return nil, err
	}
	wait, err := startAsIs(cmd, syscall.SIGKILL)
	if err != nil {
		remove()
		return nil, fmt.Errorf("start OpenSearch: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = wait() // how it ended is in the log
		close(ended)
	}()
	node := &openSearchNode{stop: func() { stopOpenSearch(cmd, input, ended, remove) }}
	select {
	case <-ready:
		node.url = url
		return node, nil
	case <-ended:
		err = fmt.Errorf("OpenSearch ended while starting:\n%s", &log)
	case <-time.After(3 * time.Minute):
		err = fmt.Errorf("OpenSearch does not start:\n%s", &log)
	}
	node.stop()
	return nil, err
}

func stopOpenSearch(cmd *exec.Cmd, input io.Closer, ended <-chan struct{}, remove func()) {
	_ = input.Close()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
	remove()
}

// openSearchFolder returns the folder tools/opensearch of the repository, if the node's libraries are there.
func openSearchFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		folder := filepath.Join(dir, "tools", "opensearch")
		_, err := os.Stat(filepath.Join(folder, "lib", "installed"))
		switch {
		case err == nil:
			return folder, nil
		case !errors.Is(err, os.ErrNotExist):
			return "", err
		case filepath.Dir(dir) == dir:
			return "", installOpenSearch
		}
	}
}

package enginetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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
	home, remove, err := tempDir()
	if err != nil {
		return "", fmt.Errorf("make a folder for OpenSearch: %w", err)
	}
	node := &OpenSearchNode{Dir: home, settings: []string{"cluster.routing.allocation.disk.threshold_enabled=false"}}
	if err := node.start(); err != nil {
		remove()
		return "", err
	}
	onStop(func() {
		node.stop()
		remove()
	})
	return node.URL, nil
})

// OpenSearchNode is a node in a process of its own.
type OpenSearchNode struct {
	URL string
	Dir string // contains its files

	settings   []string
	java       []string // options of the Java machine; nil: those of a small node that starts fast
	pid        int
	kill, stop func()
}

// StartOpenSearch starts a node for one test.
func StartOpenSearch(t testing.TB, settings ...string) *OpenSearchNode {
	t.Helper()
	return startOpenSearch(t, &OpenSearchNode{settings: settings})
}

// StartLargeOpenSearch starts a node like one in production, for a measurement: with a heap such as 2g, the garbage collector that it
// has there, and a compiler that optimizes.
func StartLargeOpenSearch(t testing.TB, heap string, settings ...string) *OpenSearchNode {
	t.Helper()
	return startOpenSearch(t, &OpenSearchNode{settings: settings, java: []string{"-Xms" + heap, "-Xmx" + heap, "-XX:+UseG1GC"}})
}

func startOpenSearch(t testing.TB, node *OpenSearchNode) *OpenSearchNode {
	t.Helper()
	testtier.Long(t, "starts OpenSearch")
	home, remove, err := tempDir()
	check(t, err)
	t.Cleanup(remove)
	node.Dir = home
	check(t, node.start())
	t.Cleanup(func() { node.stop() })
	return node
}

// PID is the number of the node's process.
func (n *OpenSearchNode) PID() int { return n.pid }

// StartOpenSearchCluster starts two nodes that are one cluster. Only the first one can be its manager, so the cluster ends with it.
func StartOpenSearchCluster(t testing.TB, settings ...string) (nodes [2]*OpenSearchNode) {
	t.Helper()
	testtier.Long(t, "starts OpenSearch")
	seed := FreeAddress(t)
	_, port, err := net.SplitHostPort(seed)
	check(t, err)
	own := [2][]string{
		{"transport.port=" + port, "cluster.initial_cluster_manager_nodes=node0"},
		{"node.roles=data"},
	}
	for i := range nodes {
		nodes[i] = StartOpenSearch(t, slices.Concat(settings, own[i],
			[]string{"discovery.type=zen", "discovery.seed_hosts=" + seed, fmt.Sprint("node.name=node", i)})...)
	}
	return nodes
}

// Kill ends the node at once.
func (n *OpenSearchNode) Kill() { n.kill() }

// Pause stops the node (SIGSTOP). Connections stay open without a response.
func (n *OpenSearchNode) Pause(t testing.TB) { check(t, kill(n.pid, pauseSignal)) }

// Resume continues a paused node.
func (n *OpenSearchNode) Resume(t testing.TB) { check(t, kill(n.pid, resumeSignal)) }

// Start starts the node again after Kill, with the same files, settings and URL.
func (n *OpenSearchNode) Start(t testing.TB) {
	t.Helper()
	check(t, n.start("http.port="+n.URL[strings.LastIndexByte(n.URL, ':')+1:]))
}

func (n *OpenSearchNode) start(more ...string) error {
	if runtime.GOOS == "windows" {
		return installOpenSearch
	}
	folder, err := openSearchFolder()
	if err != nil {
		return err
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return installOpenSearch
	}
	options := n.java
	if options == nil {
		options = []string{"-Xms256m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	}
	cmd := exec.Command(java, slices.Concat(options, []string{
		"-cp", filepath.Join(folder, "lib", "*"),
		filepath.Join(folder, "OpenSearchNode.java"), n.Dir, "cluster.max_shards_per_node=20000",
		"indices.breaker.total.use_real_memory=false", // it takes garbage for memory that is used
	}, n.settings, more)...)
	var log output
	ready := log.wait(func(line string) bool {
		port, ok := strings.CutPrefix(line, "http ")
		if ok {
			n.URL = "http://127.0.0.1:" + port
		}
		return ok
	})
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.Dir, &log, &log
	input, err := cmd.StdinPipe() // with which the node ends
	if err != nil {
		return err
	}
	wait, err := startAsIs(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("start OpenSearch: %w", err)
	}
	n.pid = cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		_ = wait() // how it ended is in the log
		close(ended)
	}()
	n.stop = func() { stopOpenSearch(cmd, input, ended) }
	n.kill = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	select {
	case <-ready:
		return nil
	case <-ended:
		err = fmt.Errorf("OpenSearch ended while starting:\n%s", &log)
	case <-time.After(3 * time.Minute):
		err = fmt.Errorf("OpenSearch does not start:\n%s", &log)
	}
	n.stop()
	return err
}

func stopOpenSearch(cmd *exec.Cmd, input io.Closer, ended <-chan struct{}) {
	_ = input.Close()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
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

package enginetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"keepsake/internal/testing/testtier"
)

// Network is a network namespace with one link to this machine's. The link can be cut without notice to either side, as by a
// failing switch.
type Network struct {
	name, here, there string
	address           net.IP
}

// networkName is the prefix of all networks. The ID of the process that created the network follows.
const networkName = "keepsake-"

var networks atomic.Int64

// StartNetwork creates a network, which needs Linux, root and iproute2. It ends with the test. Start its servers after it.
func StartNetwork(t testing.TB) *Network {
	t.Helper()
	if runtime.GOOS != "linux" {
		testtier.Missing(t, "network namespaces, which only Linux has")
	}
	if os.Getuid() != 0 {
		testtier.Missing(t, "root, to create a network namespace")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		testtier.Missing(t, "the program ip (apt-get install iproute2)")
	}
	sweepNetworks()
	pid, n := os.Getpid(), networks.Add(1)
	link := fmt.Sprintf("ks%d.%d", pid, n) // at most 15 characters with its suffix
	// 198.18.0.0/15 is reserved for network tests. Each network gets four addresses that no concurrent one uses.
	block := (pid*8 + int(n)) % (1 << 15) * 4
	address := func(i int) net.IP { return net.IPv4(198, byte(18+block>>16), byte(block>>8), byte(block+i)) }
	w := &Network{name: networkName + strconv.Itoa(pid) + "-" + strconv.FormatInt(n, 10), here: link + "a", there: link + "b", address: address(2)}
	t.Cleanup(func() { _ = ip("netns", "del", w.name) }) // deletes the link, too
	if err := ip("netns", "add", w.name); err != nil {
		testtier.Missing(t, "the right to create a network namespace: "+err.Error())
	}
	for _, args := range [][]string{
		{"link", "add", w.here, "type", "veth", "peer", "name", w.there, "netns", w.name},
		{"addr", "add", address(1).String() + "/30", "dev", w.here},
		{"link", "set", w.here, "up"},
		{"-n", w.name, "addr", "add", w.address.String() + "/30", "dev", w.there},
		{"-n", w.name, "link", "set", w.there, "up"},
	} {
		check(t, ip(args...))
	}
	return w
}

// Cut drops everything that is sent from now on, in both directions.
func (w *Network) Cut(t testing.TB) {
	t.Helper()
	if err := ip("-n", w.name, "link", "set", w.there, "down"); err != nil {
		t.Fatal(err)
	}
}

// Mend ends a cut.
func (w *Network) Mend(t testing.TB) {
	t.Helper()
	if err := ip("-n", w.name, "link", "set", w.there, "up"); err != nil {
		t.Fatal(err)
	}
}

// command returns a command that runs a program in the network.
func (w *Network) command(program string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", w.name, program}, args...)...)
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// sweepNetworks removes the networks of test binaries that were killed.
var sweepNetworks = sync.OnceFunc(func() {
	left, _ := filepath.Glob("/run/netns/" + networkName + "*")
	for _, path := range left {
		name := filepath.Base(path)
		text, _, _ := strings.Cut(strings.TrimPrefix(name, networkName), "-")
		pid, err := strconv.Atoi(text)
		if err != nil || !errors.Is(kill(pid, 0), syscall.ESRCH) {
			continue
		}
		_ = ip("netns", "del", name)
	}
})

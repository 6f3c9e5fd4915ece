package enginetest

import (
	"net"
	"runtime"
	"strings"
	"testing"
)

// Not parallel: a process that another test starts holds the sockets of this one between fork and exec, so that a listener
// that was closed can still be there for a moment.
func TestAnAddressBelongsToOneTest(t *testing.T) {
	seen := map[string]bool{}
	for range 300 {
		address := FreeAddress(t)
		if seen[address] {
			t.Fatalf("%s is given twice", address)
		}
		seen[address] = true
	}
	address := FreeAddress(t)
	for range 2 { // a server, and the same one started again
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
	}
	for range 300 { // a request for any free port never gets it
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if given := l.Addr().String(); given == address || seen[given] {
			t.Fatalf("%s is given to somebody else", given)
		}
	}
	if runtime.GOOS != "linux" {
		return // only Linux has more loopback addresses than 127.0.0.1
	}
	port := FreePort(t, net.IPv4zero)
	for _, host := range strings.Fields("127.0.0.2 127.0.0.3") {
		l, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

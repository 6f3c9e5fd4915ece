package enginetest

import (
	"net"
	"strconv"
	"testing"
)

// FreeAddress returns an address for a server that the test starts. No other test gets it until the test ends, even while
// the server does not run.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", FreePort(t, net.IPv4(127, 0, 0, 1)))
}

// FreePort is FreeAddress for a port of one address, or of all addresses if ip is 0.0.0.0.
func FreePort(t testing.TB, ip net.IP) string {
	t.Helper()
	port, release, err := reservePort(ip)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return strconv.Itoa(port)
}

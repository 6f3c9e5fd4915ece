package api_test

import (
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/web/api"
)

// Connections that wait in the system's queue when a listener retires are accepted all the same.
func TestRetiringListenerAcceptsWaitingConnections(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this system resets what waits when a listener is closed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := api.LimitConnections(l, 100, nil)
	const waiting = 20
	for i := range waiting {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, i)
	}
	socket, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := limited.Retire(t.Context()); err != nil {
			t.Errorf("retire: %v", err)
		}
	})
	defer all.Wait()
	await.Until(t, "the listener is closed", func() bool { return socket.Control(func(uintptr) {}) != nil })
	heard := map[string]bool{}
	for range waiting {
		c, err := limited.Accept()
		if err != nil {
			t.Fatalf("after %d: %v", len(heard), err)
		}
		buf := make([]byte, 8)
		n, err := c.Read(buf)
		if err == nil {
			heard[string(buf[:n])] = true
		}
		c.Close()
	}
	if len(heard) != waiting {
		t.Errorf("%d of %d that waited were heard", len(heard), waiting)
	}
	limited.Close()
}

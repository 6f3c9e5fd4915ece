package api_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"keepsake/internal/api"
)

// Connections that wait in the system's queue when a listener retires are accepted all the same.
func TestARetiringListenerTakesWhatWaits(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := api.LimitConnections(l, 100)
	const waiting = 20
	for i := range waiting {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		if err := limited.Retire(ctx); err != nil {
			t.Errorf("retire: %v", err)
		}
	})
	defer all.Wait()
	time.Sleep(100 * time.Millisecond) // for Retire to begin; if it has not, less is shown
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

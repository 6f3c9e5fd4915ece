package v1test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	keepsake "keepsake/client"
	"keepsake/internal/app/instance"
	"keepsake/internal/testing/testtier"
)

// Each reader uses the newest secret while the key is rotated and the master key changes. A secret stays valid through the
// next rotation, so no reader that keeps up is refused.
func TestRotationRefusesNoRequest(t *testing.T) {
	t.Parallel()
	c := start(t)
	made := c.make(t, nil)
	path := keysPath + "/" + made.text("id")
	type secret struct {
		text  string
		turns int64 // rotations that were begun before it was there
	}
	var newest atomic.Pointer[secret]
	var begun atomic.Int64
	newest.Store(&secret{text: made.text("key")})

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var asked, refused atomic.Int64
	for range 4 {
		running.Go(func() {
			for ctx.Err() == nil {
				s := newest.Load()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/api/v1/health", nil)
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("X-API-Key", s.text)
				response, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				response.Body.Close()
				asked.Add(1)
				if response.StatusCode == http.StatusUnauthorized && begun.Load()-s.turns >= 2 {
					continue // it did not keep up
				}
				if response.StatusCode != http.StatusOK {
					refused.Add(1)
				}
			}
		})
	}
	running.Go(func() {
		operator := keepsake.OverSocket(instance.SocketPath(c.Config.Data))
		for ctx.Err() == nil {
			if _, err := operator.RotateMasterKey(t.Context(), ""); err != nil {
				t.Errorf("rotate the master key: %v", err)
				return
			}
		}
	})
	turns := testtier.Rounds(6, 30)
	for range turns {
		before := begun.Add(1)
		turned := c.do(t, "POST", path+"/rotate", object{"force": true, "graceSeconds": 60}).is(200)
		newest.Store(&secret{turned.text("key"), before})
	}
	stop()
	running.Wait()
	t.Logf("%d requests while the key turned %d times", asked.Load(), turns)
	if refused.Load() != 0 {
		t.Errorf("%d of %d requests with a live secret were refused", refused.Load(), asked.Load())
	}
}

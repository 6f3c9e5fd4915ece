package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// TestRotationsAreCutOffAnywhere kills the program again and again while its master key and an API key turn under load,
// at moments spread over the whole of a rotation. Whatever the moment: the folder starts at once, with all that was
// sealed, no acknowledged secret is lost and none that was ended comes back.
func TestRotationsAreCutOffAnywhere(t *testing.T) {
	t.Parallel()
	rounds := testtier.Rounds(2, 20)
	dir := t.TempDir()
	// On a shared database a process that was killed counts for a minute as one that had its share, and secrets that are
	// none are charged to their address.
	patient := programtest.Env("KEEPSAKE_TIERS_ANONYMOUS_REQUESTS_PER_MINUTE=1000000",
		"KEEPSAKE_TIERS_ANONYMOUS_DAILY=1000000", "KEEPSAKE_TIERS_ANONYMOUS_MONTHLY=1000000")
	s := start(t, dir, "", patient)
	made := s.Must(http.StatusCreated, http.MethodPost, "/api/v1/developer/api-keys", map[string]any{"name": "turning", "scopes": []string{"read"}})
	turning := turningKey{id: made["id"].(string), text: made["key"].(string)}

	// One that is left alone tells how long a change of the master key takes here: it is cut off before, within and after that.
	began := time.Now()
	if _, err := keepsake.OverSocket(filepath.Join(dir, "keepsake.sock"), keepsake.Retries(0)).RotateMasterKey(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	takes := max(30*time.Millisecond, time.Since(began))
	s = start(t, dir, s.stopped(), patient)
	var masters atomic.Int64
	random := rand.New(rand.NewPCG(uint64(rounds), 0))
	for round := range rounds {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			operator := keepsake.OverSocket(filepath.Join(dir, "keepsake.sock"), keepsake.Retries(0))
			for ctx.Err() == nil {
				if _, err := operator.RotateMasterKey(ctx, ""); err == nil {
					masters.Add(1)
				}
			}
		})
		running.Go(func() { turning.turn(ctx, s) })
		if round == 0 {
			await.Until(t, "both are rotated", func() bool { return masters.Load() > 0 && turning.rotated.Load() > 0 })
		} else {
			time.Sleep(5*time.Millisecond + time.Duration(random.Int64N(int64(2*takes))))
		}
		s.Kill()
		stop()
		running.Wait()

		s = start(t, dir, s.Key, patient)
		if left, _ := filepath.Glob(filepath.Join(dir, "master.key.next*")); len(left) != 0 {
			t.Errorf("round %d: a start left %v", round, left)
		}
		turning.check(t, s)
	}
	t.Logf("in %d rounds the master key was changed %d times, the API key %d times (%d whose answer was cut off)",
		rounds, masters.Load(), len(turning.dead), turning.undecided)
	s.Stop()
	turning.isNowhere(t, dir)
}

// isNowhere looks for the texts of the key's secrets in the files of the folder.
func (k *turningKey) isNowhere(t *testing.T, dir string) {
	t.Helper()
	texts := append([]string{k.text}, k.dead...)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !f.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				t.Errorf("%s holds the text of a secret", f.Name())
			}
		}
	}
}

// turningKey is an API key that is rotated without a grace.
type turningKey struct {
	id        string
	text      string   // of the last rotation that was acknowledged
	dead      []string // of those before
	undecided int
	rotated   atomic.Int64 // acknowledged rotations
}

func (k *turningKey) turn(ctx context.Context, s *server) {
	for ctx.Err() == nil {
		if text, ok := k.rotate(ctx, s); ok {
			k.dead = append(k.dead, k.text)
			k.text = text
			k.rotated.Add(1)
		}
	}
}

// rotate gives the new text, if an answer came.
func (k *turningKey) rotate(ctx context.Context, s *server) (string, bool) {
	status, body, err := s.Do(ctx, http.MethodPost, "/api/v1/developer/api-keys/"+k.id+"/rotate", map[string]any{"graceSeconds": 0})
	if err != nil || status != http.StatusOK {
		return "", false
	}
	var answer struct {
		Key string `json:"key"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return "", false
	}
	return answer.Key, true
}

// check tries the secrets after a restart. A rotation without a response can have happened. Then its secret is unknown, and
// only another rotation makes the key usable again.
func (k *turningKey) check(t *testing.T, s *server) {
	t.Helper()
	status := func(text string) int {
		t.Helper()
		status, _, err := s.Send(t.Context(), text, http.MethodGet, "/api/v1/health", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	if got := status(k.text); got != http.StatusOK {
		k.undecided++
		text, ok := k.rotate(t.Context(), s)
		if got != http.StatusUnauthorized || !ok {
			t.Fatalf("the last acknowledged secret answers %d, and a rotation does not help", got)
		}
		k.dead, k.text = append(k.dead, k.text), text
		if got := status(k.text); got != http.StatusOK {
			t.Fatalf("a secret that was just made answers %d", got)
		}
	}
	for _, text := range k.dead[max(0, len(k.dead)-5):] {
		if got := status(text); got != http.StatusUnauthorized {
			t.Errorf("a secret that a rotation had ended answers %d", got)
		}
	}
}

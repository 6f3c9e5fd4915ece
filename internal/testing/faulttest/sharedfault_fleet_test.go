package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
)

// fleet is two processes of the program on one PostgreSQL and one Redis, all of the test's own. The database keeps what it
// has said it would, as in life.
type fleet struct {
	t        *testing.T // the test that looks
	owner    *testing.T // the one that the processes end with
	postgres *enginetest.PostgresServer
	redis    *enginetest.RedisServer
	network  *enginetest.Network // that Redis is in; nil: this machine's
	url      string              // of the database
	key      string
	dirs     [2]string
	with     programtest.Option
	strikes  int // how many faults there were

	mu      sync.Mutex
	members [2]*server
}

// startFleet starts both processes, the second with the first one's master key and no more.
func startFleet(t *testing.T, network *enginetest.Network) *fleet {
	t.Helper()
	f := &fleet{
		t: t, owner: t, network: network,
		postgres: enginetest.StartPostgres(t, enginetest.PostgresOptions{Fsync: true}),
		redis:    enginetest.StartRedis(t, enginetest.RedisOptions{Network: network}),
	}
	f.url = f.postgres.Database(t)
	f.with = programtest.Env("KEEPSAKE_DATABASE_URL="+f.url, "KEEPSAKE_REDIS_URL="+f.redis.URL(), "KEEPSAKE_LOG_REQUESTS=false",
		"KEEPSAKE_TIERS_ANONYMOUS_REQUESTS_PER_MINUTE=1000000", "KEEPSAKE_TIERS_ANONYMOUS_DAILY=1000000") // wrong passwords are counted apart
	f.dirs = [2]string{t.TempDir(), t.TempDir()}
	f.members[0] = start(t, f.dirs[0], "", f.with)
	f.key = f.members[0].Key
	master, err := os.ReadFile(filepath.Join(f.dirs[0], "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.dirs[1], "master.key"), string(master))
	f.begin(1)
	f.settle()
	return f
}

// begin starts a process, also one that was killed.
func (f *fleet) begin(i int) {
	f.t.Helper()
	s := start(f.owner, f.dirs[i], f.key, f.with)
	s.t = f.t
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[i] = s
}

func (f *fleet) member(i int) *server {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[i]
}

func (f *fleet) both() []*server { return []*server{f.member(0), f.member(1)} }

// settle waits until all is as it should be, and says when it was.
func (f *fleet) settle() time.Time {
	f.t.Helper()
	for i, s := range f.both() {
		await.Until(f.t, fmt.Sprintf("process %d is ready and shares its limits", i), func() bool {
			status, degraded := s.readiness()
			return status == "ready" && degraded == "" && !s.limiterDegraded()
		})
	}
	return time.Now()
}

// readiness is what /readyz says, and which parts it says are degraded; the status is empty where there is no answer.
func (s *server) readiness() (status, degraded string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BackendURL+"/readyz", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := programtest.Client.Do(req)
	if err != nil {
		return "", ""
	}
	defer res.Body.Close()
	var body struct {
		Status, Message string
		Checks          map[string]struct{ Status string }
	}
	if json.NewDecoder(res.Body).Decode(&body) != nil || res.StatusCode != http.StatusOK {
		return body.Message, ""
	}
	var parts []string
	for name, check := range body.Checks {
		if check.Status != "ok" && check.Status != "off" {
			parts = append(parts, name)
		}
	}
	slices.Sort(parts)
	return body.Status, strings.Join(parts, ", ")
}

// limiterDegraded is what cache-stats says of the limiter; true where it says nothing.
func (s *server) limiterDegraded() bool {
	var body struct {
		Limiter struct {
			Mode     string
			Degraded bool
		}
	}
	status, text, err := s.Do(context.Background(), http.MethodGet, "/api/v1/admin/cache-stats", nil)
	if err != nil || status != http.StatusOK || json.Unmarshal(text, &body) != nil {
		return true
	}
	if body.Limiter.Mode != "shared" {
		s.t.Errorf("the limiter's mode is %q", body.Limiter.Mode)
	}
	return body.Limiter.Degraded
}

// works waits until both processes do everything again: write, find what the other one wrote, make keys that the other
// one knows, and count together.
func (f *fleet) works() time.Time {
	f.t.Helper()
	f.strikes++
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			here, there := f.member(i), f.member(1-i)
			name := fmt.Sprintf("probe%d-%d", f.strikes, i)
			step := func(what string, holds func(ctx context.Context) bool) {
				await.Until(f.t, fmt.Sprintf("process %d %s", i, what), func() bool { return holds(f.t.Context()) })
			}
			step("writes", func(ctx context.Context) bool {
				status, _, err := here.Do(ctx, http.MethodPut, "/api/v1/documents/"+name, document(0, "here is "+name))
				return err == nil && (status == http.StatusCreated || status == http.StatusOK)
			})
			step("is read from", func(ctx context.Context) bool {
				status, text, err := there.Do(ctx, http.MethodGet, "/api/v1/search?q="+name, nil)
				return err == nil && status == http.StatusOK && bytes.Contains(text, []byte(name))
			})
			step("makes keys", func(ctx context.Context) bool {
				status, text, _, err := here.newKey(ctx, name+strconv.Itoa(int(time.Now().UnixNano())))
				if err != nil || status != http.StatusCreated {
					return false
				}
				status, _, err = there.Send(ctx, text, http.MethodGet, "/api/v1/health", "", nil)
				return err == nil && status == http.StatusOK
			})
		})
	}
	all.Wait()
	return f.settle()
}

// answer is what a request was answered.
type answer struct {
	status int // 0: nothing
	header http.Header
	text   []byte
	took   time.Duration
}

func (a *answer) code() string {
	var e struct{ Error string }
	_ = json.Unmarshal(a.text, &e) // not every answer has one
	return e.Error
}

// eager has connections enough for all that a load does at once, and waits longer than any request may take.
var eager = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

// ask sends a request with headers in pairs.
func (s *server) ask(ctx context.Context, key, method, path string, body any, headers ...string) *answer {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			panic(err) // strings and numbers
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(text))
	if err != nil {
		panic(err) // addresses of the test's own
	}
	req.Header.Set("X-API-Key", key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	a := &answer{}
	began := time.Now()
	defer func() { a.took = time.Since(began) }()
	res, err := eager.Do(req)
	if err != nil {
		return a
	}
	defer res.Body.Close()
	if a.text, err = io.ReadAll(res.Body); err == nil {
		a.status, a.header = res.StatusCode, res.Header
	}
	return a
}

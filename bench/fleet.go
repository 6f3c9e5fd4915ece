package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// fleet is three instances of the built program on PostgreSQL, Redis and OpenSearch, behind a proxy that keeps a key at its instance.
type fleet struct {
	*ground
	dir      string
	postgres *enginetest.PostgresServer
	redis    *enginetest.RedisServer
	node     *enginetest.OpenSearchNode
	options  []programtest.Option
	members  []*programtest.Process
	url      string // of the proxy
	operator *keepsake.Client
	key      string // of the operator
}

const (
	instances    = 3
	searchPrefix = "scale-"
	nodeHeap     = "2g"
)

// startFleet starts everything. What it starts ends with b.
func startFleet(b *ground, dir, program string) *fleet {
	b.must(os.Setenv(testtier.Variable, "all")) // the servers are those of long tests
	b.must(os.MkdirAll(dir, 0o755))
	masterKey := filepath.Join(dir, "master.key")
	b.must(os.WriteFile(masterKey, []byte("YSBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyBmb3IgaXQ=\n"), 0o600))
	f := &fleet{ground: b, dir: dir}
	f.postgres = enginetest.StartPostgres(b, enginetest.PostgresOptions{Fsync: true, Settings: map[string]string{
		"shared_buffers": "'1GB'", "max_wal_size": "'4GB'",
	}})
	f.redis = enginetest.StartRedis(b, enginetest.RedisOptions{})
	f.node = enginetest.StartLargeOpenSearch(b, nodeHeap)
	f.options = []programtest.Option{
		programtest.Program(program), programtest.Database(f.postgres.Database(b)), programtest.Redis(f.redis.URL()),
		programtest.Env("KEEPSAKE_MASTER_KEY_FILE="+masterKey, "KEEPSAKE_LOG_REQUESTS=false", "KEEPSAKE_TRUSTED_PROXIES=127.0.0.1/32",
			"KEEPSAKE_SEARCH_OPENSEARCH_URL="+f.node.URL, "KEEPSAKE_SEARCH_OPENSEARCH_PREFIX="+searchPrefix),
	}
	for i := range instances {
		f.members = append(f.members, f.start(fmt.Sprint("member", i)))
		f.key = f.members[0].Key
	}
	f.url = affinity(b, dir, f.members)
	var err error
	f.operator, err = keepsake.New(f.url, f.key)
	b.must(err)
	return f
}

// start starts an instance with a folder of its own.
func (f *fleet) start(name string, more ...programtest.Option) *programtest.Process {
	options := append(append([]programtest.Option{programtest.Key(f.key)}, f.options...), more...)
	return programtest.Start(f, filepath.Join(f.dir, name), options...)
}

// again starts an instance that was killed, at its addresses.
func (f *fleet) again(i int) {
	m := f.members[i]
	f.members[i] = f.start(fmt.Sprint("member", i),
		programtest.Listen(strings.TrimPrefix(m.URL, "http://"), strings.TrimPrefix(m.BackendURL, "http://")))
}

// spent is the CPU time so far.
type spent struct{ keepsake, postgres, redis, node time.Duration }

func (f *fleet) spent() spent {
	s := spent{postgres: f.postgres.CPU(f), redis: f.redis.CPU(f), node: f.node.CPU(f)}
	for _, m := range f.members {
		s.keepsake += cpuOf(m.PID())
	}
	return s
}

// each is the CPU time of each of n operations since a reading.
func (s spent) each(before spent, n int) string {
	per := func(d time.Duration) time.Duration {
		return (d / time.Duration(max(1, n))).Round(100 * time.Nanosecond)
	}
	return fmt.Sprintf("%10v %10v %10v %10v", per(s.keepsake-before.keepsake), per(s.postgres-before.postgres),
		per(s.redis-before.redis), per(s.node-before.node))
}

// affinity starts nginx with the recipe of deploy/affinity in front of three instances, and returns its URL.
func affinity(b *ground, dir string, members []*programtest.Process) string {
	text, err := os.ReadFile(filepath.Join("deploy", "affinity", "nginx.conf"))
	if err != nil {
		b.Fatalf("run it in the folder of the repository: %v", err)
	}
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			b.Fatalf("install nginx: %v", err)
		}
	}
	address := enginetest.FreeAddress(b)
	folder := filepath.Join(dir, "proxy")
	b.must(os.MkdirAll(folder, 0o755))
	replace := []string{
		"listen 8080", "listen " + address,
		"http {", fmt.Sprintf("http {\nclient_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; "+
			"uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;", folder),
	}
	for i, m := range members {
		replace = append(replace, fmt.Sprintf("keepsake-%d:8080", i+1), strings.TrimPrefix(m.URL, "http://"))
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			b.Fatalf("deploy/affinity/nginx.conf does not say %q", replace[i])
		}
	}
	conf := filepath.Join(folder, "nginx.conf")
	b.must(os.WriteFile(conf, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o600))
	front := exec.Command(program, "-c", conf, "-e", filepath.Join(folder, "error.log"),
		"-g", "daemon off; user root; pid "+filepath.Join(folder, "pid")+";")
	b.must(front.Start())
	b.Cleanup(func() {
		_ = front.Process.Signal(syscall.SIGTERM)
		_ = front.Wait()
	})
	url := "http://" + address
	await.Until(b, "the proxy answers", func() bool {
		answer, err := http.Get(url + "/api/versions")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return url
}

// endWith ends everything that b has started, and the program, if it is interrupted or takes too long.
func endWith(b *ground, longest time.Duration) (cancel func()) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancelTime := context.WithTimeout(ctx, longest)
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
		case <-ctx.Done():
			fmt.Fprintf(os.Stderr, "bench: stopped: %v\n", context.Cause(ctx))
			b.clear()
			enginetest.Stop()
			os.Exit(1)
		}
	}()
	return func() {
		close(done)
		cancelTime()
		stop()
	}
}

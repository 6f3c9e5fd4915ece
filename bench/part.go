package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	v1 "keepsake/internal/web/api/v1"
	"keepsake/internal/web/endpoint"
)

// manyKeys is the number of keys if each request has another key.
const manyKeys = 1024

// measurePart measures the governed part without socket and log, including the request ID. For a key's limits, the governed
// part is the difference to the operation alone, which is its function and the encoding of its response. For comparison, it
// also measures the HMAC of a key, which shows how fast the machine is, and the loop itself.
func measurePart(c contest) error {
	p := place()
	callers := lifecycle.NewCallers(discard{}, time.Now, slog.New(slog.DiscardHandler))
	h, key := governed(p, func(o *api.Options) { o.Callers = callers })
	ctx, err := connected(h)
	if err != nil {
		return err
	}
	keys := make([]string, manyKeys)
	for i := range keys {
		keys[i] = p.Key(apitest.Operator, auth.Read, nil)
	}
	r := httptest.NewRequest("GET", "/api/v1/health", nil).WithContext(ctx)
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("User-Agent", "bench/1.0")
	sent := r.Header["X-Api-Key"]
	w := &nowhere{header: http.Header{}}
	for _, sent[0] = range append(keys, key) {
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			return fmt.Errorf("status %d", w.status)
		}
	}
	if err := callers.Flush(context.Background()); err != nil { // the program does this each minute
		return err
	}

	limits, alone, err := limitsOf(p, ctx)
	if err != nil {
		return err
	}

	empty := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	mac, sum := hmac.New(sha256.New, make([]byte, 32)), make([]byte, 0, sha256.Size)
	text := []byte(key)
	return c.loops(fmt.Sprintf("governed requests without the socket, %d live keys", liveKeys),
		loop{"health, one key on a connection", func(int) { sent[0] = key; h.ServeHTTP(w, r) }},
		loop{"health, another key each time", func(i int) { sent[0] = keys[i%manyKeys]; h.ServeHTTP(w, r) }},
		loop{"a key's limits", limits},
		loop{"the operation alone", alone},
		loop{"the HMAC of a key", func(int) { mac.Reset(); mac.Write(text); sum = mac.Sum(sum[:0]) }},
		loop{"a handler that does nothing", func(int) { sent[0] = key; empty.ServeHTTP(w, r) }},
	)
}

// oneKey is a store with one API key.
type oneKey struct {
	apikey.Store
	key *apikey.APIKey
}

func (s oneKey) APIKey(context.Context, string, string) (*apikey.APIKey, error) { return s.key, nil }

// limitsOf returns a governed GET of a key's limits by that key, and the same operation without the pipeline.
func limitsOf(p *apitest.Place, ctx context.Context) (governed, alone func(int), err error) {
	var store oneKey
	text := p.Key(apitest.Operator, auth.All, func(k *apikey.APIKey) { store.key = k })
	operations := endpoint.NewRegistry()
	v1.AddAPIKeys(operations, apikey.NewService(apikey.Options{Store: store, Directory: p.Keys, Accounts: p.Accounts, Limiter: limit.Local{}, Now: time.Now}), page.NewSealer([]byte("secret of the benchmark")))
	h := apitest.Surface(p.Options(operations))
	r := httptest.NewRequest("GET", "/api/v1/developer/api-keys/"+store.key.ID+"/limits", nil).WithContext(ctx)
	r.Header.Set("X-Api-Key", text)
	r.Header.Set("User-Agent", "bench/1.0")
	w := &nowhere{header: http.Header{}}
	if h.ServeHTTP(w, r); w.status != http.StatusOK {
		return nil, nil, fmt.Errorf("limits: status %d", w.status)
	}
	list := operations.Operations()
	op := list[slices.IndexFunc(list, func(op *endpoint.Operation) bool { return op.ID == "getAPIKeyLimits" })]
	own := auth.With(ctx, &auth.Principal{Kind: auth.APIKey, WorkspaceID: apitest.Operator, Scopes: auth.All})
	r.SetPathValue("id", store.key.ID)
	in, err := op.Bind(r, nil)
	if err != nil {
		return nil, nil, err
	}
	var buf []byte
	return func(int) { h.ServeHTTP(w, r) }, func(int) {
		var answer endpoint.Response
		if err := op.Answer(own, in, &answer, buf[:0]); err != nil {
			panic(err)
		}
		buf = answer.Body
	}, nil
}

// loop is a function to be measured; i counts the calls.
type loop struct {
	name string
	do   func(i int)
}

// loops prints the CPU time of each loop, as the median of its turns.
func (c contest) loops(title string, loops ...loop) error {
	const batch = 256
	results := make([][]turn, len(loops))
	for round := range c.turns + 1 {
		for i, l := range loops {
			t := turn{}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began, cpu := time.Now(), cpuTime()
			for t.length < c.length/5 {
				for range batch {
					l.do(int(t.requests))
					t.requests++
				}
				t.length = time.Since(began)
			}
			t.cpu = cpuTime() - cpu
			runtime.ReadMemStats(&after)
			t.allocs, t.bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
			if round > 0 { // the first one warms up
				results[i] = append(results[i], t)
			}
		}
	}
	fmt.Printf("\n%s\n", title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tCPU\tleast\tallocations\tbytes\t")
	for i, l := range loops {
		fmt.Fprintf(w, "%s\t%.0f ns\t%.0f ns\t%.1f\t%.0f\t\n", l.name,
			median(results[i], turn.cost), least(results[i], turn.cost), median(results[i], turn.allocd), median(results[i], turn.bytesd))
	}
	return w.Flush()
}

// connected returns the context of requests on a connection that the program has accepted. Nothing is sent over it.
func connected(h http.Handler) (context.Context, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if _, err := net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, err
	}
	conn, err := api.LimitConnections(l, 1, nil).Accept()
	if err != nil {
		return nil, err
	}
	return api.NewServer(h, slog.New(slog.DiscardHandler)).ConnContext(context.Background(), conn), nil
}

// nowhere is a ResponseWriter that keeps its header map.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w *nowhere) WriteHeader(status int)      { w.status = status }

// discard is a CallerStore that stores nothing.
type discard struct{ lifecycle.CallerStore }

func (discard) AddCallers(context.Context, []lifecycle.Caller, int) error { return nil }

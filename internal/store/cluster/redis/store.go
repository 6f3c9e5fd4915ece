// Package redis keeps rate-limit counters in Redis or Valkey, for processes that share limits.
package redis

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"keepsake/internal/govern/limit"
)

//go:embed sync.lua
var syncText string

//go:embed ping.lua
var pingText string

var (
	syncScript = rueidis.NewLuaScript(syncText)
	pingScript = rueidis.NewLuaScript(pingText)
)

// Store is a limit.CounterStore in Redis. It connects on first use, and again whenever it has to.
type Store struct {
	option   rueidis.ClientOption
	settling time.Duration // limit.ReportAgainTime, except in tests
	dials    atomic.Int64
	mu       sync.Mutex // guards what follows
	client   rueidis.Client
	closed   bool
}

const (
	prefix        = "keepsake:"
	generationKey = prefix + "life"
	leeway        = time.Minute // how long a window is kept after its end
	dialTimeout   = 250 * time.Millisecond
	// After this time without a response the connection is closed, so that its requests do not take effect much later.
	writeTimeout = time.Second
)

// Open parses an address: redis://, rediss:// or unix://. It does not connect. Errors never contain the address, which can
// contain a password.
func Open(url string) (*Store, error) {
	option, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, errors.New("is not an address such as redis://host:6379, rediss://host:6379 or unix:///path")
	}
	s := &Store{settling: limit.ReportAgainTime}
	if option.Dialer.Timeout == 0 {
		option.Dialer.Timeout = dialTimeout
	}
	if option.ConnWriteTimeout == 0 {
		option.ConnWriteTimeout = writeTimeout
	}
	option.DialCtxFn = s.dial(option.DialCtxFn)
	option.DisableRetry = true // a report is old when it fails: the next one is better
	option.DisableCache = true
	option.PipelineMultiplex = -1 // one connection: two would not be faster
	option.ForceSingleClient = len(option.InitAddress) == 1 && option.Sentinel.MasterSet == ""
	option.ReadBufferEachConn, option.WriteBufferEachConn = 64<<10, 64<<10
	option.ClientName = "keepsake"
	s.option = option
	return s, nil
}

// WithoutPassword reports whether a URL names a server on the network without a password for it.
func WithoutPassword(url string) bool {
	option, err := rueidis.ParseURL(url)
	return err == nil && option.Password == "" && !strings.HasPrefix(url, "unix:")
}

type dialer = func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error)

// dial counts connections: a new one can lead to a server that was restarted.
func (s *Store) dial(inner dialer) dialer {
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		s.dials.Add(1)
		if inner != nil {
			return inner(ctx, address, d, t)
		}
		if t != nil {
			return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", address)
		}
		return d.DialContext(ctx, "tcp", address)
	}
}

// connect returns the client, and creates it on first use.
func (s *Store) connect() (rueidis.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, rueidis.ErrClosing
	}
	if s.client == nil {
		client, err := rueidis.NewClient(s.option)
		if err != nil {
			if client != nil {
				client.Close()
			}
			return nil, withoutAddress(err)
		}
		s.client = client
	}
	return s.client, nil
}

// Close ends the connection.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.client != nil {
		s.client.Close()
		s.client = nil
	}
	return nil
}

// Ping implements limit.CounterStore. The generation also changes with every new connection: the server can have been
// restarted with an old state from its disk.
func (s *Store) Ping(ctx context.Context) (generation string, at time.Time, err error) {
	client, err := s.connect()
	if err != nil {
		return "", time.Time{}, err
	}
	v, err := pingScript.Exec(ctx, client, []string{generationKey}, []string{rand.Text()}).AsStrSlice()
	if err != nil {
		return "", time.Time{}, withoutAddress(err)
	}
	if len(v) != 3 {
		return "", time.Time{}, errResponse
	}
	seconds, err1 := strconv.ParseInt(v[0], 10, 64)
	micros, err2 := strconv.ParseInt(v[1], 10, 64)
	if err1 != nil || err2 != nil {
		return "", time.Time{}, errResponse
	}
	return v[2] + "/" + strconv.FormatInt(s.dials.Load(), 10), time.Unix(seconds, micros*1000), nil
}

var errResponse = errors.New("redis: unexpected response of a script")

// Sync implements limit.CounterStore.
func (s *Store) Sync(ctx context.Context, r *limit.SyncRequest) (*limit.SyncResponse, error) {
	client, err := s.connect()
	if err != nil {
		return nil, err
	}
	keys, args := s.encode(r)
	v, err := syncScript.Exec(ctx, client, keys, args).AsIntSlice()
	if err != nil {
		return nil, withoutAddress(err)
	}
	return decode(r, v)
}

// encode returns the arguments of the script.
func (s *Store) encode(r *limit.SyncRequest) (keys, args []string) {
	keys = make([]string, len(r.Entries))
	args = make([]string, 0, 2+7*len(r.Entries)+8*len(r.Wants))
	args = append(args, strconv.FormatUint(r.Number, 10), number(s.settling.Milliseconds()))
	for i := range r.Entries {
		e := &r.Entries[i]
		keys[i] = prefix + "{" + r.Group + "}:" + e.Kind.String() + ":" + e.Subject + ":" + number(int64(e.Window))
		isMinute := "0"
		if e.Kind == limit.Minute {
			isMinute = "1"
		}
		args = append(args, e.Reporter, number(e.Own), number(e.Known), number(e.Stored), number(e.Limit),
			number(e.End.Add(leeway).UnixMilli()), isMinute)
	}
	for _, w := range r.Wants {
		args = append(args, number(w.Cost), number(int64(len(w.Of))))
		for _, at := range w.Of {
			args = append(args, number(int64(at)+1))
		}
	}
	return keys, args
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// decode reads the script's response.
func decode(r *limit.SyncRequest, v []int64) (*limit.SyncResponse, error) {
	if len(v) == 3 && v[2] == -1 {
		return nil, limit.ErrOutdated
	}
	const head, each = 3, 3
	if len(v) != head+each*len(r.Entries)+len(r.Wants) {
		return nil, errResponse
	}
	response := &limit.SyncResponse{At: time.Unix(v[0], v[1]*1000), Sums: make([]limit.Sum, len(r.Entries))}
	for i := range response.Sums {
		sum := v[head+each*i:]
		response.Sums[i] = limit.Sum{Total: sum[0], Own: sum[1], New: sum[2] == 1}
	}
	for _, granted := range v[head+each*len(r.Entries):] {
		response.Granted = append(response.Granted, granted == 1)
	}
	return response, nil
}

// withoutAddress removes the address from an error.
func withoutAddress(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return errors.New("redis: unknown host")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("redis: %s: %w", op.Op, op.Err)
	}
	return fmt.Errorf("redis: %w", err)
}

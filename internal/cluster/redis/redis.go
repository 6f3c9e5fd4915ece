// Package redis keeps the ledger of shared limits in Redis or Valkey.
package redis

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
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

	"keepsake/internal/limit"
)

//go:embed contact.lua
var contactText string

//go:embed life.lua
var lifeText string

var (
	contactScript = rueidis.NewLuaScript(contactText)
	lifeScript    = rueidis.NewLuaScript(lifeText)
	contactSum    = fmt.Sprintf("%x", sha1.Sum([]byte(contactText))) // by which Redis calls it
)

// Ledger is a limit.Ledger in Redis. It connects when it is asked for the first time, and again whenever it has to.
type Ledger struct {
	option   rueidis.ClientOption
	member   string        // this run of this process
	settling time.Duration // limit.Settling but in tests
	dials    atomic.Int64  // a new connection can lead to a server that was restarted
	mu       sync.Mutex    // guards what follows
	client   [2]rueidis.Client
	closed   bool
}

// There are two connections: what a request waits for must not stand behind what members tell each other in between.
const (
	told = iota
	waitedFor
)

const (
	prefix   = "keepsake:"
	lifeKey  = prefix + "life"
	leeway   = time.Minute // for how long after its end a window is kept
	dialTime = 250 * time.Millisecond
	// A server that is silent for as long is taken for lost together with its connection, so that what waits there is
	// not carried out much later.
	silence = time.Second
)

// Open reads an address: redis://, rediss:// or unix://. It makes no connection. An error never shows the address, which
// may hold a password.
func Open(url string) (*Ledger, error) {
	option, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, errors.New("is not an address such as redis://host:6379, rediss://host:6379 or unix:///path")
	}
	l := &Ledger{member: strings.ToLower(rand.Text()[:13]), settling: limit.Settling}
	if option.Dialer.Timeout == 0 {
		option.Dialer.Timeout = dialTime
	}
	if option.ConnWriteTimeout == 0 {
		option.ConnWriteTimeout = silence
	}
	option.DialCtxFn = l.dial(option.DialCtxFn)
	option.DisableRetry = true // what a contact says is old when it fails: the next one says it better
	option.DisableCache = true
	option.PipelineMultiplex = -1 // one connection: two would not be faster
	option.ForceSingleClient = len(option.InitAddress) == 1 && option.Sentinel.MasterSet == ""
	option.ReadBufferEachConn, option.WriteBufferEachConn = 64<<10, 64<<10
	option.ClientName = "keepsake"
	l.option = option
	return l, nil
}

// WithoutPassword reports whether a URL names a server on the network without a password for it.
func WithoutPassword(url string) bool {
	option, err := rueidis.ParseURL(url)
	return err == nil && option.Password == "" && !strings.HasPrefix(url, "unix:")
}

type dialer = func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error)

// dial counts connections.
func (l *Ledger) dial(inner dialer) dialer {
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		l.dials.Add(1)
		if inner != nil {
			return inner(ctx, address, d, t)
		}
		if t != nil {
			return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", address)
		}
		return d.DialContext(ctx, "tcp", address)
	}
}

// connect gives one of the clients, made when it is needed first.
func (l *Ledger) connect(which int) (rueidis.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, rueidis.ErrClosing
	}
	if l.client[which] == nil {
		client, err := rueidis.NewClient(l.option)
		if err != nil {
			if client != nil {
				client.Close()
			}
			return nil, plain(err)
		}
		l.client[which] = client
	}
	return l.client[which], nil
}

// Close ends the connections.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for i, client := range l.client {
		if client != nil {
			client.Close()
			l.client[i] = nil
		}
	}
	return nil
}

// Life implements limit.Ledger. A connection that was made anew gives another name, too: the server may have come back
// with what it had on disk a while ago.
func (l *Ledger) Life(ctx context.Context) (string, time.Time, error) {
	client, err := l.connect(told)
	if err == nil {
		_, err = l.connect(waitedFor) // so that no request waits for it
	}
	if err != nil {
		return "", time.Time{}, err
	}
	v, err := lifeScript.Exec(ctx, client, []string{lifeKey}, []string{rand.Text()}).AsStrSlice()
	if err != nil {
		return "", time.Time{}, plain(err)
	}
	if len(v) != 3 {
		return "", time.Time{}, errAnswer
	}
	seconds, err1 := strconv.ParseInt(v[0], 10, 64)
	micros, err2 := strconv.ParseInt(v[1], 10, 64)
	if err1 != nil || err2 != nil {
		return "", time.Time{}, errAnswer
	}
	return v[2] + "/" + strconv.FormatInt(l.dials.Load(), 10), time.Unix(seconds, micros*1000), nil
}

var errAnswer = errors.New("redis: an answer that is none of the script's")

// Exchange implements limit.Ledger.
func (l *Ledger) Exchange(ctx context.Context, contacts []limit.Contact) []limit.Reply {
	replies := make([]limit.Reply, len(contacts))
	which := told
	if len(contacts) == 1 {
		which = waitedFor
	}
	client, err := l.connect(which)
	if err != nil {
		for i := range replies {
			replies[i].Err = err
		}
		return replies
	}
	list := make([]rueidis.LuaExec, len(contacts))
	for i := range contacts {
		list[i].Keys, list[i].Args = l.encode(&contacts[i])
	}
	for i, r := range l.exec(ctx, client, list) {
		replies[i] = decode(&contacts[i], r)
	}
	return replies
}

// exec runs the script, by its sum where Redis knows it.
func (l *Ledger) exec(ctx context.Context, client rueidis.Client, list []rueidis.LuaExec) []rueidis.RedisResult {
	if len(list) == 1 {
		return []rueidis.RedisResult{contactScript.Exec(ctx, client, list[0].Keys, list[0].Args)}
	}
	commands := make(rueidis.Commands, len(list))
	for i, c := range list {
		commands[i] = client.B().Evalsha().Sha1(contactSum).Numkeys(int64(len(c.Keys))).Key(c.Keys...).Arg(c.Args...).Build()
	}
	results := client.DoMulti(ctx, commands...)
	for i, r := range results {
		if err, is := rueidis.IsRedisErr(r.Error()); is && err.IsNoScript() { // it was started anew
			results[i] = contactScript.Exec(ctx, client, list[i].Keys, list[i].Args)
		}
	}
	return results
}

// encode shapes a contact for the script.
func (l *Ledger) encode(c *limit.Contact) (keys, args []string) {
	keys = make([]string, len(c.Budget))
	args = make([]string, 0, 3+7*len(c.Budget)+9*len(c.Wants))
	args = append(args, l.member, strconv.FormatUint(c.Number, 10), number(l.settling.Milliseconds()))
	for i := range c.Budget {
		e := &c.Budget[i]
		keys[i] = prefix + "{" + c.Tag + "}:" + e.Kind.String() + ":" + e.Subject + ":" + number(int64(e.Window))
		args = append(args, number(e.Own), flag(e.Unsure), number(e.Known), number(e.Durable), number(e.Limit),
			number(e.Ends.Add(leeway).UnixMilli()), flag(e.Kind == limit.Minute))
	}
	for _, w := range c.Wants {
		args = append(args, number(w.Cost), number(w.Callers), number(int64(len(w.Of))))
		for _, at := range w.Of {
			args = append(args, number(int64(at)+1))
		}
	}
	return keys, args
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// decode reads what the script answers.
func decode(c *limit.Contact, r rueidis.RedisResult) limit.Reply {
	v, err := r.AsIntSlice()
	if err != nil {
		return limit.Reply{Err: plain(err)}
	}
	if len(v) == 3 && v[2] == -1 {
		return limit.Reply{Err: limit.ErrOvertaken}
	}
	const head, each = 3, 3
	if len(v) != head+each*len(c.Budget)+len(c.Wants) {
		return limit.Reply{Err: errAnswer}
	}
	reply := limit.Reply{
		At:      time.Unix(v[0], v[1]*1000),
		Budget:  make([]limit.Standing, len(c.Budget)),
		Granted: v[head+each*len(c.Budget):],
	}
	for i := range reply.Budget {
		at := v[head+each*i:]
		reply.Budget[i] = limit.Standing{Total: at[0], Own: at[1], New: at[2] == 1}
	}
	return reply
}

// plain is an error without the address, which a log may not show: it could hold what an operator keeps to himself.
func plain(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return errors.New("redis: its host is not known")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("redis: %s: %w", op.Op, op.Err)
	}
	return fmt.Errorf("redis: %w", err)
}

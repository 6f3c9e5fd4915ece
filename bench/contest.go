package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"keepsake/internal/web/api"
)

// contest is a benchmark run in which servers take turns.
type contest struct {
	turns   int
	length  time.Duration
	clients int

	programs []string // for outside
}

// side is one server of a benchmark run, with the bytes that its clients send.
type side struct {
	name    string
	handler http.Handler
	request []byte
	running *running // instead of both
}

// running describes servers that already run, and what each client sends.
type running struct {
	at   []string // host and port
	each [][]byte
	cpu  func() time.Duration // CPU time of the servers; nil: of this process
}

// turn is the result of one turn of a side.
type turn struct {
	requests int64
	length   time.Duration
	cpu      time.Duration
	allocs   uint64
	bytes    uint64
}

func (t turn) rate() float64   { return float64(t.requests) / t.length.Seconds() }
func (t turn) cost() float64   { return float64(t.cpu.Nanoseconds()) / float64(t.requests) }
func (t turn) allocd() float64 { return float64(t.allocs) / float64(t.requests) }
func (t turn) bytesd() float64 { return float64(t.bytes) / float64(t.requests) }

// run measures the sides and prints the results. Ratios compare the first side with each other side in the same round.
func (c contest) run(title string, sides ...side) error {
	arenas := make([]*arena, len(sides))
	for i, s := range sides {
		a, err := open(s, c.clients)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		defer a.close()
		arenas[i] = a
	}
	results := make([][]turn, len(sides))
	for round := range c.turns + 1 {
		for i, a := range arenas {
			t, err := a.turn(c.length)
			if err != nil {
				return fmt.Errorf("%s: %w", sides[i].name, err)
			}
			if round > 0 { // the first one warms up
				results[i] = append(results[i], t)
			}
		}
	}
	fmt.Printf("\n%s\n", title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\trequests/s\tCPU/request\tallocations\trequests/s, ratio\tCPU, ratio\t")
	for i, s := range sides {
		fmt.Fprintf(w, "%s\t%.0f\t%.2f µs\t%.1f\t", s.name, median(results[i], turn.rate), median(results[i], turn.cost)/1000, median(results[i], turn.allocd))
		if i == 0 {
			fmt.Fprint(w, "\t\t\n")
			continue
		}
		fmt.Fprintf(w, "%.3f\t%.3f\t\n", paired(results[0], results[i], turn.rate), paired(results[0], results[i], turn.cost))
	}
	return w.Flush()
}

// paired returns the median of the ratios of a to b in the same round.
func paired(a, b []turn, of func(turn) float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = of(a[i]) / of(b[i])
	}
	return middle(ratios)
}

func median(turns []turn, of func(turn) float64) float64 {
	values := make([]float64, len(turns))
	for i, t := range turns {
		values[i] = of(t)
	}
	return middle(values)
}

func least(turns []turn, of func(turn) float64) float64 {
	value := of(turns[0])
	for _, t := range turns {
		value = min(value, of(t))
	}
	return value
}

func middle(values []float64) float64 {
	slices.SortFunc(values, cmp.Compare[float64])
	return values[len(values)/2]
}

// arena is a running server with its connections.
type arena struct {
	server  *http.Server
	clients []*client
	cpu     func() time.Duration
}

// open serves a side with the same server settings as the program.
func open(s side, clients int) (*arena, error) {
	if r := s.running; r != nil {
		a := &arena{cpu: cpuTime}
		if r.cpu != nil {
			a.cpu = r.cpu
		}
		for i := range clients {
			c, err := dial(r.at[i%len(r.at)], r.each[i%len(r.each)])
			if err != nil {
				return nil, err
			}
			a.clients = append(a.clients, c)
		}
		return a, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &arena{cpu: cpuTime, server: api.NewServer(s.handler, slog.New(slog.DiscardHandler))}
	// More than the clients, because one address cannot have most of the connections.
	go func() { _ = a.server.Serve(api.LimitConnections(l, 4*clients, nil)) }()
	for range clients {
		c, err := dial(l.Addr().String(), s.request)
		if err != nil {
			return nil, err
		}
		a.clients = append(a.clients, c)
	}
	return a, nil
}

func (a *arena) close() {
	for _, c := range a.clients {
		_ = c.conn.Close()
	}
	if a.server != nil {
		_ = a.server.Close()
	}
}

// turn lets all clients send requests for a given time.
func (a *arena) turn(length time.Duration) (turn, error) {
	var stop atomic.Bool
	var requests atomic.Int64
	var running sync.WaitGroup
	failures := make(chan error, len(a.clients))
	before, began, cpu := mallocs(), time.Now(), a.cpu()
	for _, c := range a.clients {
		running.Go(func() {
			for !stop.Load() {
				if err := c.exchange(); err != nil {
					failures <- err
					return
				}
				requests.Add(1)
			}
		})
	}
	time.Sleep(length)
	stop.Store(true)
	running.Wait()
	t := turn{requests: requests.Load(), length: time.Since(began), cpu: a.cpu() - cpu, allocs: mallocs() - before}
	select {
	case err := <-failures:
		return t, err
	default:
	}
	if t.requests == 0 {
		return t, errors.New("no request was answered in a whole turn")
	}
	return t, nil
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

package embedding

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Options is what a Client needs.
type Options struct {
	Encoder    Encoder
	Model      string // its name
	DailyTexts int64  // how many texts can be sent in a UTC day
	Count      Count
	// Workspaces returns how many workspaces use the endpoint; nil for one.
	Workspaces func() int
	// Patience is how long a recall waits for the vector of its query; 0 for the constant Patience.
	Patience time.Duration
	// After returns a channel that receives after a time; nil for time.After.
	After func(d time.Duration) <-chan time.Time
	Now   func() time.Time
	Log   *slog.Logger
}

// Client asks an endpoint for vectors. It is safe for concurrent use.
type Client struct {
	o       Options
	budget  budget
	running chan struct{} // queries

	mu      sync.Mutex
	queries circuit
	texts   circuit
	size    int // of the endpoint's vectors; 0 until it has returned one
	base    *Baseline

	memoriesSent, queriesSent atomic.Int64

	failures sync.Map     // Reason → *atomic.Int64
	late     atomic.Int64 // queries that were answered without a vector
}

const (
	// Patience is how long a recall waits for the vector of its query, unless a setting says otherwise.
	Patience = 150 * time.Millisecond
	// maxQueries is how many requests with queries run at once.
	maxQueries = 16
	// tolerated is how many queries in a row can fail before a pause. A batch of memories pauses after every failure.
	tolerated = 2
)

// NewClient returns a Client.
func NewClient(o Options) *Client {
	o.Patience = cmp.Or(o.Patience, Patience)
	if o.After == nil {
		o.After = time.After
	}
	if o.Workspaces == nil {
		o.Workspaces = func() int { return 1 }
	}
	return &Client{
		o: o, budget: budget{limit: o.DailyTexts, count: o.Count, workspaces: o.Workspaces}, running: make(chan struct{}, maxQueries), queries: circuit{tolerated: tolerated},
	}
}

// Model identifies the vectors that can be compared with each other: the name of the model and the length of its vectors. It is
// empty until the endpoint has returned one.
func (c *Client) Model() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size == 0 {
		return ""
	}
	return c.o.Model + "/" + strconv.Itoa(c.size)
}

// Query is a request for the vector of a query, which is running.
type Query struct {
	client *Client
	cancel context.CancelCauseFunc
	done   chan Vector // nil: there is none
	over   <-chan time.Time
	sent   atomic.Bool
}

var errImpatient = errors.New("the recall does not wait any longer")

// Query begins a request for the vector of a query of a workspace. Call Wait.
func (c *Client) Query(ctx context.Context, workspaceID, text string) *Query {
	q := &Query{client: c, done: make(chan Vector, 1)}
	ctx, q.cancel = context.WithCancelCause(ctx)
	if c.QueriesPaused() {
		q.done <- nil
		return q
	}
	q.over = c.o.After(c.o.Patience)
	go func() {
		select {
		case c.running <- struct{}{}:
			defer func() { <-c.running }()
		case <-ctx.Done():
			q.done <- nil
			return
		}
		vectors, err := c.ask(ctx, &spender{workspaceID, ForQuery}, []string{text}, func() { q.sent.Store(true) })
		if err != nil {
			q.done <- nil
			return
		}
		q.done <- vectors[0]
	}()
	return q
}

// Sent reports, after Wait, whether the query was sent to the endpoint.
func (q *Query) Sent() bool { return q.sent.Load() }

// Wait returns the vector, or nil if there is none within Patience since the request began.
func (q *Query) Wait() Vector {
	defer q.cancel(nil)
	select {
	case v := <-q.done:
		if v == nil {
			q.client.late.Add(1)
		}
		return v
	case <-q.over:
		q.cancel(errImpatient)
		q.client.late.Add(1)
		return nil
	}
}

// Reserve returns how many of n texts of memories a workspace can send today; ErrLimit if none. They are kept for Memories.
func (c *Client) Reserve(ctx context.Context, workspaceID string, n int) (int, error) {
	got, err := c.budget.reserve(ctx, c.o.Now(), spender{workspaceID, ForMemories}, int64(n))
	return int(got), err
}

// Exhausted reports whether a workspace can send no more texts of memories today, as far as this process knows.
func (c *Client) Exhausted(workspaceID string) bool {
	return c.budget.exhausted(c.o.Now(), spender{workspaceID, ForMemories})
}

// Memories returns the vectors of texts of a workspace, at most MaxBatch. It is nil for a text that the endpoint rejects while it
// accepts others.
func (c *Client) Memories(ctx context.Context, workspaceID string, texts []string) ([]Vector, error) {
	vectors, err := c.ask(ctx, &spender{workspaceID, ForMemories}, texts, func() {})
	if err == nil || !rejected(err) {
		return vectors, err
	}
	if len(texts) > 1 { // find the text that is rejected
		half := len(texts) / 2
		first, err := c.Memories(ctx, workspaceID, texts[:half])
		if err != nil {
			return nil, err
		}
		second, err := c.Memories(ctx, workspaceID, texts[half:])
		return append(first, second...), err
	}
	if err := c.Try(ctx); err != nil { // it rejects everything
		return nil, err
	}
	return []Vector{nil}, nil
}

// harmless is a text that every model accepts.
const harmless = "test"

// Try sends fixed texts, which finds out the length of the vectors, the Baseline of the model and whether the endpoint works. They
// are no one's, and do not count.
func (c *Client) Try(ctx context.Context) error {
	texts := []string{harmless}
	if c.Baseline() == nil {
		texts = slices.Concat(questions, statements)
	}
	vectors, err := c.ask(ctx, nil, texts, func() {})
	if rejected(err) {
		c.end(ctx, &c.texts, &Error{Reason: Status})
	}
	if err == nil && len(vectors) > 1 {
		c.mu.Lock()
		c.base = baselineOf(vectors)
		c.mu.Unlock()
	}
	return err
}

// Baseline returns the baseline of the model; nil until it is known.
func (c *Client) Baseline() *Baseline {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base
}

func rejected(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Reason == Rejected
}

// ask sends texts of a spender, or the program's own, and checks the response. It calls sending before it sends them.
func (c *Client) ask(ctx context.Context, of *spender, texts []string, sending func()) ([]Vector, error) {
	by := &c.texts
	if of != nil && of.kind == ForQuery {
		by = &c.queries
	}
	c.mu.Lock()
	begun := by.begin(c.o.Now())
	c.mu.Unlock()
	if !begun {
		return nil, ErrPaused
	}
	vectors, err := c.send(ctx, of, texts, sending)
	c.end(ctx, by, err)
	return vectors, err
}

func (c *Client) send(ctx context.Context, of *spender, texts []string, sending func()) ([]Vector, error) {
	if of != nil {
		if err := c.budget.take(ctx, c.o.Now(), *of, int64(len(texts))); err != nil {
			return nil, err
		}
	}
	short := make([]string, len(texts))
	for i, text := range texts {
		short[i] = cut(text)
	}
	switch {
	case of == nil:
	case of.kind == ForQuery:
		c.queriesSent.Add(1)
	default:
		c.memoriesSent.Add(int64(len(texts)))
	}
	sending()
	raw, err := c.o.Encoder.Encode(ctx, short)
	if err != nil {
		return nil, err
	}
	if !c.accept(check(raw, len(texts))) {
		return nil, &Error{Reason: Answer}
	}
	vectors := make([]Vector, len(raw))
	for i, v := range raw {
		vectors[i] = round(v)
	}
	return vectors, nil
}

// accept reports whether vectors have the length of all others. The first ones decide it.
func (c *Client) accept(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size == 0 {
		c.size = size
	}
	return size > 0 && size == c.size
}

// end records how a request ended. A request whose caller went away says nothing about the endpoint, and neither does a text
// that it rejects.
func (c *Client) end(ctx context.Context, by *circuit, err error) {
	e, failed := errors.AsType[*Error](err)
	if context.Cause(ctx) == errImpatient {
		e, failed = &Error{Reason: Timeout}, true
	} else if ctx.Err() != nil || failed && e.Reason == Rejected {
		failed = false
	}
	c.mu.Lock()
	now := c.o.Now()
	was := by.paused(now)
	switch {
	case failed:
		by.failed(now, e.RetryAfter)
	case err == nil:
		by.succeeded()
	default:
		by.abandoned()
	}
	paused, pause := by.paused(now), by.until.Sub(now)
	c.mu.Unlock()
	if !failed {
		return
	}
	counter, _ := c.failures.LoadOrStore(e.Reason, &atomic.Int64{})
	counter.(*atomic.Int64).Add(1)
	if paused && !was {
		c.o.Log.Warn("embeddings endpoint failed", "reason", string(e.Reason), "pauseSeconds", int64(pause/time.Second))
	}
}

// QueriesPaused reports whether queries are answered without the endpoint now.
func (c *Client) QueriesPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queries.paused(c.o.Now())
}

// MemoriesPaused reports whether no texts of memories are sent now, after failures.
func (c *Client) MemoriesPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.texts.paused(c.o.Now())
}

// Limited reports whether texts of memories were refused today because of the limit of the day or a workspace's share of it.
func (c *Client) Limited() bool { return c.budget.limited(c.o.Now()) }

// MemoriesPause returns how long the current pause after failures lasts for texts of memories; 0 if there is none.
func (c *Client) MemoriesPause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	if !c.texts.paused(now) {
		return 0
	}
	return max(0, c.texts.until.Sub(now))
}

// Stats are the numbers of this process since its start.
type Stats struct {
	Memories int64 // texts of memories that were sent
	Queries  int64 // that were sent
	Degraded int64 // queries that got no vector
	Failures map[Reason]int64
}

// Stats returns the numbers of this process.
func (c *Client) Stats() Stats {
	s := Stats{Memories: c.memoriesSent.Load(), Queries: c.queriesSent.Load(), Degraded: c.late.Load(), Failures: map[Reason]int64{}}
	c.failures.Range(func(reason, n any) bool {
		s.Failures[reason.(Reason)] = n.(*atomic.Int64).Load()
		return true
	})
	return s
}

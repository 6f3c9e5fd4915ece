package idempotency

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"sync"
	"time"

	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

const (
	// Lifetime is how long an answer is kept.
	Lifetime = 24 * time.Hour
	// MaxBody is the largest body that is kept, in bytes, where a larger one can be rebuilt by reading what its Location
	// names. Others are kept whole: they are answers to batches, which are no larger than what was sent, and to keep one in
	// pieces would cost as much.
	MaxBody = 64 << 10

	// smallBody is how large a body is kept also where the workspace has no room left: whoever rotates a key must not be
	// refused for its documents.
	smallBody = 4 << 10

	// HeaderName is where a client puts its key, and the field of a 400 about it.
	HeaderName = "Idempotency-Key"
)

// Request says whose request it is and which. Two requests with equal values are the same one, sent twice.
type Request struct {
	Credential string // the key's id, or what else names the caller
	Workspace  string // the caller's, whose storage the answer takes
	Method     string
	Path       string // as sent, without the query
	Key        string // the client's Idempotency-Key
}

// Outcome is an answer as it is kept: a secret that is shown once is already null in Body.
type Outcome struct {
	Status   int
	Location string
	ETag     string
	Body     []byte
}

// Work is what a request does when it is not a repetition.
type Work struct {
	// Prepare, where there is any, runs once before the unit of work, for what others should not have to wait for.
	Prepare func(ctx context.Context) error
	// Run has the effect, through stores, with the context it is given. It may be called more than once; only the last
	// call counts.
	Run func(ctx context.Context) (Outcome, error)
	// Refused gives the answer for a problem that Run decided on, so that a repetition is refused alike.
	Refused func(p *problem.Problem) Outcome
}

// Service runs requests once per key.
type Service struct {
	store  Store
	units  unit.Runner
	secret []byte
	now    func() time.Time
	claims Claims                          // nil where no other process has the store open
	keys   Keys                            // nil where no answer is ever sealed
	limit  func(workspaceID string) *int64 // may be nil

	mu      sync.Mutex
	running map[[32]byte]struct{} // claims whose first request has not ended
}

// NewService makes a Service. The secret keys the hashes under which keys and bodies are kept.
func NewService(store Store, units unit.Runner, secret []byte, now func() time.Time) *Service {
	return &Service{store: store, units: units, secret: secret, now: now, running: map[[32]byte]struct{}{}}
}

// Among makes the Service tell other processes on the store what runs here. It is called before the first request.
func (s *Service) Among(c Claims) { s.claims = c }

// SealBy gives the Service the keys by which answers are sealed. It is called before the first request.
func (s *Service) SealBy(k Keys) { s.keys = k }

// Limit gives the Service how many bytes a workspace may store, nil for no limit. It is called before the first request.
func (s *Service) Limit(limit func(workspaceID string) *int64) { s.limit = limit }

// CheckKey refuses a key that is not 8–255 printable ASCII characters.
func CheckKey(key string) error {
	switch {
	case len(key) < 8:
		return problem.Validation(HeaderName, problem.TooShort, "An Idempotency-Key must have 8 to 255 characters.")
	case len(key) > 255:
		return problem.Validation(HeaderName, problem.TooLong, "An Idempotency-Key must have 8 to 255 characters.")
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return problem.Validation(HeaderName, problem.Format, "An Idempotency-Key must consist of printable ASCII characters.")
		}
	}
	return nil
}

// BodyHash starts the hash of a request's body, for Do. Nothing of a body needs to be kept for its sake.
func (s *Service) BodyHash() hash.Hash { return s.keyed("body") }

// Do does w once for r, whose whole body was written to body, a BodyHash. A repetition with the same body gives the kept answer (its Body is nil where it was too large to
// keep); nil means that w ran, and an error of Run comes back unchanged. The effect and the answer commit together.
//
// Problems: `reused` for another body under the same key, idempotency_in_progress while the first request runs.
func (s *Service) Do(ctx context.Context, r Request, body hash.Hash, w Work) (*Answer, error) {
	turn := s.turn(r)
	if err := turn.begin(ctx); err != nil {
		return nil, err
	}
	defer turn.end()
	turn.sum = [32]byte(body.Sum(nil))
	if kept, err := turn.first(ctx); kept != nil || err != nil {
		return turn.same(ctx, kept, err)
	}
	return turn.settle(ctx, w.Refused, turn.work(ctx, w))
}

// work has the effect and keeps its answer.
func (t *turn) work(ctx context.Context, w Work) error {
	if w.Prepare != nil {
		if err := w.Prepare(ctx); err != nil {
			return err
		}
	}
	answered := false
	err := t.units.Run(ctx, func(ctx context.Context) error {
		inside, seals := collecting(ctx)
		out, err := w.Run(inside)
		if answered = err == nil && keepable(out.Status); !answered {
			return err
		}
		return t.keep(ctx, out, seals)
	})
	t.answered = answered && err == nil
	return err
}

// DoStream is Do for a body that is read as it comes: run has committed its effect piece by piece when it returns, and
// the answer is kept after it. Repeating what was cut off in between must therefore be harmless by itself; an import
// sees to that by requiring ids in its lines.
func (s *Service) DoStream(ctx context.Context, r Request, body io.Reader, run func(ctx context.Context, body io.Reader) (Outcome, error), refused func(p *problem.Problem) Outcome) (*Answer, error) {
	turn := s.turn(r)
	if err := turn.begin(ctx); err != nil {
		return nil, err
	}
	defer turn.end()
	digest := s.BodyHash()
	read := io.TeeReader(body, digest)

	kept, err := turn.first(ctx)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		if _, err := io.Copy(io.Discard, read); err != nil {
			return nil, fmt.Errorf("read the repeated body: %w", err)
		}
		turn.sum = [32]byte(digest.Sum(nil))
		return turn.same(ctx, kept, nil)
	}
	inside, seals := collecting(ctx)
	out, err := run(inside, read)
	if _, drained := io.Copy(io.Discard, read); drained != nil {
		// The body never came whole, so there is nothing a repetition could be compared with.
		if err == nil {
			err = fmt.Errorf("read the rest of the body: %w", drained)
		}
		return nil, err
	}
	turn.sum = [32]byte(digest.Sum(nil))
	if err == nil && keepable(out.Status) {
		if err = turn.keepAlone(ctx, out, seals); isFull(err) {
			return nil, nil // the effect is there already, and to repeat it is harmless
		}
	}
	return turn.settle(ctx, refused, err)
}

// Run deletes expired answers each hour until ctx ends.
func (s *Service) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if err := s.store.PruneAnswers(ctx, s.now()); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "expired idempotent answers were not deleted", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// settle keeps the answer of a request that was refused, after its unit was rolled back, and gives the refusal back. Where
// another process has answered the same request meanwhile, it is a repetition after all.
func (t *turn) settle(ctx context.Context, refused func(p *problem.Problem) Outcome, err error) (*Answer, error) {
	p, ok := problem.As(err)
	if !ok {
		return nil, err
	}
	if !errors.Is(err, ErrAnswered) {
		out := refused(p)
		if !keepable(out.Status) {
			return nil, err
		}
		kept := t.keepAlone(ctx, out, &seals{}) // a refusal tells nothing of anybody
		if kept == nil {
			return nil, err
		}
		if !errors.Is(kept, ErrAnswered) {
			return nil, fmt.Errorf("keep a refusal: %w", kept)
		}
	}
	first, failed := t.kept(ctx)
	if first == nil && failed == nil {
		return nil, err // its time was over at this moment
	}
	return t.same(ctx, first, failed)
}

func isFull(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Code == problem.CodeLimitReached
}

// keepable says whether a repetition shall meet the same answer. Faults of ours and spent limits pass with time.
func keepable(status int) bool { return status < 500 && status != 429 }

func (t *turn) keepAlone(ctx context.Context, out Outcome, seals *seals) error {
	err := t.units.Run(ctx, func(ctx context.Context) error { return t.keep(ctx, out, seals) })
	t.answered = err == nil
	return err
}

// keep stores an answer, in the unit of work that has its effect. It is sealed there, because it is known there: a few
// microseconds for most, and some milliseconds for that of the largest batch, which others wait for.
func (t *turn) keep(ctx context.Context, out Outcome, seals *seals) error {
	now := t.now().Truncate(time.Millisecond)
	a := &Answer{
		WorkspaceID: t.workspace, Claim: t.claim, Request: t.sum, Status: out.Status, Location: out.Location, ETag: out.ETag, Body: out.Body,
		CreatedAt: now, ExpiresAt: now.Add(Lifetime),
	}
	switch {
	case len(out.Body) > MaxBody && out.Location != "":
		a.Body = nil
	case len(seals.names) > 0 && len(out.Body) > 0:
		if err := t.seal(ctx, a, seals.names); err != nil {
			return fmt.Errorf("seal an idempotent answer: %w", err)
		}
	}
	if t.limit != nil && len(a.Body)+len(a.Sealed) > smallBody {
		a.MaxBytes = t.limit(t.workspace)
	}
	if err := t.store.KeepAnswer(ctx, a); err != nil {
		return fmt.Errorf("keep an idempotent answer: %w", err)
	}
	return nil
}

func (t *turn) kept(ctx context.Context) (*Answer, error) {
	a, err := t.store.KeptAnswer(ctx, t.claim, t.now())
	if err != nil {
		return nil, fmt.Errorf("read a kept answer: %w", err)
	}
	return a, nil
}

// first finds the answer of the first request. There is none where this one is the first, and may run.
func (t *turn) first(ctx context.Context) (*Answer, error) {
	kept, err := t.kept(ctx)
	if kept == nil && err == nil && t.elsewhere {
		return nil, errRunning
	}
	t.answered = kept != nil
	return kept, err
}

// same gives a kept answer to a repetition. One whose body was dropped is rebuilt like one that was too large.
func (t *turn) same(ctx context.Context, kept *Answer, err error) (*Answer, error) {
	if err != nil {
		return nil, err
	}
	if kept.Request != t.sum {
		return nil, problem.Validation(HeaderName, problem.Reused, "This Idempotency-Key was used with another body.")
	}
	if kept.SealedBy == "" || (len(kept.Sealed) == 0 && kept.Location != "") {
		return kept, nil
	}
	body, err := t.open(ctx, kept)
	if err != nil {
		return nil, fmt.Errorf("open a kept answer: %w", err)
	}
	opened := *kept
	opened.Body = body
	return &opened, nil
}

var errRunning = problem.New(problem.Conflict, problem.CodeIdempotencyRunning, "The first request with this Idempotency-Key is still running.")

// turn is one request under way.
type turn struct {
	*Service
	claim     [32]byte
	sum       [32]byte // of the body, once it was read
	workspace string
	elsewhere bool // another process runs the same request
	answered  bool // an answer is kept
}

func (s *Service) turn(r Request) turn {
	return turn{Service: s, claim: s.claimOf(r), workspace: r.Workspace}
}

// begin claims the request for this turn. Of two processes that run the same one in spite of it, one keeps its answer:
// the other's unit fails with its effect, and it repeats the first.
func (t *turn) begin(ctx context.Context) error {
	if !t.take(t.claim) {
		return errRunning
	}
	if t.claims != nil {
		t.elsewhere = !t.claims.Take(ctx, t.claim)
	}
	return nil
}

func (s *Service) take(claim [32]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, busy := s.running[claim]
	if !busy {
		s.running[claim] = struct{}{}
	}
	return !busy
}

// end lets the same request run again. A kept answer is found by whoever is quicker than the news of it; without one the
// client must not hear of the end before others do.
func (t *turn) end() {
	if t.claims != nil && !t.elsewhere {
		t.claims.Release(t.claim, !t.answered)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, t.claim)
}

// claim hashes every part with its length before it, so that no two requests share a claim by shifting characters.
func (s *Service) claimOf(r Request) [32]byte {
	h := s.keyed("claim")
	for _, part := range [...]string{r.Credential, r.Method, r.Path, r.Key} {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(part)))
		h.Write(size[:])
		io.WriteString(h, part)
	}
	return [32]byte(h.Sum(nil))
}

// keyed starts a hash for one purpose, so that a claim never equals a body's hash.
func (s *Service) keyed(purpose string) hash.Hash {
	h := hmac.New(sha256.New, s.secret)
	io.WriteString(h, purpose+"\x00")
	return h
}

package idempotency

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
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
	// MaxBody is the largest body that is kept, in bytes. A larger one with a Location is rebuilt by reading that.
	MaxBody = 64 << 10

	// HeaderName is where a client puts its key, and the field of a 400 about it.
	HeaderName = "Idempotency-Key"
)

// Request says whose request it is and which. Two requests with equal values are the same one, sent twice.
type Request struct {
	Credential string // the key's id, or what else names the caller
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

	mu      sync.Mutex
	running map[[32]byte]struct{} // claims whose first request has not ended
}

// NewService makes a Service. The secret keys the hashes under which keys and bodies are kept.
func NewService(store Store, units unit.Runner, secret []byte, now func() time.Time) *Service {
	return &Service{store: store, units: units, secret: secret, now: now, running: map[[32]byte]struct{}{}}
}

// CheckKey refuses a key that is not 8–255 printable ASCII characters.
func CheckKey(key string) error {
	switch {
	case len(key) < 8:
		return problem.Validation(HeaderName, problem.TooShort, "An Idempotency-Key has 8 to 255 characters.")
	case len(key) > 255:
		return problem.Validation(HeaderName, problem.TooLong, "An Idempotency-Key has 8 to 255 characters.")
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return problem.Validation(HeaderName, problem.Format, "An Idempotency-Key has printable ASCII characters only.")
		}
	}
	return nil
}

// Do does w once for r. A repetition with the same body gives the kept answer (its Body is nil where it was too large to
// keep); nil means that w ran, and an error of Run comes back unchanged. The effect and the answer commit together.
//
// Problems: `reused` for another body under the same key, idempotency_in_progress while the first request runs.
func (s *Service) Do(ctx context.Context, r Request, body []byte, w Work) (*Answer, error) {
	claim := s.claim(r)
	if err := s.begin(claim); err != nil {
		return nil, err
	}
	defer s.end(claim)
	digest := s.bodyHash()
	digest.Write(body)
	sum := [32]byte(digest.Sum(nil))

	if kept, err := s.kept(ctx, claim); kept != nil || err != nil {
		return same(kept, sum, err)
	}
	return nil, s.keepRefusal(ctx, claim, sum, w, s.work(ctx, claim, sum, w))
}

// work has the effect and keeps its answer.
func (s *Service) work(ctx context.Context, claim, sum [32]byte, w Work) error {
	if w.Prepare != nil {
		if err := w.Prepare(ctx); err != nil {
			return err
		}
	}
	return s.units.Run(ctx, func(ctx context.Context) error {
		out, err := w.Run(ctx)
		if err != nil || !keepable(out.Status) {
			return err
		}
		return s.keep(ctx, claim, sum, out)
	})
}

// DoStream is Do for a body that is read as it comes: run has committed its effect piece by piece when it returns, and
// the answer is kept after it. Repeating what was cut off in between must therefore be harmless by itself; an import
// sees to that by requiring ids in its lines.
func (s *Service) DoStream(ctx context.Context, r Request, body io.Reader, run func(ctx context.Context, body io.Reader) (Outcome, error), refused func(p *problem.Problem) Outcome) (*Answer, error) {
	claim := s.claim(r)
	if err := s.begin(claim); err != nil {
		return nil, err
	}
	defer s.end(claim)
	digest := s.bodyHash()
	read := io.TeeReader(body, digest)

	kept, err := s.kept(ctx, claim)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		if _, err := io.Copy(io.Discard, read); err != nil {
			return nil, fmt.Errorf("read the repeated body: %w", err)
		}
		return same(kept, [32]byte(digest.Sum(nil)), nil)
	}
	out, err := run(ctx, read)
	if _, drained := io.Copy(io.Discard, read); drained != nil {
		// The body never came whole, so there is nothing a repetition could be compared with.
		if err == nil {
			err = fmt.Errorf("read the rest of the body: %w", drained)
		}
		return nil, err
	}
	sum := [32]byte(digest.Sum(nil))
	if err == nil && keepable(out.Status) {
		return nil, s.units.Run(ctx, func(ctx context.Context) error { return s.keep(ctx, claim, sum, out) })
	}
	return nil, s.keepRefusal(ctx, claim, sum, Work{Refused: refused}, err)
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

// keepRefusal keeps the answer of a refused request, after its unit was rolled back, and gives the refusal back.
func (s *Service) keepRefusal(ctx context.Context, claim, sum [32]byte, w Work, err error) error {
	p, ok := problem.As(err)
	if !ok {
		return err
	}
	out := w.Refused(p)
	if !keepable(out.Status) {
		return err
	}
	if kept := s.units.Run(ctx, func(ctx context.Context) error { return s.keep(ctx, claim, sum, out) }); kept != nil {
		return fmt.Errorf("keep a refusal: %w", kept)
	}
	return err
}

// keepable says whether a repetition shall meet the same answer. Faults of ours and spent limits pass with time.
func keepable(status int) bool { return status < 500 && status != 429 }

func (s *Service) keep(ctx context.Context, claim, sum [32]byte, out Outcome) error {
	now := s.now().Truncate(time.Millisecond)
	a := &Answer{
		Claim: claim, Request: sum, Status: out.Status, Location: out.Location, ETag: out.ETag, Body: out.Body,
		CreatedAt: now, ExpiresAt: now.Add(Lifetime),
	}
	if len(out.Body) > MaxBody && out.Location != "" {
		a.Body = nil
	}
	if err := s.store.KeepAnswer(ctx, a); err != nil {
		return fmt.Errorf("keep an idempotent answer: %w", err)
	}
	return nil
}

func (s *Service) kept(ctx context.Context, claim [32]byte) (*Answer, error) {
	a, err := s.store.KeptAnswer(ctx, claim, s.now())
	if err != nil {
		return nil, fmt.Errorf("read a kept answer: %w", err)
	}
	return a, nil
}

func same(kept *Answer, sum [32]byte, err error) (*Answer, error) {
	if err != nil {
		return nil, err
	}
	if kept.Request != sum {
		return nil, problem.Validation(HeaderName, problem.Reused, "This Idempotency-Key was used with another body.")
	}
	return kept, nil
}

// begin claims a request for this process. Two processes on one store cannot both keep an answer: the second one's unit
// fails as a conflict, with its effect.
func (s *Service) begin(claim [32]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, busy := s.running[claim]; busy {
		return problem.New(problem.Conflict, problem.CodeIdempotencyRunning, "The first request with this Idempotency-Key is still running.")
	}
	s.running[claim] = struct{}{}
	return nil
}

func (s *Service) end(claim [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, claim)
}

// claim hashes every part with its length before it, so that no two requests share a claim by shifting characters.
func (s *Service) claim(r Request) [32]byte {
	h := s.keyed("claim")
	for _, part := range [...]string{r.Credential, r.Method, r.Path, r.Key} {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(part)))
		h.Write(size[:])
		io.WriteString(h, part)
	}
	return [32]byte(h.Sum(nil))
}

func (s *Service) bodyHash() hash.Hash { return s.keyed("body") }

// keyed starts a hash for one purpose, so that a claim never equals a body's hash.
func (s *Service) keyed(purpose string) hash.Hash {
	h := hmac.New(sha256.New, s.secret)
	io.WriteString(h, purpose+"\x00")
	return h
}

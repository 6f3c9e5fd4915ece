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

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
)

const (
	// Lifetime is how long an answer is stored.
	Lifetime = 24 * time.Hour
	// MaxBody is the largest stored body in bytes, if its Location can be read to rebuild a larger one. Other bodies
	// are always stored: they answer batches and are no larger than the request.
	MaxBody = 64 << 10

	// smallBody is the size up to which a body is stored even in a full workspace: for example, documents must not
	// prevent the rotation of a key.
	smallBody = 4 << 10

	// HeaderName is the header with the client's key, and the field of a 400 about it.
	HeaderName = "Idempotency-Key"
)

// Request identifies a request. Two requests with equal values are retries of each other.
type Request struct {
	Credential string // the ID of the API key, or of another kind of caller
	Workspace  string // the caller's workspace, whose storage the answer uses
	Method     string
	Path       string // as sent, without the query
	Query      string // as sent; a retry has the same
	Key        string // the client's Idempotency-Key
}

// Outcome is a response to store. A secret that is shown once is already null in Body.
type Outcome struct {
	Status   int
	Location string
	ETag     string
	Body     []byte
}

// Work is what a request does if it is not a retry.
type Work struct {
	// Prepare, if not nil, runs once before the transaction, for slow work that other transactions should not wait for.
	Prepare func(ctx context.Context) error
	// Run has the effect, through stores and with the given context. It can be called more than once; only the last
	// call counts.
	Run func(ctx context.Context) (Outcome, error)
	// Refused returns the response for a problem that Run returned, so that a retry gets the same.
	Refused func(p *problem.Problem) Outcome
}

// Service runs requests once per key.
type Service struct {
	store  Store
	units  unit.Runner
	secret []byte
	now    func() time.Time
	claims Claims                          // nil if the instance has only one process
	keys   Keys                            // nil if no answer is sealed
	limit  func(workspaceID string) *int64 // may be nil

	mu      sync.Mutex
	running map[[32]byte]struct{} // claims whose first request still runs
}

// NewService creates a Service. The secret keys the hashes of idempotency keys and bodies.
func NewService(store Store, units unit.Runner, secret []byte, now func() time.Time) *Service {
	return &Service{store: store, units: units, secret: secret, now: now, running: map[[32]byte]struct{}{}}
}

// Among sets how the Service shares its claims with other processes. It must be called before the first request.
func (s *Service) Among(c Claims) { s.claims = c }

// SealBy sets the keys that seal answers. It must be called before the first request.
func (s *Service) SealBy(k Keys) { s.keys = k }

// Limit sets how many bytes a workspace can store, nil for no limit. It must be called before the first request.
func (s *Service) Limit(limit func(workspaceID string) *int64) { s.limit = limit }

// CheckKey returns an error for a key that is not 8–255 printable ASCII characters.
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

// BodyHash begins the hash of a request's body, for Do. The body itself need not be kept.
func (s *Service) BodyHash() hash.Hash { return s.keyed("body") }

// Do runs w once for r. The whole request body must have been written to body, a BodyHash. A retry with the same
// body and query returns the stored answer, whose Body is nil if it was too large to store. A nil answer means that w ran; an
// error of Run is returned unchanged. The effect and the answer commit together.
//
// Problems: `reused` for another body or query with the same key, idempotency_in_progress while the first request runs.
func (s *Service) Do(ctx context.Context, r Request, body hash.Hash, w Work) (*Answer, error) {
	attempt := s.attempt(r)
	if err := attempt.begin(ctx); err != nil {
		return nil, err
	}
	defer attempt.end()
	attempt.sum = s.requestHash(body, r.Query)
	if kept, err := attempt.first(ctx); kept != nil || err != nil {
		return attempt.same(ctx, kept, err)
	}
	return attempt.settle(ctx, w.Refused, attempt.work(ctx, w))
}

// work has the effect and stores its answer.
func (t *attempt) work(ctx context.Context, w Work) error {
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

// DoStream is Do for a body that is read while the request runs: run has committed its effect in parts when it returns,
// and the answer is stored afterwards. So repeating a request that was cut off must be harmless. An import ensures that
// by requiring IDs in its lines.
func (s *Service) DoStream(ctx context.Context, r Request, body io.Reader, run func(ctx context.Context, body io.Reader) (Outcome, error), refused func(p *problem.Problem) Outcome) (*Answer, error) {
	attempt := s.attempt(r)
	if err := attempt.begin(ctx); err != nil {
		return nil, err
	}
	defer attempt.end()
	digest := s.BodyHash()
	read := io.TeeReader(body, digest)

	kept, err := attempt.first(ctx)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		if _, err := io.Copy(io.Discard, read); err != nil {
			return nil, fmt.Errorf("read the repeated body: %w", err)
		}
		attempt.sum = s.requestHash(digest, r.Query)
		return attempt.same(ctx, kept, nil)
	}
	inside, seals := collecting(ctx)
	out, err := run(inside, read)
	if _, drained := io.Copy(io.Discard, read); drained != nil {
		// The body was not received completely, so no retry could be compared with it.
		if err == nil {
			err = fmt.Errorf("read the rest of the body: %w", drained)
		}
		return nil, err
	}
	attempt.sum = s.requestHash(digest, r.Query)
	if err == nil && keepable(out.Status) {
		if err = attempt.keepAlone(ctx, out, seals); isFull(err) {
			return nil, nil // the effect is committed, and repeating it is harmless
		}
	}
	return attempt.settle(ctx, refused, err)
}

// Run deletes expired answers each hour until ctx ends.
func (s *Service) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if err := s.store.PruneAnswers(ctx, s.now()); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "deleting expired idempotent responses failed", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// settle stores the answer of a refused request, after its transaction was rolled back, and returns the refusal. If
// another process has answered the same request meanwhile, settle returns that answer.
func (t *attempt) settle(ctx context.Context, refused func(p *problem.Problem) Outcome, err error) (*Answer, error) {
	p, ok := problem.As(err)
	if !ok {
		return nil, err
	}
	if !errors.Is(err, ErrAnswered) {
		out := refused(p)
		if !keepable(out.Status) {
			return nil, err
		}
		kept := t.keepAlone(ctx, out, &seals{}) // a refusal contains nothing about a subject
		if kept == nil {
			return nil, err
		}
		if !errors.Is(kept, ErrAnswered) {
			return nil, fmt.Errorf("store a refusal: %w", kept)
		}
	}
	first, failed := t.kept(ctx)
	if first == nil && failed == nil {
		return nil, err // the answer has just expired
	}
	return t.same(ctx, first, failed)
}

func isFull(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Code == problem.CodeLimitReached
}

// keepable reports whether a retry must get the same answer. Internal errors and exhausted limits are temporary.
func keepable(status int) bool { return status < 500 && status != 429 }

func (t *attempt) keepAlone(ctx context.Context, out Outcome, seals *seals) error {
	err := t.units.Run(ctx, func(ctx context.Context) error { return t.keep(ctx, out, seals) })
	t.answered = err == nil
	return err
}

// keep stores an answer, in the transaction that has its effect. It seals the answer there, because the content is
// known only then. That takes a few microseconds, or some milliseconds for the largest batch, while other transactions
// wait.
func (t *attempt) keep(ctx context.Context, out Outcome, seals *seals) error {
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
		return fmt.Errorf("store an idempotent answer: %w", err)
	}
	return nil
}

func (t *attempt) kept(ctx context.Context) (*Answer, error) {
	a, err := t.store.KeptAnswer(ctx, t.claim, t.now())
	if err != nil {
		return nil, fmt.Errorf("read a stored answer: %w", err)
	}
	return a, nil
}

// first returns the answer of the first request, or nil if this request is the first.
func (t *attempt) first(ctx context.Context) (*Answer, error) {
	kept, err := t.kept(ctx)
	if kept == nil && err == nil && t.elsewhere {
		return nil, errRunning
	}
	t.answered = kept != nil
	return kept, err
}

// same returns a stored answer to a retry. If its body was dropped, it is rebuilt like one that was too large.
func (t *attempt) same(ctx context.Context, kept *Answer, err error) (*Answer, error) {
	if err != nil {
		return nil, err
	}
	if kept.Request != t.sum {
		return nil, problem.Validation(HeaderName, problem.Reused, "This Idempotency-Key was used with another body or other parameters.")
	}
	if kept.SealedBy == "" || (len(kept.Sealed) == 0 && kept.Location != "") {
		return kept, nil
	}
	body, err := t.open(ctx, kept)
	if err != nil {
		return nil, fmt.Errorf("open a stored answer: %w", err)
	}
	opened := *kept
	opened.Body = body
	return &opened, nil
}

var errRunning = problem.New(problem.Conflict, problem.CodeIdempotencyRunning, "The first request with this Idempotency-Key is still running.")

// attempt is a running request.
type attempt struct {
	*Service
	claim     [32]byte
	sum       [32]byte // of the body, once it is read
	workspace string
	elsewhere bool // another process runs the same request
	answered  bool // an answer is stored
}

func (s *Service) attempt(r Request) attempt {
	return attempt{Service: s, claim: s.claimOf(r), workspace: r.Workspace}
}

// begin claims the request. If two processes run the same request nevertheless, one stores its answer. The other's
// transaction fails, without an effect, and returns the first's answer.
func (t *attempt) begin(ctx context.Context) error {
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

// end releases the claim. If there is a stored answer, a retry elsewhere finds it even before that process knows
// of the release. Otherwise, the client must not get its response before the other processes know.
func (t *attempt) end() {
	if t.claims != nil && !t.elsewhere {
		t.claims.Release(t.claim, !t.answered)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, t.claim)
}

// claimOf hashes every part with its length, so that different requests have different claims.
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

// requestHash hashes what must be the same in a retry: the body, and the query of the URL, such as the mapping of an import.
func (s *Service) requestHash(body hash.Hash, query string) [32]byte {
	h := s.keyed("request")
	h.Write(body.Sum(nil))
	io.WriteString(h, query)
	return [32]byte(h.Sum(nil))
}

// keyed begins a hash for one purpose, so that a claim never equals the hash of a body.
func (s *Service) keyed(purpose string) hash.Hash {
	h := hmac.New(sha256.New, s.secret)
	io.WriteString(h, purpose+"\x00")
	return h
}

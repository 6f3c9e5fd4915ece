package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// suite is one run against one target.
type suite struct {
	target   Target
	base     *url.URL
	mark     string // random, in every name of this run, so that runs do not collide
	way      *way
	running  chan struct{} // contains one value for every check that runs and does not wait
	limit    int64         // requests per minute of the key's workspace, from the headers
	keyID    string        // ID of the target's key
	operator bool          // the key belongs to the operator workspace
	ahead    atomic.Int64  // how far Advance has moved the deployment's clock, in nanoseconds

	made struct {
		sync.Mutex
		list []*made
	}
	second struct { // the second workspace, once a check needs it
		sync.Mutex
		*tenant
	}
	description struct { // the OpenAPI description, once a check needs it
		sync.Mutex
		*answer
	}

	// The versions that are served, oldest first, and the release of this run. Only the checks of releases change them, one
	// after the other.
	live    []string
	release *release
}

// made is something that this run has created at a path.
type made struct {
	path string
	gone bool
}

// cleanUpTime is the timeout of removing what the run created, even if its context has ended.
const cleanUpTime = 2 * time.Minute

func newSuite(t Target, base *url.URL) *suite {
	mark := make([]byte, 5)
	_, _ = rand.Read(mark) // never fails (documentation of crypto/rand)
	return &suite{target: t, base: base, mark: hex.EncodeToString(mark), way: newWay(t, base), live: []string{"1"}}
}

// now returns the time of the deployment's clock.
func (s *suite) now() time.Time { return time.Now().Add(s.moved()) }

// moved returns how far the suite has moved the deployment's clock. The Date header uses the real clock.
func (s *suite) moved() time.Duration { return time.Duration(s.ahead.Load()) }

// advance moves the deployment's clock by at least d, in whole seconds, because Date has no fractions.
func (s *suite) advance(d time.Duration) {
	d = max(0, d+time.Second-1).Truncate(time.Second)
	s.target.Advance(d)
	s.ahead.Add(int64(d))
}

// meet reads the target's key. It checks nothing else, so that even a target that breaks every promise is checked.
func (s *suite) meet(ctx context.Context) error {
	c := &check{ctx: ctx, suite: s, door: s.way.door()}
	defer c.door.close()
	a, err := c.get("/api/v1/developer/whoami").once(ctx)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", s.base, err)
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("the key is not accepted: %s", a.describe())
	}
	if operator, err := c.get("/api/v1/admin/tiers").once(ctx); err == nil {
		s.operator = operator.status == http.StatusOK
	}
	s.limit, s.keyID = a.number("X-RateLimit-Limit"), a.text("id")
	for _, scope := range allScopes {
		if !slices.Contains(a.list("scopes"), any(scope)) {
			return fmt.Errorf("the key lacks the scope %s", scope)
		}
	}
	return nil
}

// cleanUp removes what the run created and did not remove, newest first.
func (s *suite) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTime)
	defer cancel()
	through := s.way.door()
	defer through.close()
	for _, m := range slices.Backward(s.made.list) {
		s.unmake(ctx, through, m) // errors are ignored: what remains has a name with "conformance"
	}
	s.try(&check{ctx: ctx, suite: s, door: through}, "", promise{name: "clean up", try: s.leaveTenant})
}

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
	mark     string // random, in every name this run makes, so that runs never meet
	way      *way
	running  chan struct{} // holds one value for every check that runs and does not wait
	limit    int64         // requests a minute of the key's workspace, as the headers tell
	keyID    string        // of the target's key
	operator bool          // the key is of the operator workspace
	ahead    atomic.Int64  // how far Advance has moved the deployment's clock, in nanoseconds

	made struct {
		sync.Mutex
		list []*made
	}
	second struct { // the second workspace, once a check needed one
		sync.Mutex
		*tenant
	}
	description struct { // the API's own, once a check needed it
		sync.Mutex
		*answer
	}

	// Versions as the run knows them: those that answer, oldest first, and the release it made. Only the checks of
	// releases change them, one after another.
	live    []string
	release *release
}

// made is something this run has made at a path.
type made struct {
	path string
	gone bool
}

// cleanUpTime bounds the removal of what the run made, also when its context has ended.
const cleanUpTime = 2 * time.Minute

func newSuite(t Target, base *url.URL) *suite {
	mark := make([]byte, 5)
	_, _ = rand.Read(mark) // never fails (documentation of crypto/rand)
	return &suite{target: t, base: base, mark: hex.EncodeToString(mark), way: newWay(t, base), live: []string{"1"}}
}

// now is the time by the deployment's clock.
func (s *suite) now() time.Time { return time.Now().Add(s.moved()) }

// moved is how far the suite has moved the deployment's clock. The header Date is of the real one.
func (s *suite) moved() time.Duration { return time.Duration(s.ahead.Load()) }

// advance lets at least d pass by the deployment's clock, in whole seconds, because so much is exact in Date.
func (s *suite) advance(d time.Duration) {
	d = max(0, d+time.Second-1).Truncate(time.Second)
	s.target.Advance(d)
	s.ahead.Add(int64(d))
}

// meet asks the target who the key is. It looks at nothing else: a target that breaks every promise is still checked.
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

// cleanUp removes what is left of what the run made, newest first.
func (s *suite) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTime)
	defer cancel()
	through := s.way.door()
	defer through.close()
	for _, m := range slices.Backward(s.made.list) {
		s.unmake(ctx, through, m) // the target may be gone; what stays behind is named "conformance"
	}
	s.try(&check{ctx: ctx, suite: s, door: through}, "", promise{name: "clean up", try: s.leaveTenant})
}

package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// suite is one run against one target.
type suite struct {
	target   Target
	base     *url.URL
	mark     string // random, in every name this run makes, so that runs never meet
	door     *door
	limit    int64  // requests a minute of the key's workspace, as the headers tell
	keyID    string // of the target's key
	operator bool   // the key is of the operator workspace
	made     []*made
	tenant   *tenant // a second workspace, once a check needed one

	// Versions as the run knows them: those that answer, oldest first, and the release it made.
	live    []string
	release *release

	described *answer // the API's own description, once a check needed it
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
	return &suite{target: t, base: base, mark: hex.EncodeToString(mark), door: newDoor(t, base), live: []string{"1"}}
}

// meet asks the target who the key is. It looks at nothing else: a target that breaks every promise is still checked.
func (s *suite) meet(ctx context.Context) error {
	c := &check{ctx: ctx, suite: s}
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
	for _, m := range slices.Backward(s.made) {
		s.unmake(ctx, m) // the target may be gone; what stays behind is named "conformance"
	}
	s.run(ctx, "", promise{name: "clean up", try: s.leaveTenant})
	s.door.close()
}

// door is the way in: one client whose requests, against a loopback address, may come from another address of the
// machine. The budget of callers without a credential is kept by address and is small; where there is only one address,
// the suite has to wait for it.
type door struct {
	given    *http.Client // the caller's own, never changed
	loopback bool
	client   *http.Client
	next     byte
}

func newDoor(t Target, base *url.URL) *door {
	host := base.Hostname()
	ip := net.ParseIP(host)
	d := &door{given: t.HTTP, loopback: t.HTTP == nil && (host == "localhost" || ip != nil && ip.To4() != nil && ip.IsLoopback())}
	seed := make([]byte, 1)
	_, _ = rand.Read(seed)
	d.next = seed[0]
	d.open()
	return d
}

// open makes the client. Redirects are answers to look at, not to follow.
func (d *door) open() {
	if d.given != nil {
		client := *d.given
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		d.client = &client
		return
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	dial := dialer.DialContext
	if d.loopback {
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 77, d.next, 1+d.next%250)}
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, "tcp4", address)
			if err == nil {
				return conn, nil
			}
			// Not every system has more than one loopback address.
			return (&net.Dialer{Timeout: dialer.Timeout}).DialContext(ctx, network, address)
		}
	}
	d.client = &http.Client{
		Transport: &http.Transport{
			DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 64, ForceAttemptHTTP2: true,
			IdleConnTimeout:       20 * time.Second, // sooner than servers: after a wait for a limit nothing is sent on a connection that ends
			ExpectContinueTimeout: 5 * time.Second,
		},
		Timeout:       time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// move goes on from another address and says whether there was one.
func (d *door) move() bool {
	if !d.loopback {
		return false
	}
	d.client.CloseIdleConnections()
	d.next++
	d.open()
	return true
}

func (d *door) close() { d.client.CloseIdleConnections() }

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// call is a request that is being built. It has the target's key unless another credential is set.
type call struct {
	check     *check
	base      *url.URL
	method    string
	path      string // with the query, exactly as it is sent
	header    http.Header
	body      []byte
	chunked   bool
	whole     bool   // send all of the body before reading, over a connection of its own
	impatient bool   // do not wait after a 429
	backend   bool   // to the backend service
	version   string // expected in the response; "": that of the path
}

func newCall(c *check, method string, base *url.URL, path string) *call {
	return &call{check: c, method: method, base: base, path: path, header: http.Header{"X-Api-Key": {c.suite.target.Key}}}
}

// as sends another key.
func (q *call) as(key string) *call { return q.with("X-API-Key", key) }

// anonymous sends no credential.
func (q *call) anonymous() *call { q.header.Del("X-API-Key"); return q }

// bearer sends an access token in place of a key.
func (q *call) bearer(token string) *call {
	return q.anonymous().with("Authorization", "Bearer "+token)
}

// surfaced reports whether a surface gets the request that has no versions in its paths.
func (q *call) surfaced() bool { return q.backend || strings.HasPrefix(q.path, "/ai/") }

// below returns the path of the target's address, without a slash at its end.
func (q *call) below() string { return strings.TrimSuffix(q.base.Path, "/") }

// with sets a header.
func (q *call) with(name, value string) *call { q.header.Set(name, value); return q }

// serving sets the version that the response must name, if the path does not.
func (q *call) serving(version string) *call { q.version = version; return q }

// now returns a 429 instead of waiting for the end of the limit.
func (q *call) now() *call { q.impatient = true; return q }

// json sends v as JSON.
func (q *call) json(v any) *call {
	body, err := json.Marshal(v)
	if err != nil {
		q.check.stop("%s %s: the suite's own body: %v", q.method, q.path, err)
	}
	return q.raw("application/json", string(body))
}

// raw sends these bytes; an empty media type sends none.
func (q *call) raw(media, body string) *call {
	q.body = []byte(body)
	q.header.Del("Content-Type")
	if media != "" {
		q.header.Set("Content-Type", media)
	}
	return q
}

// inChunks sends the body without its length.
func (q *call) inChunks() *call { q.chunked = true; return q }

// sentFirst sends all of the body before it reads the response, as many clients do.
func (q *call) sentFirst() *call { q.whole = true; return q }

// send sends the request and checks what holds for every response. If a limit or a busy server asks to wait, it waits and
// sends the request again.
func (q *call) send() *answer {
	for try := 0; ; try++ {
		a, err := q.once(q.check.ctx)
		if err != nil {
			q.check.stop("%s %s: no answer: %v", q.method, q.path, err)
		}
		if q.impatient || try == 4 || !q.wait(a) {
			q.skipIfThrottled(a)
			a.keepsEveryPromise()
			return a
		}
	}
}

// skipIfThrottled skips the check if the login throttle still counts the failures of an earlier run and there is no other
// address. The failures of one run are below the throttle's limit for 15 minutes; those of two runs are not.
func (q *call) skipIfThrottled(a *answer) {
	if !q.impatient && !q.check.suite.way.many() && a.status == http.StatusTooManyRequests && a.text("details.policy") == "login" {
		q.check.skip("failed logins of the last 15 minutes keep this machine's address from signing in; try again later")
	}
}

// wait waits as the response asks, and reports whether to try again.
func (q *call) wait(a *answer) bool {
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || seconds > 61 {
		return false
	}
	switch {
	case a.status == http.StatusTooManyRequests && oneOf("anonymous|login", a.text("details.policy")) && q.check.door.move():
		return true
	case a.status == http.StatusTooManyRequests, a.status == http.StatusServiceUnavailable:
		q.check.wait(time.Duration(seconds) * time.Second)
		return true
	}
	return false
}

// atOnce sends the same request several times in parallel and returns all responses. It repeats none.
func (c *check) atOnce(times int, next func() *call) []*answer {
	answers := make(chan *answer, times)
	for range times {
		q := next()
		go func() {
			a, err := q.once(c.ctx)
			if err != nil {
				a = nil
			}
			answers <- a
		}()
	}
	var list []*answer
	for range times {
		a := <-answers
		if a == nil {
			c.stop("one of %d parallel requests had no answer", times)
		}
		a.keepsEveryPromise()
		list = append(list, a)
	}
	return list
}

// once sends the request once.
func (q *call) once(ctx context.Context) (*answer, error) {
	path, query, _ := strings.Cut(q.path, "?")
	u := *q.base
	// Opaque is sent literally, because unclean paths must not be normalized. A path that begins with two slashes needs the host
	// before it; that is the absolute form of the same path.
	u.Opaque = q.below() + path
	if strings.HasPrefix(u.Opaque, "//") {
		u.Opaque = "//" + u.Host + u.Opaque
	}
	u.RawQuery = query
	req := (&http.Request{
		Method: q.method, URL: &u, Host: u.Host, Header: q.header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if q.body != nil {
		req.Body = io.NopCloser(bytes.NewReader(q.body))
		req.ContentLength = int64(len(q.body))
		if q.chunked {
			req.ContentLength = -1
		}
	}
	sent := q.check.suite.now()
	q.check.door.name(req.Header)
	do := q.check.door.client.Do
	if q.whole {
		do = q.check.door.sendFirst
	}
	res, err := do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // an error would not change what was read
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return nil, err
	}
	a := &answer{call: q, status: res.StatusCode, header: res.Header, body: body, sent: sent, came: q.check.suite.now()}
	a.parse()
	return a, nil
}

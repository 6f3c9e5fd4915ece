// Package client calls a Keepsake server.
//
//	c, err := client.New("https://search.example.org", os.Getenv("KEEPSAKE_KEY"))
//	found, err := c.Search(ctx, client.Query{Q: "refund policy"})
//
// Calls that were refused because of a limit (429) or because a part is missing for the moment (503) are repeated after
// the time the server asks for, as often as Retries allows; everything else comes back at once as an *Error.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls one server with one credential. It is safe for concurrent use.
type Client struct {
	base    string
	key     string
	token   string
	http    *http.Client
	retries int
	maxWait time.Duration
	agent   string
	sleep   func(context.Context, time.Duration) error
	follow  *follow // nil: a sunset is an answer
}

// Option changes how a Client works.
type Option func(*Client)

// Retries is how often a call is repeated after 429 and 503; 3 unless told, 0 for never.
func Retries(n int) Option { return func(c *Client) { c.retries = n } }

// MaxWait is the longest time to wait before a repetition; a server that asks for more gets its refusal back as the
// answer. A minute unless told.
func MaxWait(d time.Duration) Option { return func(c *Client) { c.maxWait = d } }

// HTTPClient calls through h, which may bring its own transport.
func HTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// AccessToken presents a token of Login beside the API key, or alone where that is empty. Where both are sent and both
// are taken, the key decides.
func AccessToken(token string) Option { return func(c *Client) { c.token = token } }

// UserAgent names the calling program.
func UserAgent(name string) Option { return func(c *Client) { c.agent = name } }

// FollowVersions asks again under the replacement where the version of the API that this client was made for has ended.
// What a later version does differently the client does not know: it is for tools that look after a server, not for
// programs that should have migrated.
func FollowVersions() Option { return func(c *Client) { c.follow = &follow{} } }

// New makes a client for the server at baseURL (https://search.example.org, without /api) that presents an API key. An
// empty key is allowed: calls that need none work.
func New(baseURL, apiKey string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("client: the address must look like https://search.example.org")
	}
	if strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("client: the API key has characters that no key has")
	}
	c := &Client{
		base: strings.TrimSuffix(baseURL, "/"), key: apiKey,
		http: http.DefaultClient, retries: 3, maxWait: time.Minute, agent: "keepsake-client", sleep: sleep,
	}
	for _, o := range options {
		o(c)
	}
	return c, nil
}

// request is one call: what is sent, and how the answer is read.
type request struct {
	method      string
	path        string // below the base, escaped
	query       url.Values
	body        []byte
	contentType string
	accept      string // empty: JSON
	ifMatch     *int64
	idempotency string // sent as Idempotency-Key, the same at every repetition
	once        bool   // must not be repeated after a 503, whose effect is not known
}

// mediaLines is the type of what travels as one JSON object a line.
const mediaLines = "application/x-ndjson"

// call sends r and decodes a success into out, which may be nil; where it is an io.Writer, the answer is copied into it.
func (c *Client) call(ctx context.Context, r request, out any) error {
	for attempt := 0; ; attempt++ {
		err := c.try(ctx, r, out)
		var e *Error
		if errors.As(err, &e) && c.follow.learn(e) {
			continue
		}
		if e == nil || attempt >= c.retries || !e.worthRepeating(r.once) || e.RetryAfter > c.maxWait {
			return err
		}
		if err := c.sleep(ctx, max(e.RetryAfter, time.Second)); err != nil {
			return err
		}
	}
}

func (c *Client) try(ctx context.Context, r request, out any) error {
	target := c.base + c.follow.path(r.path)
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", cmp.Or(r.accept, "application/json"))
	if c.key != "" {
		req.Header.Set("X-API-Key", c.key)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.ifMatch != nil {
		req.Header.Set("If-Match", `"`+strconv.FormatInt(*r.ifMatch, 10)+`"`)
	}
	if r.idempotency != "" {
		req.Header.Set("Idempotency-Key", r.idempotency)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the method and the URL, whose query can be confidential
		}
		return fmt.Errorf("%s %s%s: %w", r.method, c.base, r.path, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return errorOf(res)
	}
	switch out := out.(type) {
	case nil:
		_, err := io.Copy(io.Discard, res.Body)
		return err
	case io.Writer:
		if _, err := io.Copy(out, res.Body); err != nil {
			return fmt.Errorf("%s %s: read the answer: %w", r.method, r.path, err)
		}
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", r.method, r.path, err)
	}
	return nil
}

// get is a GET without a body.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, request{method: http.MethodGet, path: path, query: query}, out)
}

// send is a call with a JSON body. A POST that changes something carries an idempotency key of its own, so that a
// repetition cannot do it twice.
func (c *Client) send(ctx context.Context, r request, in, out any) error {
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: encode the request: %w", r.method, r.path, err)
		}
		r.body, r.contentType = body, "application/json"
	}
	return c.call(ctx, r, out)
}

// newIdempotencyKey is random: it needs to be unlike any other call's, and nothing else.
func newIdempotencyKey() string { return rand.Text() }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Package client calls a Keepsake server.
//
//	c, err := client.New("https://search.example.org", os.Getenv("KEEPSAKE_KEY"))
//	found, err := c.Search(ctx, client.Query{Q: "refund policy"})
//
// A call that exceeded a limit (429), or that found a part of the server unavailable (503), is repeated after the time that
// the server asks for, at most as often as Retries allows. Any other refusal is returned at once as an *Error.
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
	follow  *follow // nil: do not follow versions
}

// Option configures a Client.
type Option func(*Client)

// Retries sets how often a call is repeated after 429 and 503. The default is 3; 0 means never.
func Retries(n int) Option { return func(c *Client) { c.retries = n } }

// MaxWait sets the longest wait before a call is repeated. If the server asks for more, the call returns its error. The
// default is a minute.
func MaxWait(d time.Duration) Option { return func(c *Client) { c.maxWait = d } }

// HTTPClient sets the HTTP client, which can have its own transport.
func HTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// AccessToken sends a token of Login, in addition to the API key if there is one. If an operation accepts both, the server
// uses the key.
func AccessToken(token string) Option { return func(c *Client) { c.token = token } }

// UserAgent sets the name of the calling program.
func UserAgent(name string) Option { return func(c *Client) { c.agent = name } }

// FollowVersions repeats a call under the replacement version if the API version of this client has ended. The client does
// not know what a later version does differently. The option is for tools that administer a server, not for programs that
// should have migrated.
func FollowVersions() Option { return func(c *Client) { c.follow = &follow{} } }

// New returns a client for the server at baseURL (https://search.example.org, without /api). The API key can be empty for
// calls that need none.
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

// request is one call: what is sent, and how the response is read.
type request struct {
	method      string
	path        string // below the base URL, escaped
	query       url.Values
	body        []byte
	contentType string
	accept      string // empty: JSON
	ifMatch     *int64
	idempotency string // Idempotency-Key, the same for each repetition
	once        bool   // not repeated after a 503, because the first call can have had an effect
}

// mediaLines is the media type of one JSON object per line.
const mediaLines = "application/x-ndjson"

// call sends r and decodes a successful response into out, which can be nil. If out is an io.Writer, the response is copied
// into it.
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

// get sends a GET without a body.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, request{method: http.MethodGet, path: path, query: query}, out)
}

// send sends a call with a JSON body. A POST that changes something has its own Idempotency-Key, so that a repetition has no
// second effect.
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

// newIdempotencyKey returns a random key.
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

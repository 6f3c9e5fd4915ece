// Package client calls a Keepsake server.
//
//	c, err := client.New("https://search.example.org", os.Getenv("KEEPSAKE_KEY"))
//	found, err := c.Search(ctx, client.Query{Q: "refund policy"})
//
// A response with an error is returned as an *Error. A call is retried, at most as often as Retries allows, if it exceeded a
// limit (429), if the server or its proxy was unavailable (502, 503, 504), or if the connection failed. It waits for as long as
// the server asks in Retry-After, otherwise for a random time that grows with each retry. A call that can have had an
// effect is only retried if that has no second one: a POST that creates something has an Idempotency-Key for that.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Client calls one server with one credential. It is safe for concurrent use.
type Client struct {
	base   string
	shown  string // base for errors, without a password
	key    string
	token  string
	secret string // of the backend listener
	http   *http.Client
	agent  string
	retry  retry
	follow *follow // nil: do not follow versions
	limits atomic.Pointer[RateLimits]
}

// Option configures a Client.
type Option func(*Client)

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
	if err := headerValue("the API key", apiKey); err != nil {
		return nil, err
	}
	c := &Client{
		base: strings.TrimSuffix(baseURL, "/"), shown: strings.TrimSuffix(u.Redacted(), "/"), key: apiKey,
		http: http.DefaultClient, agent: "keepsake-client", retry: defaultRetry(),
	}
	for _, o := range options {
		o(c)
	}
	c.http = withinOrigin(c.http)
	return c, nil
}

// headerValue refuses a credential that cannot be sent in a header, such as one that was read from a file with its line end.
func headerValue(name, value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("client: %s must have only printable ASCII characters and no spaces", name)
	}
	return nil
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
	versioned   bool // the path has no version, so a header names it

	keyed     bool          // a POST that accepts an Idempotency-Key
	keySuffix string        // distinguishes the requests of one method of Client
	key       string        // the Idempotency-Key of all attempts; set by call
	safe      bool          // a POST without a key that can be repeated
	once      bool          // a DELETE that is not repeated if its response is lost
	within    time.Duration // how long a retry has no second effect; 0: forever
}

// mediaLines is the media type of one JSON object per line.
const mediaLines = "application/x-ndjson"

// call sends r, repeats it if necessary, and decodes a successful response into out, which can be nil. If out is an
// io.Writer, the response is copied into it.
func (c *Client) call(ctx context.Context, r request, out any) error {
	if r.keyed {
		r.key = idempotencyKey(ctx) + r.keySuffix
	}
	attempts := c.retry.start(&r)
	for {
		err := c.try(ctx, r, out)
		var e *Error
		if errors.As(err, &e) && c.follow.learn(e) {
			continue
		}
		wait, again := attempts.next(ctx, err)
		if e != nil {
			e.Attempts = attempts.made
		}
		if !again {
			return err
		}
		if ended := c.retry.sleep(ctx, wait); ended != nil {
			return fmt.Errorf("%w, while the call waited after: %w", ended, err)
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
	if c.secret != "" {
		req.Header.Set("X-Keepsake-Backend", c.secret)
	}
	if r.versioned {
		req.Header.Set("Accept-Version", c.follow.number())
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.ifMatch != nil {
		req.Header.Set("If-Match", `"`+strconv.FormatInt(*r.ifMatch, 10)+`"`)
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the method and the URL, whose query can be confidential
		}
		return fmt.Errorf("%s %s%s: %w", r.method, c.shown, r.path, &lostError{err})
	}
	defer res.Body.Close()
	if limits := rateLimitsOf(res.Header); limits != nil {
		c.limits.Store(limits)
	}
	if res.StatusCode >= 300 {
		return errorOf(res, c.retry.now())
	}
	switch out := out.(type) {
	case nil:
		_, err = io.Copy(io.Discard, res.Body)
	case io.Writer:
		_, err = io.Copy(out, res.Body) // out can have a part of the response, so a failure is the end
		return r.unread(err)
	default:
		var body []byte
		if body, err = io.ReadAll(res.Body); err == nil {
			return r.unread(decode(body, out))
		}
	}
	if err != nil {
		err = &lostError{err}
	}
	return r.unread(err)
}

// decode reads JSON. Numbers of metadata stay as the server spelled them, so a program that prints them or sends them back loses
// no digit.
func decode(body []byte, out any) error {
	if !json.Valid(body) {
		return json.Unmarshal(body, out) // its error
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(out)
}

// unread returns the error of a response that could not be read.
func (r *request) unread(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: read the answer: %w", r.method, r.path, err)
}

// get sends a GET without a body.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, request{method: http.MethodGet, path: path, query: query}, out)
}

// send sends a call with a JSON body.
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

// Package opensearch keeps the documents of workspaces in OpenSearch, and follows their changes there.
//
// Read client.go (requests), failure.go (what can go wrong), bulk.go (several documents), follow.go and worker.go (keeping indexes
// up to date), and wait.go (searches that wait for a change).
package opensearch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"keepsake/internal/base/secretfile"
)

// ClientOptions is what a Client needs.
type ClientOptions struct {
	URL          string // of the cluster: https://search.internal:9200
	User         string // empty: no credentials are sent
	Password     string // without PasswordFile
	PasswordFile string // read again after the cluster has refused the password
	CAFile       string // of the authority that signed the cluster's certificate; empty: those of the system
	Release      string // of the program, for User-Agent
	// Timeout ends a request whose context has no earlier deadline; 0: 30 s.
	Timeout time.Duration
}

const (
	defaultTimeout = 30 * time.Second
	dialTimeout    = 2 * time.Second
	maxAnswer      = 64 << 20
	maxPerHost     = 64
)

// Client sends requests to an OpenSearch cluster. It sends each once, follows no redirect, and ignores the proxies of the
// environment. It is safe for concurrent use.
type Client struct {
	o    ClientOptions
	base string
	http *http.Client

	mu       sync.Mutex
	password string
	known    bool // password was read, and not refused since
}

// NewClient returns a Client. It sends nothing yet.
func NewClient(o ClientOptions) (*Client, error) {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL of OpenSearch must look like https://host:9200")
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout, MaxIdleConnsPerHost: maxPerHost, MaxConnsPerHost: maxPerHost,
		IdleConnTimeout: 90 * time.Second, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificates of OpenSearch's authority: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s contains no certificate", o.CAFile)
		}
	}
	return &Client{o: o, password: o.Password, base: strings.TrimSuffix(o.URL, "/"), http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do sends a request and returns the body of a successful answer. Every other outcome is an *Error, except the end of ctx by its
// caller. path begins with a slash. It must contain no text of people, because clusters log it. A body ending with a line feed is
// sent as lines of JSON.
func (c *Client) Do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	short, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(short, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request of OpenSearch: %w", err)
	}
	r.GetBody = nil // so that the transport sends a request once
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
		if body[len(body)-1] == '\n' {
			r.Header.Set("Content-Type", "application/x-ndjson")
		}
	}
	r.Header.Set("User-Agent", "Keepsake/"+c.o.Release)
	if err := c.authorize(r); err != nil {
		return nil, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unreachable(ctx, err)
	case len(text) > maxAnswer:
		return nil, &Error{State: Failed, Status: answer.StatusCode, Type: "the answer is too large"}
	case answer.StatusCode >= 200 && answer.StatusCode < 300:
		return text, nil
	}
	failed := failureOf(answer.StatusCode, text)
	if failed.State == Denied {
		c.forgetPassword()
	}
	return nil, failed
}

// authorize adds the credentials.
func (c *Client) authorize(r *http.Request) error {
	if c.o.User == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known && c.o.PasswordFile != "" {
		password, err := secretfile.Read(c.o.PasswordFile)
		if err != nil {
			return &Error{State: Denied, Type: "the password file cannot be read", cause: err}
		}
		c.password = password
	}
	c.known = true
	r.SetBasicAuth(c.o.User, c.password)
	return nil
}

// forgetPassword lets the next request read the password again, because it was perhaps changed.
func (c *Client) forgetPassword() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// unreachable returns why there is no complete answer. A request whose caller has gone says nothing about the cluster.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	what := "no connection"
	var timeout net.Error
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		what = "no answer in time"
	case errors.As(err, &unknown), errors.As(err, &name):
		what = "its certificate is not trusted"
	}
	return &Error{State: Unreachable, Type: what, cause: err}
}

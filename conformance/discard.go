package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// discardChecks checks what a client sees that sends all of a body before it reads (decisions.md, A).
func discardChecks() []promise {
	const more = 9 << 20 // more than the buffers between client and server
	type refused struct {
		method, path, key, media string
		size                     int
		status                   int
		code                     string
	}
	send := func(c *check, r refused) {
		q := c.call(r.method, r.path).sentFirst().raw(r.media, string(bytes.Repeat([]byte(" "), r.size)))
		if r.key != "" {
			q.as(r.key)
		}
		q.send().fails(r.status, r.code)
	}
	return []promise{
		{"AClientThatSendsFirstSeesThatItsBodyIsTooLarge", func(c *check) {
			for _, r := range []refused{
				{http.MethodPost, docsPath, "", "application/json", 3 << 20, 413, "payload_too_large"},
				{http.MethodPost, "/api/v1/search", "", "application/json", more, 413, "payload_too_large"},
				{http.MethodPost, memoriesPath + "/batch", "", "application/json", more, 413, "payload_too_large"},
				{http.MethodPost, docsPath + "/import", "", "application/x-ndjson", 65 << 20, 413, "payload_too_large"},
			} {
				send(c, r)
			}
		}},
		{"AClientThatSendsFirstSeesWhyItIsRefused", func(c *check) {
			const stranger = "kpsk_wrong"
			for _, r := range []refused{
				{http.MethodPost, memoriesPath + "/batch", stranger, "application/json", 7 << 20, 401, "invalid_api_key"},
				{http.MethodPost, docsPath + "/import", stranger, "application/x-ndjson", more, 401, "invalid_api_key"},
				{http.MethodPost, docsPath + "/import", "", "text/x-nothing", more, 415, "unsupported_media_type"},
				{http.MethodDelete, memoriesPath + "/batch", "", "application/json", more, 405, "method_not_allowed"},
				{http.MethodPost, "/api/v1/nothing-here", "", "application/json", more, 404, "not_found"},
				{http.MethodPost, "/api/v9/documents", "", "application/json", more, 404, "version_not_found"},
				{http.MethodPost, "/nothing-here", "", "application/json", more, 404, "not_found"},
			} {
				send(c, r)
			}
		}},
		{"AClientThatSendsChunksFirstSeesTheAnswer", func(c *check) {
			body := string(bytes.Repeat([]byte(" "), more))
			c.post("/api/v1/search").sentFirst().raw("application/json", body).inChunks().send().fails(413, "payload_too_large")
			c.post(docsPath).as("kpsk_wrong").sentFirst().raw("application/json", body).inChunks().send().fails(401, "invalid_api_key")
		}},
		{"AClientThatSendsFirstIsServed", func(c *check) {
			a := c.post("/api/v1/search").sentFirst().raw("application/json", `{"q":"conformance"}`+string(bytes.Repeat([]byte(" "), 512<<10))).send().is(http.StatusOK)
			a.shape(map[string]string{"results": "array"})
		}},
	}
}

// sendFirst sends all of a request over a connection of its own, and then reads the response.
func (d *door) sendFirst(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), time.Minute)
	defer cancel()
	conn, err := d.connect(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // the response was read
	end := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer end()
	if err := req.Write(conn); err != nil {
		return nil, fmt.Errorf("the server did not take all of the body: %w", err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return nil, fmt.Errorf("the server took all of the body, then: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // an error would not change what was read
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// connect connects as the client of the door does, for HTTP/1.1.
func (d *door) connect(ctx context.Context, to *url.URL) (net.Conn, error) {
	transport, ok := d.client.Transport.(*http.Transport)
	if !ok {
		if d.client.Transport != nil {
			return nil, errors.New("the HTTP client of the target has a transport of its own kind")
		}
		transport = &http.Transport{}
	}
	dial := transport.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	port := cmp.Or(to.Port(), map[string]string{"http": "80", "https": "443"}[to.Scheme])
	conn, err := dial(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil || to.Scheme != "https" {
		return conn, err
	}
	settings := &tls.Config{}
	if transport.TLSClientConfig != nil {
		settings = transport.TLSClientConfig.Clone()
	}
	settings.NextProtos = []string{"http/1.1"}
	settings.ServerName = cmp.Or(settings.ServerName, to.Hostname())
	secure := tls.Client(conn, settings)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the error of the handshake is the reason
		return nil, err
	}
	return secure, nil
}

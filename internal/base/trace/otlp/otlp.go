// Package otlp sends spans to an OpenTelemetry collector: OTLP over HTTP, encoded as JSON.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/trace"
)

// Options say where the collector is.
type Options struct {
	Endpoint string      // base URL; spans go to its path with /v1/traces
	Header   http.Header // of each request, such as credentials; can be nil
	Release  string      // of the program
	Instance string      // distinguishes the processes of an instance
}

// Exporter implements trace.Exporter.
type Exporter struct {
	url      string
	header   http.Header
	client   *http.Client
	resource resource
	scope    scope
}

var _ trace.Exporter = (*Exporter)(nil)

// New returns an Exporter.
func New(o Options) (*Exporter, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("parse the address of the collector: %w", err)
	}
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 1
	return &Exporter{
		url: u.String(), header: o.Header,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // credentials go to the configured address only
		}},
		resource: resource{[]attribute{
			text("service.name", "keepsake"), text("service.version", o.Release), text("service.instance.id", o.Instance),
		}},
		scope: scope{Name: "keepsake", Version: o.Release},
	}, nil
}

// ParseHeaders reads headers as OTEL_EXPORTER_OTLP_HEADERS has them: name=value, separated by commas, with percent-encoded values.
func ParseHeaders(list string) (http.Header, error) {
	header := http.Header{}
	for part := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(decoded, "\r\n\x00") {
			return nil, fmt.Errorf("is not a list such as Authorization=Bearer%%20abc,X-Scope-OrgID=1") // never the value, which is secret
		}
		header.Add(name, decoded)
	}
	return header, nil
}

const (
	tries     = 3
	firstWait = 500 * time.Millisecond
	maxAnswer = 64 << 10
)

// Export implements trace.Exporter. It tries again if the collector is busy or does not answer, until ctx ends.
func (e *Exporter) Export(ctx context.Context, spans []*trace.Span) error {
	body, err := json.Marshal(e.request(spans))
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	wait := firstWait
	for try := 1; ; try++ {
		again, after, err := e.send(ctx, body)
		if err == nil || !again || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(wait, after)):
		}
		wait *= 2
	}
}

// send sends spans once. again reports that another try can succeed, after a time.
func (e *Exporter) send(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	for name, values := range e.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which can contain a secret
		}
		return ctx.Err() == nil, 0, fmt.Errorf("send spans: %w", err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, 0, rejected(answer)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return true, time.Duration(min(max(seconds, 0), 60)) * time.Second, fmt.Errorf("the collector answered %s", resp.Status)
	default:
		return false, 0, fmt.Errorf("the collector answered %s", resp.Status)
	}
}

// rejected returns an error if the collector took only some of the spans.
func rejected(answer []byte) error {
	var partial struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &partial) != nil { // not JSON: nothing was rejected
		return nil
	}
	if n := partial.PartialSuccess.RejectedSpans; n != "" && n != "0" {
		return fmt.Errorf("the collector rejected %s spans", n)
	}
	return nil
}

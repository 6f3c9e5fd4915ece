package programtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// clientTimeout only ends a request that hangs. No test depends on it.
const clientTimeout = 2 * time.Minute

// Client sends the requests. It opens as many connections as there are concurrent requests.
var Client = &http.Client{Timeout: clientTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// Do sends a request with the key of the process. A body that is not nil is sent as JSON.
func (p *Process) Do(ctx context.Context, method, path string, body any) (status int, answer []byte, err error) {
	media, text := "", []byte(nil)
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
		media = "application/json"
	}
	return p.Send(ctx, p.Key, method, path, media, text)
}

// Send sends a request with any key and body. headers alternate between names and values.
func (p *Process) Send(ctx context.Context, key, method, path, media string, body []byte, headers ...string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, p.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-API-Key", key)
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := Client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// Must sends a request, fails the test unless the response has the status, and returns its JSON.
func (p *Process) Must(status int, method, path string, body any) map[string]any {
	p.t.Helper()
	got, text, err := p.Do(context.Background(), method, path, body)
	if err != nil || got != status {
		p.t.Fatalf("%s %s: %d %s %v, want %d\nlog:\n%s", method, path, got, text, err, status, p.Log.Tail())
	}
	if len(text) == 0 {
		return nil
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		p.t.Fatalf("%s %s: %s is not JSON: %v", method, path, text, err)
	}
	return answer
}

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// toolsPath is the endpoint of the Model Context Protocol.
const toolsPath = "/ai/mcp"

// maxToolsResponse is the max size of a response in bytes. The largest is a list of 200 memories.
const maxToolsResponse = 64 << 20

// Message sends a message of the Model Context Protocol and returns the response, or nil if the message needs none. headers
// are those that the protocol asks for, such as MCP-Protocol-Version. The message is sent once. An error of the protocol is a
// response; any other refusal is an *Error.
func (c *Client) Message(ctx context.Context, message []byte, headers map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+toolsPath, bytes.NewReader(message))
	if err != nil {
		return nil, fmt.Errorf("send a message: %w", err)
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.key != "" {
		req.Header.Set("X-API-Key", c.key)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, fmt.Errorf("POST %s%s: %w", c.shown, toolsPath, err)
	}
	defer res.Body.Close()
	if limits := rateLimitsOf(res.Header); limits != nil {
		c.limits.Store(limits)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxToolsResponse))
	if err != nil {
		return nil, fmt.Errorf("POST %s%s: read the answer: %w", c.shown, toolsPath, err)
	}
	switch {
	case res.StatusCode == http.StatusAccepted:
		return nil, nil
	case res.StatusCode < http.StatusMultipleChoices, bytes.Contains(body, []byte(`"jsonrpc"`)):
		return bytes.TrimSpace(body), nil
	default:
		res.Body = io.NopCloser(bytes.NewReader(body))
		return nil, errorOf(res, c.retry.now())
	}
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"strings"
)

// client is one connection with as little work as possible: it sends prepared bytes and discards the response.
type client struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
}

func dial(addr string, request []byte) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), request: request}, nil
}

var (
	ok            = []byte("HTTP/1.1 2")
	contentLength = []byte("Content-Length: ")
	chunked       = []byte("Transfer-Encoding: chunked\r\n")
)

// exchange sends the request and reads the response, which must be a success.
func (c *client) exchange() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	const unknown, inChunks = -1, -2
	size := unknown
	for line := 0; ; line++ {
		text, err := c.in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		switch {
		case line == 0 && !bytes.HasPrefix(text, ok):
			return fmt.Errorf("answer %q", text)
		case bytes.HasPrefix(text, contentLength):
			if size, err = strconv.Atoi(string(bytes.TrimSpace(text[len(contentLength):]))); err != nil {
				return fmt.Errorf("read the length: %w", err)
			}
		case bytes.Equal(text, chunked):
			size = inChunks
		case len(text) == 2 && size == inChunks:
			_, err := io.Copy(io.Discard, httputil.NewChunkedReader(c.in))
			if err == nil {
				_, err = c.in.Discard(len("\r\n"))
			}
			if err != nil {
				return fmt.Errorf("read the body: %w", err)
			}
			return nil
		case len(text) == 2:
			if size == unknown {
				return errors.New("an answer without a length")
			}
			_, err := c.in.Discard(size)
			if err != nil && err != io.EOF {
				return fmt.Errorf("read the body: %w", err)
			}
			return nil
		}
	}
}

// request returns the bytes of a request; headers are whole lines.
func request(method, path, body string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, path)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// answer is exchange that returns the body.
func (c *client) answer(request []byte) ([]byte, error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	status, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	size, chunked := -1, false
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line == "\r\n" {
			break
		}
		if length, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if size, err = strconv.Atoi(strings.TrimSpace(length)); err != nil {
				return nil, err
			}
		}
		chunked = chunked || line == "Transfer-Encoding: chunked\r\n"
	}
	var body []byte
	switch {
	case chunked: // a batch's
		if body, err = io.ReadAll(httputil.NewChunkedReader(c.in)); err == nil {
			_, err = c.in.ReadString('\n')
		}
	case size >= 0:
		body = make([]byte, size)
		_, err = io.ReadFull(c.in, body)
	default:
		err = errors.New("an answer without a length")
	}
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(status, "HTTP/1.1 2") {
		return nil, fmt.Errorf("%s: %.300s", strings.TrimSpace(status), body)
	}
	return body, nil
}

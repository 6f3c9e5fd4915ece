//lint:file-ignore SA1019 A connection of its own is needed for each client.

package api_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"keepsake/internal/testing/testtier"
	"keepsake/internal/web/api"
)

// dialHTTP2 serves h over TLS and connects to it. The deadline only ends what hangs.
func dialHTTP2(t *testing.T, h http.Handler) *tls.Conn {
	t.Helper()
	certified := httptest.NewTLSServer(nil) // only for its certificate
	certificates := certified.TLS.Certificates
	certified.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := api.NewServer(h, slog.New(slog.DiscardHandler))
	go func() {
		_ = server.Serve(tls.NewListener(api.LimitConnections(l, 32, nil), &tls.Config{
			Certificates: certificates, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		}))
	}()
	t.Cleanup(func() { _ = server.Close() })
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if got := conn.ConnectionState().NegotiatedProtocol; got != "h2" {
		t.Fatalf("negotiated %q", got)
	}
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	return conn
}

// post is the header fields of a POST, by their numbers in HPACK's static table.
var post = append([]byte{0x83, 0x87, 0x84, 0x01, 1}, 'x') // :method POST, :scheme https, :path /, :authority x

// TestFramesWithoutContentCloseTheConnection floods a server with frames of each kind. The client reads all that comes back.
func TestFramesWithoutContentCloseTheConnection(t *testing.T) {
	t.Parallel()
	request := func(f *http2.Framer, endStream, endHeaders bool) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: post, EndStream: endStream, EndHeaders: endHeaders})
	}
	served := func(f *http2.Framer) { request(f, true, true) }
	open := func(f *http2.Framer) { request(f, false, true) }
	nothing := func(*http2.Framer) {}
	raw := func(kind http2.FrameType, flags http2.Flags, stream uint32, payload ...byte) func(*http2.Framer) {
		return func(f *http2.Framer) { _ = f.WriteRawFrame(kind, flags, stream, payload) }
	}
	for _, c := range []struct {
		name          string
		first, repeat func(*http2.Framer)
	}{
		{"CONTINUATION", func(f *http2.Framer) { request(f, true, false) }, raw(http2.FrameContinuation, 0, 1)},
		{"PRIORITY", nothing, raw(http2.FramePriority, 0, 3, 0, 0, 0, 0, 1)},
		{"PRIORITY of an ended stream", served, raw(http2.FramePriority, 0, 1, 0, 0, 0, 0, 1)},
		{"PRIORITY_UPDATE", nothing, raw(http2.FramePriorityUpdate, 0, 0, 0, 0, 0, 1, 'u')},
		{"SETTINGS without a setting", nothing, raw(http2.FrameSettings, 0, 0)},
		{"SETTINGS", nothing, raw(http2.FrameSettings, 0, 0, 0, 3, 0, 0, 0, 1)},
		{"unknown SETTINGS", nothing, raw(http2.FrameSettings, 0, 0, 0xfa, 0xfa, 0, 0, 0, 1)},
		{"PING", nothing, raw(http2.FramePing, 0, 0, make([]byte, 8)...)},
		{"PING that acknowledges", nothing, raw(http2.FramePing, http2.FlagPingAck, 0, make([]byte, 8)...)},
		{"WINDOW_UPDATE", nothing, raw(http2.FrameWindowUpdate, 0, 0, 0, 0, 0, 1)},
		{"WINDOW_UPDATE of an ended stream", served, raw(http2.FrameWindowUpdate, 0, 1, 0, 0, 0, 1)},
		{"RST_STREAM of an ended stream", served, raw(http2.FrameRSTStream, 0, 1, 0, 0, 0, 8)},
		{"empty DATA", open, raw(http2.FrameData, 0, 1)},
		{"DATA of padding only", open, raw(http2.FrameData, http2.FlagDataPadded, 1, append([]byte{200}, make([]byte, 200)...)...)},
		{"DATA of one byte, on an ended stream", served, raw(http2.FrameData, 0, 1, 'x')},
		{"GOAWAY", nothing, raw(http2.FrameGoAway, 0, 0, make([]byte, 8)...)},
		{"unknown kind", nothing, raw(0xfa, 0, 0)},
		{"unknown kind, with a payload", nothing, raw(0xfa, 0, 0, make([]byte, 200)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := dialHTTP2(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
			}))
			go func() {
				out := bufio.NewWriter(conn)
				_, _ = out.WriteString(http2.ClientPreface)
				f := http2.NewFramer(out, nil)
				f.AllowIllegalWrites = true
				_ = f.WriteSettings()
				c.first(f)
				for range 10_000 {
					c.repeat(f)
				}
				_ = out.Flush()
			}()
			// The client leaves its side open, so only the server can end this.
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection is still open after 10,000 frames")
			}
		})
	}
}

// TestRealHTTP2ClientsStayConnected uses one connection for what clients do.
func TestRealHTTP2ClientsStayConnected(t *testing.T) {
	t.Parallel()
	const lines = 20_000
	line := []byte(strings.Repeat("x", 47) + "\n")
	conn := dialHTTP2(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			t.Error("a request over TLS without its state")
		}
		n, _ := io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/export" {
			for range lines {
				_, _ = w.Write(line)
				_ = http.NewResponseController(w).Flush()
			}
			return
		}
		_, _ = fmt.Fprint(w, n)
	}))
	client, err := new(http2.Transport).NewClientConn(conn)
	if err != nil {
		t.Fatal(err)
	}
	send := func(path string, body io.Reader) []byte {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com"+path, body)
		res, err := client.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for range testtier.Rounds(5_000, 20_000) {
		if got := send("/", strings.NewReader("{}")); string(got) != "2" {
			t.Fatalf("%s bytes arrived", got)
		}
		if err := client.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	piped, pipe := io.Pipe()
	go func() {
		for range lines {
			_, _ = pipe.Write(line)
		}
		_ = pipe.Close()
	}()
	if got := string(send("/import", piped)); got != fmt.Sprint(lines*len(line)) {
		t.Errorf("%s bytes of %d lines arrived", got, lines)
	}
	if got := send("/export", nil); !bytes.Equal(got, bytes.Repeat(line, lines)) {
		t.Errorf("%d bytes of %d lines arrived", len(got), lines)
	}
}

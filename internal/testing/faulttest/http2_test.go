package faulttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// The frames of HTTP/2 that the attacks need (RFC 9113, 6).
const (
	frameHeaders      = 1
	framePriority     = 2
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameContinuation = 9

	endStream, endHeaders = 1, 4
)

// frame is one frame as it goes on the wire.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	out := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}
	return append(out, payload...)
}

// getHeaders is a GET of the health endpoint in HPACK, each field by its number in the static table.
func getHeaders() []byte {
	text := func(index byte, value string) []byte { return append([]byte{index, byte(len(value))}, value...) }
	out := []byte{0x82, 0x87} // :method GET, :scheme https
	out = append(out, text(0x04, "/api/v1/health")...)
	return append(out, text(0x01, "x")...)
}

// TestFloodsOfFramesAreBounded holds T25: rapid resets, endless CONTINUATION (also without a payload), floods of PING, SETTINGS,
// PRIORITY and unknown frames, and more streams than are allowed end in a closed connection. They cost little memory, and
// another client is served.
func TestFloodsOfFramesAreBounded(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	s := launch(t, t.TempDir(), programtest.Flags("--tls-cert", cert, "--tls-key", key))
	s.URL = strings.Replace(s.URL, "http://", "https://", 1)
	other := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	health := func() error {
		req, err := http.NewRequest(http.MethodGet, s.URL+"/api/v1/health", nil)
		if err != nil {
			return err
		}
		req.Header.Set("X-API-Key", s.Key)
		res, err := other.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return io.ErrUnexpectedEOF
		}
		if hsts := res.Header.Get("Strict-Transport-Security"); hsts == "" {
			t.Error("an answer over TLS without Strict-Transport-Security")
		}
		return nil
	}
	s.AwaitReady()
	before := s.resident(t)
	get := getHeaders()
	for name, flood := range map[string]func(n uint32) []byte{
		"rapid reset": func(n uint32) []byte {
			return append(frame(frameHeaders, endStream|endHeaders, 2*n+1, get), frame(frameReset, 0, 2*n+1, []byte{0, 0, 0, 8})...)
		},
		"streams without end": func(n uint32) []byte { return frame(frameHeaders, endHeaders, 2*n+1, get) },
		"settings":            func(uint32) []byte { return frame(frameSettings, 0, 0, []byte{0, 3, 0, 0, 0, 1}) },
		"pings":               func(uint32) []byte { return frame(framePing, 0, 0, make([]byte, 8)) },
		"priorities":          func(uint32) []byte { return frame(framePriority, 0, 3, make([]byte, 5)) },
		"unknown frames":      func(uint32) []byte { return frame(0xfa, 0, 0, nil) },
		"empty continuation": func(n uint32) []byte {
			if n == 0 {
				return frame(frameHeaders, endStream, 1, get)
			}
			return frame(frameContinuation, 0, 1, nil)
		},
		"continuation": func(n uint32) []byte {
			if n == 0 {
				return frame(frameHeaders, endStream, 1, get)
			}
			return frame(frameContinuation, 0, 1, append([]byte{0x00, 0x03, 'x', '-', 'a', 0x7f, 0x80, 0x05}, make([]byte, 767)...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "streams without end" {
				testtier.Long(t, "the server takes some 300,000 frames before it closes the connection")
			}
			conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if conn.ConnectionState().NegotiatedProtocol != "h2" {
				t.Fatal("HTTP/2 is not offered")
			}
			_ = conn.SetDeadline(time.Now().Add(patience)) // only ends what hangs
			if _, err := conn.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(frameSettings, 0, 0, nil)...)); err != nil {
				t.Fatal(err)
			}
			sent := uint32(0)
			for ; err == nil; sent++ { // the server says how many frames it takes
				_, err = conn.Write(flood(sent)) // what comes back is not read: the worst of clients
				if sent%50_000 == 0 {
					if err := health(); err != nil {
						t.Errorf("a request beside the flood: %v", err)
					}
				}
			}
			t.Logf("%d frames, then %v", sent, err)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection is still open after %d frames", sent)
			}
			s.MustLive()
		})
	}
	if err := health(); err != nil {
		t.Errorf("after the floods: %v", err)
	}
	if grown := s.resident(t) - before; grown > 64<<20 {
		t.Errorf("the floods cost %d MiB", grown>>20)
	}
}

// certificate writes a certificate for 127.0.0.1, signed by itself, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})))
	return cert, key
}

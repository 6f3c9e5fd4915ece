//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
)

// launched starts this test binary as the program, with its output redirected by a shell.
func launched(t *testing.T, redirect string, options ...programtest.Option) *programtest.Process {
	t.Helper()
	program, err := exec.LookPath("keepsake") // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, programtest.Program(program), programtest.Through("sh", "-c", `exec "$@" `+redirect, "sh"))
	return programtest.Launch(t, filepath.Join(t.TempDir(), "d"), options...)
}

// fifo creates a named pipe and returns its path.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// requests sends so many requests that their log lines do not fit into a pipe.
func requests(t *testing.T, p *programtest.Process) {
	t.Helper()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if status, text, err := p.Do(t.Context(), http.MethodGet, "/api/v1/health", nil); status != http.StatusOK {
					t.Errorf("health: %d %s %v", status, text, err)
					return
				}
			}
		})
	}
	all.Wait()
	res, err := http.Get(p.BackendURL + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("livez: %s", res.Status)
	}
}

var droppedLines = regexp.MustCompile(`(?m)^keepsake_log_dropped_lines_total (\S+)$`)

func dropped(t *testing.T, p *programtest.Process) float64 {
	t.Helper()
	res, err := http.Get(p.BackendURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := droppedLines.FindSubmatch(text)
	if found == nil {
		t.Fatal("no metric of dropped lines")
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestALostLogReaderDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	path := fifo(t)
	p := launched(t, ">"+path+" 2>&1")
	reader, err := os.Open(path) // waits for the writer
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(reader).ReadString('\n'); err != nil { // as `head -1` does
		t.Fatal(err)
	}
	reader.Close()
	p.AwaitReady()
	requests(t, p)
	if dropped(t, p) == 0 {
		t.Error("lost lines are not counted")
	}
	p.Stop()
}

func TestAStalledLogReaderStopsNoRequest(t *testing.T) {
	t.Parallel()
	path := fifo(t)
	p := launched(t, "2>"+path)
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	p.AwaitReady()
	for dropped(t, p) == 0 { // first the pipe fills, then the queue
		requests(t, p)
	}
	go io.Copy(io.Discard, bufio.NewReader(io.TeeReader(reader, p.Log)))
	requests(t, p)
	await.Until(t, "the log says that lines were dropped", func() bool { return strings.Contains(p.Log.String(), `"msg":"dropped log lines","lines":`) })
	p.Stop()
}

func TestAStalledLogReaderDoesNotKeepTheServerFromStopping(t *testing.T) {
	t.Parallel()
	path := fifo(t)
	p := launched(t, ">"+path+" 2>&1", programtest.Flags("--log-level", "debug"))
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	p.AwaitReady()
	requests(t, p)
	p.Stop()
}

func TestOutputThatTakesNothingStopsNoRequest(t *testing.T) {
	t.Parallel()
	for _, redirect := range []string{"2>&-", ">&- 2>&-", ">/dev/full 2>/dev/full", "</dev/null >/dev/full 2>&-"} {
		if _, err := os.Stat("/dev/full"); err != nil && strings.Contains(redirect, "/dev/full") {
			continue
		}
		p := launched(t, redirect)
		p.AwaitReady()
		if status, text, err := p.Do(t.Context(), http.MethodGet, "/api/v1/health", nil); status != http.StatusOK {
			t.Errorf("%s: %d %s %v", redirect, status, text, err)
		}
		p.Stop()
	}
}

// pair writes a certificate with a serial number, and its key.
func pair(t *testing.T, serial int64, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})))
}

// serialAt returns the serial number of the certificate that a server shows.
func serialAt(t *testing.T, address string) int64 {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestAHangupReadsTheCertificateAgain(t *testing.T) {
	t.Parallel()
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	pair(t, 1, cert, key)
	p := launched(t, "", programtest.Flags("--tls-cert", cert, "--tls-key", key))
	p.AwaitReady()
	address := strings.TrimPrefix(p.URL, "http://")
	if got := serialAt(t, address); got != 1 {
		t.Fatalf("at the start the certificate is %d", got)
	}
	pair(t, 2, cert, key)
	p.Signal(syscall.SIGHUP)
	await.Until(t, "the new certificate is served", func() bool { return serialAt(t, address) == 2 })

	write(t, key, "not a key")
	p.Signal(syscall.SIGHUP)
	await.Until(t, "the log names the setting", func() bool {
		return strings.Contains(p.Log.String(), `"level":"ERROR","msg":"reading the certificate failed; keeping the one in use","setting":"tls.`)
	})
	if got := serialAt(t, address); got != 2 {
		t.Errorf("a broken pair replaced the certificate by %d", got)
	}
	p.MustLive()
	p.Stop()
}

// A hangup comes while a client sends a file. Neither the server nor the import ends.
func TestAHangupDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	p := launched(t, "")
	p.AwaitReady()
	body, lines := io.Pipe()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.URL+"/api/v1/documents/import", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", p.Key)
	req.Header.Set("Content-Type", "application/x-ndjson")
	answer := make(chan string, 1)
	go func() {
		res, err := programtest.Client.Do(req)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		answer <- string(text)
	}()
	io.WriteString(lines, `{"id":"a","title":"A"}`+"\n")
	p.Signal(syscall.SIGHUP)
	await.Until(t, "the log says so", func() bool { return strings.Contains(p.Log.String(), `"msg":"nothing to reload`) })
	io.WriteString(lines, `{"id":"b","title":"B"}`+"\n")
	lines.Close()
	if got := await.Receive(t, "the import ends", answer); !strings.Contains(got, `"created":2`) {
		t.Errorf("the import answered %s", got)
	}
	p.Stop()
}

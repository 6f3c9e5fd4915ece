package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

// floods are what clients without a credential send.
var floods = []struct {
	name    string
	clients int
	run     func(address string, client, n int) error // one connection
}{
	{"empty CONTINUATION", 4, frames(false, func(f *http2.Framer) error { return f.WriteContinuation(1, false, nil) })},
	{"PRIORITY", 4, frames(true, func(f *http2.Framer) error { return f.WritePriority(3, http2.PriorityParam{}) })},
	{"SETTINGS", 4, frames(true, func(f *http2.Framer) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
	})},
	{"wrong passwords", 6, wrongPassword},
}

// floodEnv is the environment variable with the index of a flood and the address of its server.
const floodEnv = "KEEPSAKE_BENCH_FLOOD"

// measureFlood measures the searches of a workspace alone and beside a flood, in turns of -turn (at least a second). The clients of
// a flood are a process of their own and connect again when the server closes a connection. The program, the flood and the
// searches share the cores.
func measureFlood(c contest, dir string, builds []string) error {
	c.length = max(c.length, time.Second)
	for i, path := range builds {
		if err := c.flood(path, filepath.Join(dir, strconv.Itoa(i))); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (c contest) flood(path, dir string) error {
	cert, key, err := selfSigned(filepath.Dir(dir))
	if err != nil {
		return err
	}
	p, err := startOn(exec.Command, path, dir)
	if err != nil {
		return err
	}
	defer func() { p.stop() }()
	if err := p.fill(); err != nil {
		return err
	}
	p.stop()
	p.cmd = exec.Command(path, p.cmd.Args[1:]...)
	p.cmd.Env = append(os.Environ(), "KEEPSAKE_LOG_REQUESTS=false", "KEEPSAKE_TLS_CERT="+cert, "KEEPSAKE_TLS_KEY="+key)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	s := &searches{key: p.key, url: "https://" + p.address + searchFor("harbour lantern"), http: &http.Client{Transport: &http.Transport{TLSClientConfig: trusting}}}
	err = s.one()
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); err = s.one() {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	fmt.Printf("\n%s: searches of one client, medians over %d pairs of turns of %s\n", path, c.turns, c.length)
	for i := range floods {
		if err := c.besideFlood(p, s, i); err != nil {
			return fmt.Errorf("%s: %w", floods[i].name, err)
		}
	}
	return nil
}

// besideFlood alternates turns without and with a flood.
func (c contest) besideFlood(p *program, s *searches, flood int) error {
	var medians, tails, alone, beside, aloneTail, besideTail, cores, each []float64
	for range c.turns {
		quiet, idle, err := s.turn(p, c.length)
		if err != nil {
			return err
		}
		running, err := startFlood(flood, p.address)
		if err != nil {
			return err
		}
		loud, busy, err := s.turn(p, c.length)
		connections := running.ended()
		running.stop()
		if err != nil {
			return err
		}
		medians = append(medians, at(loud, .5)/at(quiet, .5))
		tails = append(tails, at(loud, .99)/at(quiet, .99))
		alone, beside = append(alone, at(quiet, .5)), append(beside, at(loud, .5))
		aloneTail, besideTail = append(aloneTail, at(quiet, .99)), append(besideTail, at(loud, .99))
		cores = append(cores, busy-idle*float64(len(loud))/float64(len(quiet))) // without what the searches of the turn cost
		if connections > 0 {
			each = append(each, cores[len(cores)-1]*c.length.Seconds()*1000/float64(connections))
		}
	}
	fmt.Printf("%20s, %d clients: median %.2f to %.2f ms, %.1f x; p99 %.1f to %.1f ms, %.1f x; the flood takes %.2f cores of the program",
		floods[flood].name, floods[flood].clients, middle(alone), middle(beside), middle(medians), middle(aloneTail), middle(besideTail), middle(tails), middle(cores))
	if len(each) > 0 {
		fmt.Printf(", %.1f ms a connection", middle(each))
	}
	fmt.Println()
	return nil
}

// searches is a client that searches.
type searches struct {
	key, url string
	http     *http.Client
}

func (s *searches) one() error {
	req, err := http.NewRequest(http.MethodGet, s.url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-API-Key", s.key)
	res, err := s.http.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", res.StatusCode)
	}
	return errors.Join(err, res.Body.Close())
}

// turn searches for a while. It returns the sorted times in ms, and how many cores the program used.
func (s *searches) turn(p *program, length time.Duration) (times []float64, cores float64, err error) {
	cpu, began := p.cpu(), time.Now()
	for time.Since(began) < length {
		sent := time.Now()
		if err := s.one(); err != nil {
			return nil, 0, err
		}
		times = append(times, float64(time.Since(sent).Microseconds())/1000)
	}
	slices.Sort(times)
	return times, (p.cpu() - cpu).Seconds() / time.Since(began).Seconds(), nil
}

// flooding is the process of a flood.
type flooding struct {
	cmd *exec.Cmd
	out io.ReadCloser
	in  io.WriteCloser
}

// startFlood starts this program again as a flood, and waits until it is under way.
func startFlood(flood int, address string) (*flooding, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &flooding{cmd: exec.Command(self)}
	f.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", floodEnv, flood, address))
	f.cmd.Stderr = os.Stderr
	if f.in, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if f.out, err = f.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	time.Sleep(300 * time.Millisecond) // all clients are connected then
	f.ended()
	return f, nil
}

// ended returns how many connections have ended since the last call.
func (f *flooding) ended() (count int) {
	_, _ = f.in.Write([]byte{'\n'})
	_, _ = fmt.Fscanln(f.out, &count)
	return count
}

func (f *flooding) stop() {
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
}

// serveFlood floods a server until it is killed. For each byte of its input it prints how many connections have ended since the
// one before.
func serveFlood(what string) error {
	index, address, _ := strings.Cut(what, " ")
	i, err := strconv.Atoi(index)
	if err != nil {
		return err
	}
	var ended atomic.Int64
	for client := range floods[i].clients {
		go func() {
			for n := int(time.Now().UnixMilli() % 60_000); ; n++ { // other addresses and emails than of the turn before
				if err := floods[i].run(address, client, n); err != nil {
					fmt.Fprintln(os.Stderr, "flood:", err)
				}
				ended.Add(1)
			}
		}()
	}
	for line := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(line); err != nil {
			return err
		}
		fmt.Println(ended.Swap(0))
	}
}

// trusting is the configuration of clients that accept any certificate.
var trusting = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the server is this program's own

// frames is a flood of frames on one connection, after a request with whole or with unfinished headers, until the server closes
// the connection.
func frames(whole bool, write func(f *http2.Framer) error) func(address string, client, n int) error {
	return func(address string, _, _ int) error {
		config := trusting.Clone()
		config.NextProtos = []string{http2.NextProtoTLS}
		conn, err := tls.Dial("tcp", address, config)
		if err != nil {
			return err
		}
		defer conn.Close()
		var b strings.Builder
		b.WriteString(http2.ClientPreface)
		f := http2.NewFramer(&b, nil)
		err = errors.Join(f.WriteSettings(), f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82, 0x87, 0x84}, EndStream: true, EndHeaders: whole})) // GET /
		if err != nil {
			return err
		}
		if _, err := io.WriteString(conn, b.String()); err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		b.Reset()
		for range 1000 {
			if err := write(f); err != nil {
				return err
			}
		}
		for many := []byte(b.String()); err == nil; {
			_, err = conn.Write(many)
		}
		return nil // the server closed it
	}
}

// wrongPassword sends logins on one connection. Each attempt comes from an address of its own and names another email.
func wrongPassword(address string, client, n int) error {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(1+client), byte(1+n/250%250), byte(1+n%250))}}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: trusting}
	defer transport.CloseIdleConnections()
	body := fmt.Sprintf(`{"email":"flood%d-%d@example.org","password":"not the password"}`, client, n)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+"/api/auth/login", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return nil
}

// selfSigned writes a certificate for 127.0.0.1 and its key.
func selfSigned(dir string) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	return cert, key, errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600))
}

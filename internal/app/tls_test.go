package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
)

// certificate makes one for 127.0.0.1, signed by itself, and writes both files.
func certificate(t *testing.T) (files config.TLS, pool *x509.CertPool) {
	t.Helper()
	dir := t.TempDir()
	files = config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	pool = x509.NewCertPool()
	pool.AddCert(writePair(t, files, 1))
	return files, pool
}

// writePair writes a certificate with a serial number, and its key.
func writePair(t *testing.T, files config.TLS, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		files.Cert: {Type: "CERTIFICATE", Bytes: der},
		files.Key:  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		// The clock of the file system can be too coarse to tell two writes apart.
		if at := time.Unix(serial, 0); os.Chtimes(path, at, at) != nil {
			t.Fatal("set the time of a file")
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestTLSServesBothVersionsOfHTTP(t *testing.T) {
	t.Parallel()
	files, pool := certificate(t)
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.TLS = files }))
	if !strings.HasPrefix(p.URL, "https://127.0.0.1:") || !strings.HasPrefix(p.BackendURL, "http://127.0.0.1:") {
		t.Fatalf("listening on %s and %s", p.URL, p.BackendURL)
	}
	for _, two := range []bool{false, true} {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: two}}
		res, err := c.Get(p.URL + "/api/versions")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.ProtoMajor; (got == 2) != two || res.StatusCode != http.StatusOK || res.Header.Get("X-API-Version") != "1" {
			t.Errorf("wanting HTTP/2 %v: %s %s", two, res.Proto, res.Status)
		}
		c.CloseIdleConnections()
	}
}

func TestWrongCertificateNamesTheSetting(t *testing.T) {
	t.Parallel()
	files, _ := certificate(t)
	other, _ := certificate(t)
	cfg := apptest.Local(t, filepath.Join(t.TempDir(), "d"))
	cfg.TLS = config.TLS{Cert: files.Cert, Key: other.Key}
	_, err := app.New(t.Context(), cfg, silent())
	if setting, ok := errors.AsType[*config.Error](err); !ok || setting.Setting != "tls.cert" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(instance.FirstStartPath(cfg.Data)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a first start went before it: %v", err)
	}
}

func TestRenewedCertificateIsNoticed(t *testing.T) {
	t.Parallel()
	files, _ := certificate(t)
	clock := apptest.NewClock(time.Now())
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.TLS = files }), apptest.Clock(clock.Now))
	serves := func(want int64, when string) {
		t.Helper()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got := conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != want {
			t.Errorf("%s: serves %d, want %d", when, got, want)
		}
	}
	writePair(t, files, 2)
	serves(1, "before the next look")
	clock.Advance(time.Minute)
	serves(2, "a minute later")
	if err := os.Remove(files.Key); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	serves(2, "without a key")
	writePair(t, files, 3)
	clock.Advance(time.Minute)
	serves(3, "with a new pair")
}

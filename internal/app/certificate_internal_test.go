package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"keepsake/internal/app/config"
)

// writePair writes a certificate with a serial number, and its key.
func writePair(t *testing.T, files config.TLS, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{files.Cert: {Type: "CERTIFICATE", Bytes: der}, files.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		// The clock of the file system can be too coarse to tell two writes apart.
		if at := time.Unix(serial, 0); os.Chtimes(path, at, at) != nil {
			t.Fatal("set the time of a file")
		}
	}
}

func TestRenewedCertificateIsNoticed(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Unix(1_900_000_000, 0)
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	writePair(t, files, 1)
	c, err := loadCertificate(files, &Deps{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	serves := func(want int64, when string) {
		t.Helper()
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := pair.Leaf.SerialNumber.Int64(); got != want {
			t.Errorf("%s: serves %d, want %d", when, got, want)
		}
	}
	writePair(t, files, 2)
	serves(1, "before the next look")
	now = now.Add(certificateCheck)
	serves(2, "a minute later")
	if err := os.Remove(files.Key); err != nil {
		t.Fatal(err)
	}
	now = now.Add(certificateCheck)
	serves(2, "without a key")
	writePair(t, files, 3)
	now = now.Add(certificateCheck)
	serves(3, "with a new pair")
}

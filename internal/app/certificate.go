package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/app/config"
)

// certificateCheck is how often a handshake looks whether the files of the certificate have changed.
const certificateCheck = time.Minute

// certificate is the certificate of the TLS listeners. It is read again on Reload, and by a handshake that finds other files.
// A pair that cannot be used never replaces one that can.
type certificate struct {
	files config.TLS
	now   func() time.Time
	log   *slog.Logger

	pair atomic.Pointer[tls.Certificate]

	mu   sync.Mutex // one reads the files at a time
	next time.Time  // of the next look
	seen [2]fileState
}

// fileState tells one content of a file from another without reading it.
type fileState struct {
	modified time.Time
	size     int64
	found    bool
}

// loadCertificate reads the certificate of the settings; nil without one.
func loadCertificate(files config.TLS, deps *Deps) (*certificate, error) {
	if files.Cert == "" {
		return nil, nil
	}
	c := &certificate{files: files, now: deps.Now, log: deps.Log}
	if err := c.read(); err != nil {
		return nil, err
	}
	c.next = c.now().Add(certificateCheck)
	return c, nil
}

// read reads both files. The error names the setting. The caller holds mu, or is alone.
func (c *certificate) read() error {
	c.seen = c.look()
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		setting := "tls.cert"
		if path, ok := errors.AsType[*fs.PathError](err); ok && path.Path == c.files.Key {
			setting = "tls.key"
		}
		return &config.Error{Setting: setting, Reason: fmt.Sprintf("tls.cert and tls.key cannot be used together: %v", err)}
	}
	c.pair.Store(&pair)
	return nil
}

func (c *certificate) look() (states [2]fileState) {
	for i, path := range []string{c.files.Cert, c.files.Key} {
		if info, err := os.Stat(path); err == nil {
			states[i] = fileState{info.ModTime(), info.Size(), true}
		}
	}
	return states
}

// reload reads the files again and keeps the pair in use if they cannot be used.
func (c *certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readAgain()
}

func (c *certificate) readAgain() {
	if err := c.read(); err != nil {
		setting := "tls.cert"
		if e, ok := errors.AsType[*config.Error](err); ok {
			setting = e.Setting
		}
		c.log.Error("reading the certificate failed; keeping the one in use", "setting", setting, "error", err)
		return
	}
	c.log.Info("read the certificate", "setting", "tls.cert", "validUntil", expiry(c.pair.Load()))
}

// expiry returns when a certificate ends.
func expiry(pair *tls.Certificate) time.Time {
	leaf := pair.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return time.Time{}
		}
	}
	return leaf.NotAfter.UTC()
}

// get is the tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.mu.TryLock() { // else another handshake looks
		if now := c.now(); !now.Before(c.next) {
			c.next = now.Add(certificateCheck)
			if c.look() != c.seen {
				c.readAgain()
			}
		}
		c.mu.Unlock()
	}
	return c.pair.Load(), nil
}

// Reload reads the certificate of the TLS listeners again, as an operator asks for with SIGHUP. A pair that cannot be used
// leaves the old one in use, and the log says why.
func (a *App) Reload() {
	if a.certificate == nil {
		a.deps.Log.Info("nothing to reload: only a certificate (tls.cert, tls.key) is read again, and none is set")
		return
	}
	a.certificate.reload()
}

package postgres

import (
	"net/netip"
	"strings"
)

// PlainText returns why connections to a database can be unencrypted, or "" if they cannot or do not leave this
// machine. A mode that falls back to plain text counts even on this machine: it is seldom intended, and the server can
// move.
func PlainText(text string) string {
	p, err := parse(text)
	if err != nil {
		return "" // Open reports the error
	}
	encrypted, plain, remote := false, false, false
	try := func(host string, tls bool) {
		if strings.HasPrefix(host, "/") { // a Unix socket
			return
		}
		ip, err := netip.ParseAddr(host)
		encrypted = encrypted || tls
		plain = plain || !tls
		remote = remote || !tls && host != "localhost" && (err != nil || !ip.IsLoopback())
	}
	c := p.config.ConnConfig
	try(c.Host, c.TLSConfig != nil)
	for _, f := range c.Fallbacks {
		try(f.Host, f.TLSConfig != nil)
	}
	switch {
	case plain && encrypted:
		return "its sslmode falls back to plain text if the server does not offer TLS; sslmode=verify-full does not"
	case remote:
		return "its sslmode is disable, so passwords and data travel in plain text; use sslmode=verify-full"
	default:
		return ""
	}
}

package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// withinOrigin returns a client that follows no redirect to another scheme, host or port: a redirect would take the API key and
// the body there.
func withinOrigin(h *http.Client) *http.Client {
	other := *h
	other.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if !sameOrigin(before[0].URL, next.URL) {
			return &redirectError{next.URL.Scheme + "://" + next.URL.Host}
		}
		switch {
		case h.CheckRedirect != nil:
			return h.CheckRedirect(next, before)
		case len(before) >= maxRedirects:
			return fmt.Errorf("stopped after %d redirects", maxRedirects)
		}
		return nil
	}
	return &other
}

const maxRedirects = 10

// redirectError is the error of a redirect that was not followed.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return "the server redirects to " + e.to + "; nothing was sent there. If that is the right address, use it"
}

// sameOrigin reports whether two addresses have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	default:
		return "80"
	}
}

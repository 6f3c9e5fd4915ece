// Package serverurl checks addresses of servers that can contain a password, and keeps the password out of errors.
package serverurl

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Errors of Check. They never contain a part of the address.
var (
	errForm = errors.New("is not an address")
	// ErrEncode reports an @ that is not the one in front of the host. Parsers disagree about what such an address means, so
	// a part of the password could be taken for a part of the host, which errors and logs show.
	ErrEncode = errors.New("contains a character in the password or after the host that must be percent-encoded: " +
		"write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23 and % as %25")
)

// Check reports an error if text is not an unambiguous address with one of the schemes.
func Check(text string, schemes ...string) error {
	scheme, rest, _ := strings.Cut(text, "://")
	if !slices.Contains(schemes, scheme) {
		return errForm
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if strings.Count(authority, "@") > 1 || strings.Contains(rest[len(authority):], "@") {
		return ErrEncode
	}
	u, err := url.Parse(text)
	switch {
	case err != nil && strings.Contains(authority, "@"), err == nil && u.Fragment != "":
		return ErrEncode
	case err != nil || u.Opaque != "":
		return errForm
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return errForm
	}
	return nil
}

// passwords are the names of parameters that contain a password.
var passwords = []string{"password", "sslpassword"}

// Line returns an error as one line. If the error contains a password of one of the addresses, Line says so instead.
func Line(err error, addresses ...string) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, address := range addresses {
		for _, secret := range secrets(address) {
			if strings.Contains(text, secret) {
				return "the reason is not shown because it contains the password"
			}
		}
	}
	return text
}

// secrets returns the passwords in an address, as written and decoded.
func secrets(address string) []string {
	var list []string
	_, rest, _ := strings.Cut(address, "://")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if _, raw, ok := strings.Cut(rest[:at], ":"); ok {
			list = append(list, raw)
			if decoded, err := url.PathUnescape(raw); err == nil {
				list = append(list, decoded)
			}
		}
	}
	if u, err := url.Parse(address); err == nil {
		for _, name := range passwords {
			list = append(list, u.Query()[name]...)
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// Package serverurl checks addresses of servers that can contain a password, and keeps the password out of errors.
package serverurl

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
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
	return checkQuery(u.RawQuery)
}

var parameterName = regexp.MustCompile(`^[a-z][a-z0-9_.]*$`)

// checkQuery refuses what is more likely the rest of a password than a parameter, because errors name parameters.
func checkQuery(query string) error {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, _, found := strings.Cut(pair, "=")
		if !found || !parameterName.MatchString(name) {
			return ErrEncode
		}
	}
	if _, err := url.ParseQuery(query); err != nil {
		return ErrEncode
	}
	return nil
}

// passwords are the names of parameters that contain a password.
var passwords = []string{"password", "sslpassword"}

var (
	credentials = regexp.MustCompile(`((?:[A-Za-z][A-Za-z0-9+.-]*:/+)?[^\s"'` + "`" + `:/@]*):[^\s"'` + "`" + `]*@`)
	parameter   = regexp.MustCompile(`(?i)(password=)[^\s"'&]+`)
)

// hidden is what a text shows in place of a password.
const hidden = "***"

// Redact hides what can be a password of an address in a text for people. words are what a program was given, such as its
// arguments: a password in one of them is hidden wherever it appears. A text that was not meant as an address, such as an
// argument in the wrong place, can contain a password too.
func Redact(text string, words ...string) string {
	for _, word := range words {
		for _, secret := range secrets(word) {
			if len(secret) >= minSecret {
				text = strings.ReplaceAll(text, secret, hidden)
			}
		}
	}
	text = credentials.ReplaceAllString(text, "$1:"+hidden+"@")
	return parameter.ReplaceAllString(text, "${1}"+hidden)
}

// minSecret is the length below which a password is not looked for, because it is likely a part of other words.
const minSecret = 4

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

var scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*:/+`)

// secrets returns the passwords in an address, as written, decoded, and as %q shows them.
func secrets(address string) []string {
	var list []string
	rest := address
	if at := scheme.FindStringIndex(address); at != nil {
		address, rest = address[at[0]:], address[at[1]:]
	}
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
	for _, secret := range list {
		quoted := strconv.Quote(secret)
		list = append(list, quoted[1:len(quoted)-1])
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

package serverurl_test

import (
	"errors"
	"strings"
	"testing"

	"keepsake/internal/base/serverurl"
)

func TestAmbiguousAddressesAreRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://u:pw@h/db":                              "",
		"postgres://u@h/db":                                 "",
		"postgres://h/db":                                   "",
		"postgres:///db?host=/run/postgresql":               "",
		"postgres://a,b:5433/db?target_session_attrs=any":   "",
		"postgres://u:p%40w%2F%3F%23%25@h:5432/db?sslmode=": "",
		"postgres://u:p@TAIL@h/db":                          "percent-encoded",
		"postgres://u:1/TAIL@h/db":                          "percent-encoded",
		"postgres://u:1?TAIL@h/db":                          "percent-encoded",
		"postgres://u:1#TAIL@h/db":                          "percent-encoded",
		"postgres://u:1#TAIL":                               "percent-encoded",
		"postgres://u:p%zzTAIL@h/db":                        "percent-encoded",
		"postgres://u:p TAIL@h/db":                          "percent-encoded",
		"postgres://h:TAIL/db":                              "is not an address",
		"postgres:/u:TAIL@h/db":                             "is not an address",
		"mysql://u:TAIL@h/db":                               "is not an address",
		"u:TAIL@h/db":                                       "is not an address",
		"":                                                  "is not an address",
	} {
		err := serverurl.Check(address, "postgres")
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", address, err, want)
		case err != nil && strings.Contains(err.Error(), "TAIL"):
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestPasswordsAreHidden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`list keys: GET http://u:TAIL@h/api: refused`:   `list keys: GET http://u:***@h/api: refused`,
		`unknown command "postgres://u:TAIL@h/d" for x`: `unknown command "postgres://u:***@h/d" for x`,
		`redis://:p@TAIL@h:1/0 is not`:                  `redis://:***@h:1/0 is not`,
		`host=h password=TAIL holds no data`:            `host=h password=*** holds no data`,
		`u:TAIL@h/db holds no data`:                     `u:***@h/db holds no data`,
		`PostgreSQL at 127.0.0.1:1 (database db)`:       `PostgreSQL at 127.0.0.1:1 (database db)`,
		`no user ann@example.org at http://h:80/`:       `no user ann@example.org at http://h:80/`,
	} {
		if got := serverurl.Redact(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := serverurl.Redact("open x y TAIL: no such file", "postgres://u:x y TAIL@h/db"); strings.Contains(got, "TAIL") {
		t.Errorf("a password that a word contains is shown: %s", got)
	}
	if got := serverurl.Line(errors.New("bad p@TAIL\nhere"), "postgres://u:p%40TAIL@h/db"); strings.Contains(got, "TAIL") {
		t.Errorf("an error shows the decoded password: %s", got)
	}
}

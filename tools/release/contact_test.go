package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAReleaseNamesTheAddressForReports(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for contact, want := range map[string]string{
		"":                                 noContact,
		"security@example.org":             "Write privately to <security@example.org>, before you tell anyone else.",
		"https://example.org/report?to=us": "Write privately to <https://example.org/report?to=us>, before you tell anyone else.",
	} {
		if err := checkContact(contact); err != nil {
			t.Error(err)
		}
		r := release{root: root, help: t.TempDir(), contact: contact}
		if err := r.writeContact(); err != nil {
			t.Fatal(err)
		}
		for _, name := range contactTexts {
			text := string(readFile(t, filepath.Join(r.help, name)))
			if !strings.Contains(text, want) || strings.Contains(text, noContact) != (contact == "") {
				t.Errorf("%q: %s is\n%.400s", contact, name, text)
			}
		}
	}
	for _, contact := range []string{
		"security", "@example.org", "Us <security@example.org>", "http://example.org", "https://", "https://example.org/>x", "a@example.org\nb@example.org",
	} {
		if err := checkContact(contact); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want one line that refuses it", contact, err)
		}
	}
}

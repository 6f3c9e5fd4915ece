package main

import (
	"fmt"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// noContact is the sentence of contactTexts that a release with an address for reports replaces.
const noContact = "The project has no address for reports yet: write privately to those from whom you got Keepsake, before you tell anyone else."

var contactTexts = []string{"CONTRIBUTING.md", "SECURITY.md"}

// writeContact writes the texts that name the address for reports of vulnerabilities into r.help.
func (r *release) writeContact() error {
	for _, name := range contactTexts {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		text := string(data)
		if !strings.Contains(text, noContact) {
			return fmt.Errorf("%s must contain the sentence %q", name, noContact)
		}
		if r.contact != "" {
			text = strings.Replace(text, noContact, "Write privately to <"+r.contact+">, before you tell anyone else.", 1)
		}
		if err := os.WriteFile(filepath.Join(r.help, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkContact refuses what is neither empty nor an address that people can write to.
func checkContact(contact string) error {
	m, err := mail.ParseAddress(contact)
	isMail := err == nil && m.Address == contact
	u, err := url.Parse(contact)
	isURL := err == nil && u.Scheme == "https" && u.Host != "" && !strings.ContainsAny(contact, " <>")
	if contact != "" && !isMail && !isURL {
		return fmt.Errorf("SECURITY_CONTACT %q is neither an e-mail address nor an address that begins with https://", contact)
	}
	return nil
}

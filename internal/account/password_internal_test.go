package account

import (
	"testing"

	"keepsake/internal/problem"
)

func TestPasswordMatchesOnlyItsHash(t *testing.T) {
	t.Parallel()
	const cheap = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$"
	right := hashPassword("correct horse", PasswordCost{}, zero{})
	for stored, want := range map[string]bool{
		right: true, "": false, "$": false, "$$$$$": false, "$2a$10$abcdefghijklmnopqrstuv": false,
		right[:len(right)-1]: false, right + "$": false, "x" + right: false,
		cheap + "YWJj": false, // three bytes could be guessed
		"$argon2i$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA":                 false,
		"$argon2id$v=16$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA":                false,
		"$argon2id$v=19$m=4294967295,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA":           false,
		"$argon2id$v=19$m=8,t=4294967295,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA":           false,
		"$argon2id$v=19$m=8,t=0,p=0$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA":                    false,
		"$argon2id$v=19$m=-8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA":                   false,
		"$argon2id$v=19$m=99999999999999999999,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA": false,
	} {
		if got := matches(stored, "correct horse"); got != want {
			t.Errorf("%q matches: %v, want %v", stored, got, want)
		}
	}
	if matches(right, "correct horse ") {
		t.Error("another password matches")
	}
}

type zero struct{}

func (zero) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestCommonPasswordsAreRefused(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]problem.Issue{
		"password1234": problem.NotAllowed, "PassWord1234": problem.NotAllowed, "qwertyuiop123": problem.NotAllowed,
		"correct horse battery staple": "", "aaaaaaaaaaab": "", "eleven char": problem.TooShort,
	} {
		err := checkPassword(password)
		p, _ := problem.As(err)
		if (want == "") != (err == nil) || err != nil && p.Details.Issue != want {
			t.Errorf("%q: got %v, want %q", password, err, want)
		}
	}
	for password := range commonPasswords {
		if len(password) < minPassword || len(password) > maxPassword {
			t.Errorf("%q is refused for its length", password)
		}
	}
}

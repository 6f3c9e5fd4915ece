package account

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/text/unicode/norm"

	"keepsake/internal/base/problem"
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

// accented returns texts of n characters in NFC, composed and decomposed.
func accented(random *rand.Rand, n int) (composed, decomposed string) {
	letters := []rune("aé日Ωñ ữㅎ가ḉZ9🔑\u1f82")
	text := make([]rune, n)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text), norm.NFD.String(string(text))
}

func TestLengthOfAPasswordIsCountedInNFC(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for n, want := range map[int]problem.Issue{
		11: problem.TooShort, 12: "", 13: "", 64: "", 127: "", 128: "", 129: problem.TooLong, 3000: problem.TooLong,
	} {
		for range 20 {
			composed, decomposed := accented(random, n)
			for _, password := range []string{composed, decomposed} {
				p, _ := problem.As(checkPassword(password))
				if got := p != nil; got != (want != "") || got && p.Details.Issue != want {
					t.Errorf("%d characters, %d bytes: got %v, want %q", n, len(password), p, want)
				}
			}
		}
	}
}

func FuzzPasswordMatchesItselfInEveryForm(f *testing.F) {
	f.Add("correct horse", " correct horse")
	f.Add("cafe\u0301", "cafe")
	f.Fuzz(func(t *testing.T, password, other string) {
		hash := hashPassword(password, PasswordCost{MemoryKiB: 8, Passes: 1}, zero{})
		if !matches(hash, norm.NFC.String(password)) || !matches(hash, norm.NFD.String(password)) {
			t.Errorf("%+q does not match itself", password)
		}
		if got, want := matches(hash, other), norm.NFC.String(password) == norm.NFC.String(other); got != want {
			t.Errorf("%+q matches %+q: %v", password, other, got)
		}
	})
}

func TestOneCoreIsLeftToOthersWhilePasswordsAreHashed(t *testing.T) {
	t.Parallel()
	for cores, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 3, 64: 63} {
		if got := hashSlots(cores); got != want {
			t.Errorf("%d cores: %d hashes at once, want %d", cores, got, want)
		}
	}
}

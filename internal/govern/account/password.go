package account

import (
	"cmp"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"keepsake/internal/base/problem"
)

// PasswordCost is the cost of a password hash. The zero value is the cost of docs/spec/login.md: Argon2id with 19 MiB, two
// passes and one thread.
type PasswordCost struct {
	MemoryKiB uint32
	Passes    uint32
}

const (
	argonTime    = 2
	argonMemory  = 19 * 1024 // KiB
	argonThreads = 1
	argonSalt    = 16
	argonKey     = 32
)

func (c PasswordCost) orDefault() PasswordCost {
	return PasswordCost{MemoryKiB: cmp.Or(c.MemoryKiB, argonMemory), Passes: cmp.Or(c.Passes, argonTime)}
}

// The length of a password, in characters.
const (
	minPassword = 12
	maxPassword = 128
)

// maxPasswordBytes is more than the length of any password that is accepted, in whatever form it is sent: a character in NFC
// has at most 16 bytes when it is decomposed.
const maxPasswordBytes = 16 * maxPassword

// normalized returns the form in which a password is hashed and compared: NFC, so that the same characters match whether a
// keyboard sends them composed or decomposed. Nothing is trimmed and no case is folded (RFC 8265).
func normalized(password string) string { return norm.NFC.String(password) }

// checkPassword refuses a password that is too short, too long, too common or not UTF-8.
func checkPassword(password string) error {
	if !utf8.ValidString(password) {
		return problem.Validation("password", problem.Format, "The password must be UTF-8 text.")
	}
	n := maxPassword + 1
	if len(password) <= maxPasswordBytes {
		password = normalized(password)
		n = utf8.RuneCountInString(password)
	}
	switch {
	case n < minPassword:
		return problem.Validation("password", problem.TooShort, fmt.Sprintf("A password must have at least %d characters.", minPassword))
	case n > maxPassword:
		return problem.Validation("password", problem.TooLong, fmt.Sprintf("A password must have at most %d characters.", maxPassword))
	case isCommon(password):
		return problem.Validation("password", problem.NotAllowed, "This password is too common.")
	}
	return nil
}

// hashPassword hashes a password with a new salt, in PHC form: $argon2id$v=19$m=19456,t=2,p=1$salt$hash.
func hashPassword(password string, cost PasswordCost, random io.Reader) string {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(random, salt); err != nil {
		panic(fmt.Sprintf("account: read randomness: %v", err))
	}
	cost = cost.orDefault()
	key := argon2.IDKey([]byte(normalized(password)), salt, cost.Passes, cost.MemoryKiB, argonThreads, argonKey)
	return phc(cost, salt, key)
}

func phc(cost PasswordCost, salt, key []byte) string {
	encoding := base64.RawStdEncoding
	cost = cost.orDefault()
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.MemoryKiB, cost.Passes, argonThreads,
		encoding.EncodeToString(salt), encoding.EncodeToString(key))
}

// The maximum cost of verifying a stored hash, so that a manipulated database cannot exhaust memory.
const (
	maxTime    = 8
	maxMemory  = 64 * 1024 // KiB
	maxThreads = 4
)

// matches reports whether a password matches a stored hash. An invalid hash matches none.
func matches(stored, password string) bool {
	var version, memory, time int
	var threads uint8
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return false
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil {
		return false
	}
	if memory < 8 || memory > maxMemory || time < 1 || time > maxTime || threads < 1 || threads > maxThreads {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	key, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(key) < 16 || len(key) > 64 {
		return false
	}
	got := argon2.IDKey([]byte(normalized(password)), salt, uint32(time), uint32(memory), threads, uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1
}

// generatePassword returns 20 characters of base32: 100 bits, without characters that look alike.
func generatePassword(random io.Reader) string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	buf := make([]byte, 20)
	if _, err := io.ReadFull(random, buf); err != nil {
		panic(fmt.Sprintf("account: read randomness: %v", err))
	}
	for i, b := range buf {
		buf[i] = alphabet[b%32]
	}
	return string(buf)
}

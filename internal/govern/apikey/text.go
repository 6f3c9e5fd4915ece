package apikey

import (
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// A key's text is kpsk_, 30 random base62 characters (178 bits) and a checksum: the CRC-32 (IEEE) of all characters before
// it in 6 base62 digits. Because of the checksum, a mistyped key is refused without a read of the database. It does not
// keep out invented keys, because it is easy to compute; LookupStored limits what those cost.
const (
	textPrefix  = "kpsk_"
	randomLen   = 30
	checksumLen = 6
	textLen     = len(textPrefix) + randomLen + checksumLen
	hintLen     = len(textPrefix) + 4

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Generate returns the text of a new key. It panics if random fails, because a key must not be predictable.
func Generate(random io.Reader) string {
	text := make([]byte, 0, textLen)
	text = append(text, textPrefix...)
	// 248 is the largest multiple of 62 in a byte: larger bytes would make some characters more likely than others.
	for buf := make([]byte, 64); len(text) < textLen-checksumLen; {
		if _, err := io.ReadFull(random, buf); err != nil {
			panic(fmt.Sprintf("apikey: read randomness: %v", err))
		}
		for _, b := range buf {
			if b < 248 && len(text) < textLen-checksumLen {
				text = append(text, base62[b%62])
			}
		}
	}
	digits := checksum(string(text))
	return string(append(text, digits[:]...))
}

// checksum is the checksum of a text that begins with head. It loops over the string because crc32.ChecksumIEEE needs a
// slice, which would have to be allocated.
func checksum(head string) (digits [checksumLen]byte) {
	sum := ^uint32(0)
	for i := range len(head) {
		sum = crc32.IEEETable[byte(sum)^head[i]] ^ sum>>8
	}
	sum = ^sum
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

// LooksLike reports whether text begins like a key, so that its sender means it as one.
func LooksLike(text string) bool { return strings.HasPrefix(text, textPrefix) }

// WellFormed reports whether text has the length, prefix, alphabet and checksum of a key.
func WellFormed(text string) bool {
	if len(text) != textLen || text[:len(textPrefix)] != textPrefix {
		return false
	}
	for i := len(textPrefix); i < textLen; i++ {
		if c := text[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	const head = textLen - checksumLen
	digits := checksum(text[:head])
	return string(digits[:]) == text[head:]
}

// hintOf is what is shown of a key after its creation: the prefix and the first four random characters.
func hintOf(text string) string { return text[:hintLen] }

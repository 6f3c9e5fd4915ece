package apikey

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

var keyText = regexp.MustCompile(`^kpsk_[0-9A-Za-z]{30}[0-9A-Za-z]{6}$`)

// checksumOf writes the rule of docs/spec/apikeys.md, a second time: CRC-32 in base62, left-padded with 0.
func checksumOf(head string) string {
	digits := ""
	for n := crc32.ChecksumIEEE([]byte(head)); n > 0; n /= 62 {
		digits = string(base62[n%62]) + digits
	}
	return strings.Repeat("0", checksumLen-len(digits)) + digits
}

func TestGeneratedKeyIsWellFormed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.SliceOfN(rapid.Byte(), 256, 256).Draw(t, "random")
		// However uneven the randomness, there is enough of it in the end.
		text := Generate(bytes.NewReader(append(random, bytes.Repeat([]byte{7}, 64)...)))
		if !keyText.MatchString(text) {
			t.Fatalf("Generate returned %q", text)
		}
		if want := checksumOf(text[:35]); text[35:] != want {
			t.Fatalf("%q ends in %q, want %q", text, text[35:], want)
		}
		if !WellFormed(text) {
			t.Fatalf("WellFormed(%q) is false", text)
		}
		if hint := hintOf(text); hint != text[:9] {
			t.Fatalf("the hint of %q is %q", text, hint)
		}
	})
}

func TestOneWrongCharacterIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(Generate(rand.Reader))
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		with := rapid.Byte().Filter(func(b byte) bool { return b != text[at] }).Draw(t, "with")
		text[at] = with
		if WellFormed(string(text)) {
			t.Fatalf("WellFormed(%q) is true with character %d changed", text, at)
		}
	})
}

func TestMalformedTextIsRefused(t *testing.T) {
	t.Parallel()
	good := Generate(rand.Reader)
	other := "kpsk-" + good[5:35]
	for _, text := range []string{
		"", "kpsk_", good[1:], good[:40], good + "0", " " + good[:40], strings.ToUpper(good[:5]) + good[5:],
		other + checksumOf(other), good[:34] + "_" + good[35:],
	} {
		if WellFormed(text) {
			t.Errorf("WellFormed(%q) is true", text)
		}
	}
	// A right checksum over characters outside the alphabet is no key either.
	head := good[:20] + "é" + good[22:35]
	if text := head + checksumOf(head); len(text) != textLen || WellFormed(text) {
		t.Errorf("WellFormed(%q) is true", text)
	}
}

func TestCharactersAreEquallyLikely(t *testing.T) {
	t.Parallel()
	const keys = 20_000
	counts := map[byte]int{}
	for range keys {
		for _, c := range []byte(Generate(rand.Reader)[5:35]) {
			counts[c]++
		}
	}
	mean := keys * 30.0 / 62
	for i := range len(base62) {
		// Six standard deviations: a fair generator leaves them once in millions of runs of this test.
		if n := float64(counts[base62[i]]); n < mean-6*100 || n > mean+6*100 {
			t.Errorf("%q occurs %.0f times, want about %.0f", base62[i], n, mean)
		}
	}
}

func FuzzWellFormed(f *testing.F) {
	f.Add(Generate(rand.Reader))
	f.Add("kpsk_000000000000000000000000000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		want := keyText.MatchString(text) && checksumOf(text[:35]) == text[35:]
		if got := WellFormed(text); got != want {
			t.Errorf("WellFormed(%q) = %v, want %v", text, got, want)
		}
	})
}

func TestHashIsHMACUnderThePepper(t *testing.T) {
	t.Parallel()
	pepper := []byte("a pepper of thirty-two bytes ...")
	h := NewHasher(pepper)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 200 {
				text := Generate(rand.Reader)
				mac := hmac.New(sha256.New, pepper)
				fmt.Fprint(mac, text)
				if got := h.Hash(text); !bytes.Equal(got[:], mac.Sum(nil)) {
					t.Errorf("Hash(%q) = %x, want %x", text, got, mac.Sum(nil))
				}
			}
		})
	}
	running.Wait()
	text := Generate(rand.Reader)
	if NewHasher([]byte("another pepper")).Hash(text) == h.Hash(text) {
		t.Error("two peppers give one hash")
	}
}

func BenchmarkWellFormed(b *testing.B) {
	text := Generate(rand.Reader)
	b.ReportAllocs()
	for b.Loop() {
		if !WellFormed(text) {
			b.Fatal(text)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	h, text := NewHasher(make([]byte, 32)), Generate(rand.Reader)
	b.ReportAllocs()
	for b.Loop() {
		h.Hash(text)
	}
}

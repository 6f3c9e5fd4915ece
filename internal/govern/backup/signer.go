package backup

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrForged is the error of reading a journal with a line that this instance did not write in this place.
var ErrForged = errors.New("was not written by this instance in this place: it was changed, moved or added, or the line before it was removed; later lines cannot be trusted either")

// Signer authenticates journal lines with a key derived from a secret of the instance.
type Signer struct{ key []byte }

// NewSigner returns a Signer. Every keys file of the instance must contain the secret.
func NewSigner(secret []byte) *Signer {
	key, err := hkdf.Expand(sha256.New, secret, "keepsake journal", sha256.Size)
	if err != nil {
		panic("backup: " + err.Error()) // only for a size out of range
	}
	return &Signer{key}
}

// mac is the HMAC-SHA-256 of a line and of the mac of the authenticated line before it, which is zero for the first.
type mac [sha256.Size]byte

func (s *Signer) sum(body []byte, previous mac) (sum mac) {
	h := hmac.New(sha256.New, s.key)
	h.Write(previous[:])
	h.Write(body)
	h.Sum(sum[:0])
	return sum
}

func (s *Signer) wrote(body []byte, previous, sum mac) bool {
	want := s.sum(body, previous)
	return hmac.Equal(want[:], sum[:])
}

// The mac is the last member of a line, so that a program that does not know it can read the others.
const (
	macBegins = `,"mac":"`
	macEnds   = `"}`
	macLen    = len(macBegins) + 2*sha256.Size + len(macEnds)
)

// line encodes an entry with its mac as a line.
func (s *Signer) line(e Entry, previous mac) (line []byte, sum mac, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, sum, fmt.Errorf("encode an entry of the journal: %w", err)
	}
	sum = s.sum(body, previous)
	line = append(body[:len(body)-1], macBegins...)
	line = hex.AppendEncode(line, sum[:])
	return append(line, macEnds+"\n"...), sum, nil
}

// splitLine splits a line into its entry and its mac, if it has one.
func splitLine(line []byte) (body []byte, sum mac, signed bool) {
	cut := len(line) - macLen
	if cut <= 0 {
		return line, sum, false
	}
	text, begins := bytes.CutPrefix(line[cut:], []byte(macBegins))
	text, ends := bytes.CutSuffix(text, []byte(macEnds))
	if !begins || !ends {
		return line, sum, false
	}
	if _, err := hex.Decode(sum[:], text); err != nil {
		return line, mac{}, false
	}
	return append(bytes.Clone(line[:cut]), '}'), sum, true
}

// lastMAC returns the mac of the last authenticated line.
func lastMAC(data []byte) mac {
	lines := bytes.Split(data, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if _, sum, signed := splitLine(lines[i]); signed {
			return sum
		}
	}
	return mac{}
}

// same reports whether two entries are equal.
func same(a, b Entry) bool {
	one, err := json.Marshal(a)
	other, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && bytes.Equal(one, other)
}

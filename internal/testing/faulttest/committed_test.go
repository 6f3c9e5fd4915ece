package faulttest

import (
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNothingSecretIsCommitted holds the part of T48 that needs no tool: no key that could be one of ours and no private
// key lies among the sources, and the toolchain is pinned to a patch release. Known vulnerabilities are looked for by
// hand (docs/testing.md).
func TestNothingSecretIsCommitted(t *testing.T) {
	t.Parallel()
	apiKeys, privateKeys := regexp.MustCompile(`kpsk_[0-9A-Za-z]{36}`), regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{20}`)
	files := 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, key := range apiKeys.FindAllString(string(text), -1) {
			madeUp := strings.Contains(key, "000000000000") // no generator makes that; tests need a key that is never issued
			if checksum(key[:35]) == key[35:] && !madeUp {
				t.Errorf("%s holds an API key with a right checksum", path)
			}
		}
		if privateKeys.Match(text) {
			t.Errorf("%s holds a private key", path)
		}
		for _, name := range []string{"first-start.json", "master.key", "main.db", "keys.db"} {
			if entry.Name() == name {
				t.Errorf("%s is a file of a data folder", path)
			}
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Errorf("%d files were searched: %v", files, err)
	}
	module, err := os.ReadFile("../../../go.mod")
	if err != nil || !regexp.MustCompile(`(?m)^(go|toolchain go) ?\d+\.\d+\.\d+$`).Match(module) {
		t.Errorf("go.mod does not pin a patch release of Go: %v", err)
	}
	if strings.Contains(string(module), "replace ") {
		t.Error("go.mod replaces a module")
	}
}

// checksum is the tail of an API key: CRC-32 in six characters of base62.
func checksum(text string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	n := crc32.ChecksumIEEE([]byte(text))
	var tail [6]byte
	for i := len(tail) - 1; i >= 0; i-- {
		tail[i] = digits[n%62]
		n /= 62
	}
	return string(tail[:])
}

// Package secretfile reads passwords and other secrets from files.
//
// Editors and shells add to a file what is no part of the secret: a byte order mark, and an end of the last line. Both are
// removed. All other characters belong to the secret, also blanks at its ends.
package secretfile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// Read returns the secret in a file.
func Read(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text, err := Text(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

// ReadToken returns a secret that contains no white space, such as an API key. White space around it is removed.
func ReadToken(path string) (string, error) {
	text, err := Read(path)
	return strings.TrimSpace(text), err
}

const mark = "\ufeff" // byte order mark

// Text returns the secret in the content of a file.
func Text(data []byte) (string, error) {
	if !utf8.Valid(data) {
		return "", notText(data)
	}
	text := strings.TrimPrefix(string(data), mark)
	if line, ok := strings.CutSuffix(text, "\n"); ok {
		return strings.TrimSuffix(line, "\r"), nil
	}
	return text, nil
}

// notText says what data that is not UTF-8 looks like. It never quotes it.
func notText(data []byte) error {
	if len(data) >= 2 && (data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe && data[1] == 0xff) {
		return errors.New("the file looks like UTF-16; save it as UTF-8")
	}
	return errors.New("the file is not UTF-8 text; save it as UTF-8")
}

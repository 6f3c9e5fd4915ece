package secretfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"keepsake/internal/base/secretfile"
)

func TestMarkAndOneLineEndAreRemoved(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"secret": "secret", "secret\n": "secret", "secret\r\n": "secret", "\ufeffsecret": "secret", "\ufeffsecret\r\n": "secret",
		"secret\n\n": "secret\n", "secret\r\n\r\n": "secret\r\n", " secret \n": " secret ", "secret\r": "secret\r", "\ufeff\ufeffs": "\ufeffs",
		"se\ufeffcret\ufeff\n": "se\ufeffcret\ufeff", "": "", "\n": "", "\ufeff": "", "\ufeff\n": "",
	} {
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := secretfile.Read(path); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", data, got, err, want)
		}
		if got, err := secretfile.ReadToken(path); got != strings.TrimSpace(want) || err != nil {
			t.Errorf("%q as a token: got %q, %v", data, got, err)
		}
	}
}

func TestOtherEncodingsAreNamed(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"\xff\xfes\x00e\x00\xe9\x00": "UTF-16", "\xfe\xff\x00s\x00\xe9": "UTF-16", "s\xe9cret": "not UTF-8",
	} {
		_, err := secretfile.Text([]byte(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", data, err, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("\ufeffsecret\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip()
		}
		if strings.HasPrefix(text, "\ufeff") || strings.HasSuffix(text, "\n") {
			return
		}
		for _, data := range []string{text, text + "\n", "\ufeff" + text, "\ufeff" + text + "\n"} {
			if got, err := secretfile.Text([]byte(data)); got != text || err != nil {
				t.Errorf("%q: got %q, %v, want %q", data, got, err, text)
			}
		}
	})
}

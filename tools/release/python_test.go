package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheWheelRecordsItsFiles(t *testing.T) {
	t.Parallel()
	r, _ := packed(t, nil)
	if err := r.python(); err != nil {
		t.Fatal(err)
	}
	wheel, err := zip.OpenReader(filepath.Join(r.out, "keepsake-0.1.0-py3-none-any.whl"))
	if err != nil {
		t.Fatal(err)
	}
	defer wheel.Close()
	contents, want := map[string]string{}, ""
	for _, f := range wheel.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		contents[f.Name] = string(data)
		if sum := sha256.Sum256(data); !strings.HasSuffix(f.Name, "/RECORD") {
			want += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		}
	}
	const info = "keepsake-0.1.0.dist-info/"
	if got := contents[info+"RECORD"]; got != want+info+"RECORD,,\n" {
		t.Errorf("RECORD is\n%s\nand the files are\n%s", got, want)
	}
	for name, part := range map[string]string{
		"keepsake/py.typed": "", "keepsake/_version.py": `VERSION = "0.1.0"`, "keepsake/models.py": "class Document(",
		info + "METADATA": "\nVersion: 0.1.0\n", info + "licenses/LICENSE": "Apache License",
	} {
		if text, ok := contents[name]; !ok || !strings.Contains(text, part) {
			t.Errorf("%s does not contain %q: %.200q", name, part, text)
		}
	}
}

func TestVersionsAreWrittenAsPythonDoes(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"0.1.0": "0.1.0", "1.20.3-rc.1": "1.20.3rc1", "0.1.0-beta2": "0.1.0b2", "0.1.0-alpha": "0.1.0a0", "0.1.0-try-2": "0.1.0.dev0+try.2",
	} {
		if got := pythonVersion(version); got != want {
			t.Errorf("pythonVersion(%q) = %q, want %q", version, got, want)
		}
	}
}

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/blakesmith/ar"
	"github.com/cavaliergopher/cpio"
)

// TestThePackagesHaveTheSameFiles unpacks the three packages: each has the files, modes and contents of the others.
func TestThePackagesHaveTheSameFiles(t *testing.T) {
	t.Parallel()
	r, p := packed(t, []byte("program"))
	if err := r.packages(p); err != nil {
		t.Fatal(err)
	}
	deb, rpm, apk := debFiles(t, r.name(p.platform, ".deb")), rpmFiles(t, r.name(p.platform, ".rpm")), apkFiles(t, r.name(p.platform, ".apk"))
	if deb["usr/bin/keepsake"] != "755 root program" {
		t.Error("the package does not contain the program")
	}
	if unit := deb["usr/lib/systemd/system/keepsake.service"]; !strings.Contains(unit, "\nExecStart=/usr/bin/keepsake serve ") {
		t.Errorf("the unit is\n%s", unit)
	}
	for name, text := range map[string]string{
		"usr/share/man/man1/keepsake.1":                     "man/keepsake.1",
		"usr/share/man/man1/keepsake-serve.1":               "man/keepsake-serve.1",
		"usr/share/bash-completion/completions/keepsake":    "completions/keepsake.bash",
		"usr/share/fish/vendor_completions.d/keepsake.fish": "completions/keepsake.fish",
		"usr/share/zsh/vendor-completions/_keepsake":        "completions/_keepsake",
	} {
		if deb[name] != "644 root "+text {
			t.Errorf("%s is %q", name, deb[name])
		}
	}
	// Only Debian's zsh has a folder of its own for packages.
	const folder, ofDebian = "usr/share/zsh/site-functions/_keepsake", "usr/share/zsh/vendor-completions/_keepsake"
	deb[folder] = deb[ofDebian]
	delete(deb, ofDebian)
	for kind, got := range map[string]map[string]string{"rpm": rpm, "apk": apk} {
		if !maps.Equal(got, deb) {
			t.Errorf("the files of deb and %s differ: %s; %s", kind, sizes(deb), sizes(got))
		}
	}
}

// sizes lists files and the lengths of their texts.
func sizes(files map[string]string) string {
	lengths := map[string]int{}
	for name, text := range files {
		lengths[name] = len(text)
	}
	return fmt.Sprint(lengths)
}

// The files of a package are by path, each with its mode, its owner and its content.

func debFiles(t *testing.T, name string) map[string]string {
	t.Helper()
	for members := ar.NewReader(bytes.NewReader(readFile(t, name))); ; {
		h, err := members.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.HasPrefix(h.Name, "data.tar.gz") {
			return tarFiles(t, members)
		}
	}
}

func apkFiles(t *testing.T, name string) map[string]string {
	t.Helper()
	files := tarFiles(t, bytes.NewReader(readFile(t, name)))
	delete(files, ".PKGINFO")
	return files
}

func tarFiles(t *testing.T, in io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	for entries := tar.NewReader(z); ; {
		h, err := entries.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			files[path.Clean(h.Name)] = entry(t, h.Mode, h.Uname, entries)
		}
	}
}

func rpmFiles(t *testing.T, name string) map[string]string {
	t.Helper()
	in := bytes.NewReader(readFile(t, name))
	// A lead of 96 bytes, the header with the signature, which is padded to 8 bytes, and the header of the package.
	at := int64(96)
	for range 2 {
		at = (at + 7) / 8 * 8
		var head struct{ Magic, Reserved, Entries, Size uint32 }
		if err := binary.Read(io.NewSectionReader(in, at, 16), binary.BigEndian, &head); err != nil || head.Magic != 0x8eade801 {
			t.Fatalf("%s: %x at %d is no header: %v", name, head.Magic, at, err)
		}
		at += 16 + 16*int64(head.Entries) + int64(head.Size)
	}
	z, err := gzip.NewReader(io.NewSectionReader(in, at, in.Size()-at))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for entries := cpio.NewReader(z); ; {
		h, err := entries.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Mode.IsRegular() {
			files[strings.TrimPrefix(path.Clean(h.Name), "/")] = entry(t, int64(h.Mode.Perm()), "root", entries) // the owner is in the header
		}
	}
}

func entry(t *testing.T, mode int64, owner string, content io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%o %s %s", mode&0o777, owner, text)
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Formula writes a Homebrew formula for a release from its checksums.txt.
//
//	go run ./deploy/formula -from https://downloads.example.org/keepsake/0.1.0 -version 0.1.0 dist/checksums.txt > keepsake.rb
//
// The formula installs the archive keepsake_VERSION_OS_ARCH.tar.gz of the system, its manual pages and its completions.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
)

func main() {
	from := flag.String("from", "", "`address` of the folder with the archives")
	version := flag.String("version", "", "`version` of the release, without v")
	homepage := flag.String("homepage", "", "`address` of the project; without it, the formula names -from")
	flag.Parse()
	text, err := run(*from, *version, *homepage, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "formula:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

func run(from, version, homepage string, args []string) (string, error) {
	if len(args) != 1 {
		return "", errors.New("usage: formula -from ADDRESS -version VERSION CHECKSUMS")
	}
	checksums, err := os.ReadFile(args[0])
	if err != nil {
		return "", err
	}
	return formula(from, version, homepage, string(checksums))
}

var (
	versionForm  = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	checksumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// formula returns the formula of a version whose archives are below the address from.
func formula(from, version, homepage, checksums string) (string, error) {
	if !versionForm.MatchString(version) {
		return "", fmt.Errorf("-version %q is not a version such as 0.1.0", version)
	}
	if homepage == "" {
		homepage = from
	}
	for name, address := range map[string]string{"-from": from, "-homepage": homepage} {
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" || strings.ContainsAny(address, "\"#\\") {
			return "", fmt.Errorf("%s %q is not an address that begins with https://", name, address)
		}
	}
	sums := map[string]string{}
	for line := range strings.Lines(checksums) {
		if words := strings.Fields(line); len(words) == 2 {
			sums[strings.TrimPrefix(words[1], "*")] = words[0]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `class Keepsake < Formula
  desc "Governed search and memory behind an API, in one binary"
  homepage "%s"
  version "%s"
  license "Apache-2.0"
`, homepage, version)
	for _, system := range []struct{ block, os string }{{"on_macos", "darwin"}, {"on_linux", "linux"}} {
		fmt.Fprintf(&b, "\n  %s do\n", system.block)
		for _, processor := range []struct{ block, arch string }{{"on_arm", "arm64"}, {"on_intel", "amd64"}} {
			name := fmt.Sprintf("keepsake_%s_%s_%s.tar.gz", version, system.os, processor.arch)
			sum, ok := sums[name]
			if !ok {
				return "", fmt.Errorf("the checksums do not list %s", name)
			}
			if !checksumForm.MatchString(sum) {
				return "", fmt.Errorf("the checksum of %s is not SHA-256 in hexadecimal digits", name)
			}
			fmt.Fprintf(&b, "    %s do\n      url \"%s/%s\"\n      sha256 \"%s\"\n    end\n", processor.block, strings.TrimSuffix(from, "/"), name, sum)
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "keepsake"
    system bin/"keepsake", "man", "--out", man1
    generate_completions_from_executable(bin/"keepsake", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/keepsake version")
  end
end
`)
	return b.String(), nil
}

// Release builds everything that a release offers: archives, packages for Linux, an image for containers, bills of materials,
// the Python client, checksums and their signature. The same commit gives the same bytes. Run it from the root of the checkout as `make release`.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// platform is what a program is built for, in Go's words.
type platform struct{ os, arch string }

var platforms = []platform{
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// release is one version, and where its files go.
type release struct {
	version string    // without v
	at      time.Time // of the commit; every file of the release has it
	root    string    // of the checkout
	out     string
	host    string // path of the program for this machine
	help    string // folder with the folders man and completions, and with contactTexts
	contact string // to whom vulnerabilities are reported; can be empty
}

func main() {
	if err := run(os.Args[1:], "."); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run runs the program with arguments, in the checkout that contains dir.
func run(args []string, dir string) error {
	set := flag.NewFlagSet("release", flag.ContinueOnError)
	set.SetOutput(io.Discard) // the error says what is wrong
	version := set.String("version", "", "`version` such as 0.1.0; without it, the tag of the commit")
	out := set.String("out", "dist", "`folder` to create")
	key := set.String("sign-key", "", "`file` with the secret key of minisign; MINISIGN_PASSWORD is its password")
	contact := set.String("security-contact", "", "`address` for reports of vulnerabilities: of e-mail, or of https")
	only := set.String("platforms", "", "`list` such as linux/amd64; without it, all")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", set.Arg(0))
	}
	if err := checkContact(*contact); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(*out); err == nil {
		return fmt.Errorf("%s already exists; remove it, or choose another folder with OUT=FOLDER", *out)
	}
	r := release{contact: *contact}
	if r.root, err = command(dir, nil, "git", "rev-parse", "--show-toplevel"); err != nil {
		return errors.New("a release is built from a checkout of Git, and this folder is in none that Git can read")
	}
	if r.version, err = versionOf(r.root, *version); err != nil {
		return err
	}
	if err := r.readCommit(); err != nil {
		return err
	}
	sign, err := signer(*key, os.Getenv("MINISIGN_PASSWORD"))
	if err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(*out))
	temp, err := os.MkdirTemp(parent, ".release-")
	if err == nil {
		temp, err = filepath.Abs(temp)
	}
	if err != nil {
		return fmt.Errorf("the folder %s cannot be written; choose another one with OUT=FOLDER", parent)
	}
	defer os.RemoveAll(temp)
	r.out = filepath.Join(temp, "dist")
	if err := os.Mkdir(r.out, 0o755); err != nil {
		return err
	}
	if err := r.make(chosen, filepath.Join(temp, "work"), sign); err != nil {
		return err
	}
	if err := os.Rename(r.out, *out); err != nil {
		return err
	}
	return list(*out, sign != nil, r.contact != "")
}

// make writes all files of the release into r.out.
func (r *release) make(chosen []platform, work string, sign func([]byte) []byte) error {
	if err := r.writeHelp(filepath.Join(work, "help")); err != nil {
		return fmt.Errorf("manual pages and completions: %w", err)
	}
	if err := r.writeContact(); err != nil {
		return err
	}
	if err := r.typescript(filepath.Join(work, "typescript")); err != nil {
		return fmt.Errorf("TypeScript client: %w", err)
	}
	var images []program
	for _, p := range chosen {
		built, err := r.build(p, filepath.Join(work, p.os+"_"+p.arch))
		if err != nil {
			return err
		}
		if err := r.pack(built); err != nil {
			return fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
		if p.os == "linux" {
			images = append(images, built)
		} else if err := os.RemoveAll(filepath.Dir(built.binary)); err != nil { // its 50 MB are in the archive
			return err
		}
	}
	if len(images) > 0 {
		if err := r.image(images, filepath.Join(work, "image")); err != nil {
			return fmt.Errorf("image: %w", err)
		}
	}
	if err := r.python(); err != nil {
		return fmt.Errorf("Python client: %w", err)
	}
	if err := r.checksums(sign); err != nil {
		return err
	}
	if err := r.witness(); err != nil {
		return fmt.Errorf("witness: %w", err)
	}
	return nil
}

// pack writes the archive, the bill of materials and the packages of a program.
func (r *release) pack(p program) error {
	if err := r.archive(p); err != nil {
		return err
	}
	if err := r.bill(p); err != nil {
		return err
	}
	if p.os != "linux" {
		return nil
	}
	return r.packages(p)
}

func choose(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var chosen []platform
	for _, p := range platforms {
		for name := range strings.SplitSeq(list, ",") {
			if name == p.os+"/"+p.arch {
				chosen = append(chosen, p)
			}
		}
	}
	if len(chosen) != strings.Count(list, ",")+1 {
		return nil, fmt.Errorf("-platforms %q is not a list of platforms such as linux/amd64,darwin/arm64", list)
	}
	return chosen, nil
}

// versionOf returns the asked version, or that of the commit's tag. The tree must have no changes.
func versionOf(root, asked string) (string, error) {
	if asked == "" {
		tag, err := command(root, nil, "git", "describe", "--tags", "--exact-match", "--match", "v*")
		if err != nil {
			return "", errors.New("this commit has no tag such as v0.1.0; create one, or give VERSION=0.1.0")
		}
		asked = tag
	}
	version := strings.TrimPrefix(asked, "v")
	if v := "v" + version; !semver.IsValid(v) || strings.Count(strings.SplitN(v, "-", 2)[0], ".") != 2 || semver.Build(v) != "" {
		return "", fmt.Errorf("%q is not a version such as 0.1.0 or 0.1.0-rc.1", asked)
	}
	changed, err := command(root, nil, "git", "status", "--porcelain")
	if err != nil {
		return "", err
	}
	if changed != "" {
		return "", errors.New("the checkout has changes that are not committed; commit or remove them, so that the release can be built again")
	}
	return version, nil
}

func (r *release) readCommit() error {
	text, err := command(r.root, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	r.at = time.Unix(seconds, 0).UTC()
	return err
}

func command(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, problem.String())
	}
	return strings.TrimSpace(string(out)), nil
}

func list(out string, signed, contact bool) error {
	files, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, f := range files {
		fmt.Println(filepath.Join(out, f.Name()))
	}
	if found, _ := filepath.Glob(filepath.Join(out, "keepsake-client-*.tgz")); len(found) == 0 {
		fmt.Fprintln(os.Stderr, "release: the TypeScript client is missing; install Node with npm, which compile it, and build the release again")
	}
	if !signed {
		fmt.Fprintln(os.Stderr, "release: checksums.txt is not signed; give SIGN_KEY=FILE, the secret key of minisign, to sign it")
	}
	if !contact {
		fmt.Fprintln(os.Stderr, "release: SECURITY.md names no address for reports of vulnerabilities; give SECURITY_CONTACT=ADDRESS")
	}
	return nil
}

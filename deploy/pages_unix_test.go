//go:build unix

package deploy_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// pagesThatRun is how many blocks of each page run, at least. A block is left out if its first line says what it needs, as in
// "```sh needs root". Raise the number when you add a block; lower it only when you remove one.
var pagesThatRun = map[string]int{
	"README.md":            3,
	"docs/agents.md":       2,
	"docs/analytics.md":    1,
	"docs/api.md":          19,
	"docs/backups.md":      2,
	"docs/browser.md":      4,
	"docs/concepts.md":     1,
	"docs/forward-auth.md": 2,
	"docs/import.md":       7,
	"docs/memory.md":       12,
	"docs/metrics.md":      2,
	"docs/recipes.md":      4,
	"docs/roles.md":        7,
	"docs/search.md":       2,
	"docs/settings.md":     3,
	"docs/tenants.md":      5,
	"docs/tutorial.md":     9,
	"docs/versioning.md":   2,
	"docs/webhooks.md":     3,
}

// TestCommandsOfThePagesRun pastes the commands of each page into a shell, in their order, beside an instance of their own.
func TestCommandsOfThePagesRun(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts the program for each page")
	for page := range pagesThatRun {
		if page == "docs/tutorial.md" {
			continue // TestTutorialBuildsWhatItSays runs it
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			runPage(t, page, "")
		})
	}
}

// TestCommandsOfThePagesAreMarked counts the blocks that run, and wants every page with commands in the table.
func TestCommandsOfThePagesAreMarked(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(pages, "../README.md") {
		page := strings.TrimPrefix(path, "../")
		run, left := 0, 0
		for _, b := range commandsOf(t, path) {
			if b.reason == "" || b.starts() {
				run++
			} else {
				left++
			}
		}
		if want := pagesThatRun[page]; run < want {
			t.Errorf("%s has %d blocks that run, want %d", page, run, want)
		} else if run > want {
			t.Errorf("%s has %d blocks that run: say so in pagesThatRun", page, run)
		}
		if run+left > 0 {
			t.Logf("%s: %d blocks run, %d do not", page, run, left)
		}
	}
}

// commandsOf returns the blocks of commands of a page.
func commandsOf(t *testing.T, path string) []block {
	t.Helper()
	return slices.DeleteFunc(blocksOf(t, path), func(b block) bool {
		if b.language == "shell" || b.language == "bash" {
			t.Errorf("%s has a block of %s: call it sh", path, b.language)
		}
		return b.language != "sh"
	})
}

// starts reports whether the last line of the block starts the instance of its page.
func (b block) starts() bool {
	return strings.HasSuffix(b.reason, "a terminal of its own") && strings.Contains(b.lastLine(), "keepsake serve")
}

func (b block) lastLine() string {
	text := strings.TrimSuffix(b.text, "\n")
	return text[strings.LastIndex(text, "\n")+1:]
}

// pageRun is what the commands of a page leave.
type pageRun struct {
	t       *testing.T
	dir     string // where they ran
	output  string
	process *programtest.Process
	address map[string]string // by port of the page
}

// unprivileged is the user of the shell if root runs the tests.
const unprivileged = 65534

// runPage starts an instance, with the settings that the page starts one with, and runs the page's commands and then a
// command of the test in one shell. The shell must not change the machine: it never belongs to root, and it has a home of
// its own.
func runPage(t *testing.T, page, last string) *pageRun {
	t.Helper()
	apptest.OnSQLite(t, "the pages show its folder")
	for _, name := range []string{"bash", "curl", "sed", "tee", "python3", "sqlite3"} {
		if _, err := exec.LookPath(name); err != nil {
			testtier.Missing(t, name)
		}
	}
	r := &pageRun{t: t, dir: home(t), address: map[string]string{}}
	blocks := commandsOf(t, "../"+page)
	r.start(blocks)
	r.save(page)
	var script strings.Builder
	for i, b := range blocks {
		if b.reason == "" {
			r.check(page, i+1, b)
			fmt.Fprintf(&script, "printf '\\n@block %d\\n'\n%s\n", i+1, r.fill(b.text))
		}
	}
	out, err := r.shell(script.String() + "\n" + last).CombinedOutput()
	r.output = string(out)
	before, after, failed := strings.Cut(r.output, "@failed ")
	if err != nil || failed {
		number := outputOf.FindAllString(before, -1)
		command, _, _ := strings.Cut(after, "\n")
		t.Fatalf("%s, %s: %v: a command failed: %s\nall output:\n%s", page, number[len(number)-1], err, command, out)
	}
	r.checkErrors(page, blocks)
	r.process.MustLive()
	return r
}

// home returns a folder that belongs to the user of the shell.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "keepsake-page-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(programtest.Binary(t), filepath.Join(dir, "bin", "keepsake")); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, unprivileged, unprivileged); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// start starts the instance of a page in the folder of its shell, as `keepsake serve` does there.
func (r *pageRun) start(blocks []block) {
	r.t.Helper()
	options := []programtest.Option{programtest.Listen(r.free("8080"), r.free("8081"))}
	if os.Getuid() == 0 {
		options = append(options, programtest.As(unprivileged))
	}
	if i := slices.IndexFunc(blocks, block.starts); i >= 0 {
		line := r.local(blocks[i].lastLine())
		if strings.ContainsAny(line, `'"$\;&|`) {
			r.t.Fatalf("want `keepsake serve` with simple settings: %s", line)
		}
		words := strings.Fields(line)
		serve := slices.Index(words, "serve")
		options = append(options, programtest.Env(words[:serve-1]...), programtest.Flags(words[serve+1:]...))
	}
	r.process = programtest.Start(r.t, filepath.Join(r.dir, "keepsake-data"), options...)
}

// save writes the files that the page says to save.
func (r *pageRun) save(page string) {
	r.t.Helper()
	for _, m := range regexp.MustCompile("(?s)Save this as `([\\w.-]+)`:\n\n```(\\w+)\n(.*?\n)```\n").FindAllStringSubmatch(read(r.t, "../"+page), -1) {
		if err := os.WriteFile(filepath.Join(r.dir, m[1]), []byte(r.local(m[3])), 0o666); err != nil {
			r.t.Fatal(err)
		}
		if os.Getuid() == 0 {
			if err := os.Chown(filepath.Join(r.dir, m[1]), unprivileged, unprivileged); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// free returns a free address for a port of the page.
func (r *pageRun) free(port string) string {
	if r.address[port] == "" {
		r.address[port] = enginetest.FreeAddress(r.t)
	}
	return r.address[port]
}

var localAddress = regexp.MustCompile(`\b(?:localhost|127\.0\.0\.1):(\d{4})\b`)

// local replaces each address of this machine by a free one.
func (r *pageRun) local(text string) string {
	return localAddress.ReplaceAllStringFunc(text, func(address string) string {
		return r.free(localAddress.FindStringSubmatch(address)[1])
	})
}

var given = regexp.MustCompile(`(?m)^export (KEEPSAKE_KEY|KEEPSAKE_PASSWORD|KEEPSAKE_DATA)=.*$`)

// fill puts the instance of the test into a block: its addresses, and where the page says to set them, its key, the password
// of its user and its folder.
func (r *pageRun) fill(text string) string {
	return given.ReplaceAllStringFunc(r.local(text), func(line string) string {
		name := given.FindStringSubmatch(line)[1]
		value := map[string]string{"KEEPSAKE_KEY": r.process.Key, "KEEPSAKE_PASSWORD": r.process.Password, "KEEPSAKE_DATA": r.process.Dir}[name]
		return "export " + name + "='" + value + "'"
	})
}

// notHere is what changes a machine, or needs another one.
var notHere = regexp.MustCompile(`\b(?:sudo|su|systemctl|docker|kubectl|helm|apt-get|ssh|rsync|git)\b|(?:^|[\s=>"'(])/(?:etc|var|usr|opt|root|home|tmp|dev/s)\b`)

// check refuses a block that must not run here.
func (r *pageRun) check(page string, i int, b block) {
	r.t.Helper()
	if found := notHere.FindString(given.ReplaceAllString(b.text, "")); found != "" {
		r.t.Fatalf("%s, block %d: %q does not run here: mark the block with what it needs, as in \"```sh needs root\"\n%s", page, i, found, b.text)
	}
}

// prelude stops at the first command that fails and names it, also in a pipe, a function or a substitution.
const prelude = `set -eEuo pipefail
trap 'echo "@failed $BASH_COMMAND" >&2' ERR
trap 'jobs=$(jobs -p); [ -z "$jobs" ] || kill $jobs' EXIT
`

// shell returns a run of commands, which ends with the jobs that it started, and after two minutes at the latest.
func (r *pageRun) shell(script string, env ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	r.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash", "-c", prelude+script)
	cmd.Dir = r.dir
	cmd.Env = append([]string{"HOME=" + r.dir, "PATH=" + r.dir + "/bin:" + os.Getenv("PATH")}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: unprivileged, Gid: unprivileged}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // what a command leaves behind keeps its output open
	return cmd
}

var (
	outputOf  = regexp.MustCompile(`(?m)^@block (\d+)$`)
	errorCode = regexp.MustCompile(`"error":\s*"(\w+)"`)
	promised  = regexp.MustCompile(`# [45]\d\d (?:\{"error":")?(\w+)`)
)

// checkErrors wants that the API answers with an error where a comment promises its code, and nowhere else, and
// that each question finds something.
func (r *pageRun) checkErrors(page string, blocks []block) {
	r.t.Helper()
	at := outputOf.FindAllStringSubmatchIndex(r.output, -1)
	for n, m := range at {
		end := len(r.output)
		if n+1 < len(at) {
			end = at[n+1][0]
		}
		var i int
		if _, err := fmt.Sscan(r.output[m[2]:m[3]], &i); err != nil {
			r.t.Fatal(err)
		}
		text, output := blocks[i-1].text, r.output[m[1]:end]
		for _, code := range errorCode.FindAllStringSubmatch(output, -1) {
			if !strings.Contains(text, code[1]) {
				r.t.Errorf("%s, block %d: the API answers %s\n%s\noutput:%s", page, i, code[1], text, output)
			}
		}
		if strings.Contains(output, `"results":[]`) && !strings.Contains(text, `"total":0`) {
			r.t.Errorf("%s, block %d: a question finds nothing\n%s\noutput:%s", page, i, text, output)
		}
		for _, code := range promised.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(output, `"error":"`+code[1]) {
				r.t.Errorf("%s, block %d: the API does not answer %s\n%s\noutput:%s", page, i, code[1], text, output)
			}
		}
	}
}

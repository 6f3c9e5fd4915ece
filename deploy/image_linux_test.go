package deploy_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// imageUser runs the program in the image and owns its data.
const imageUser = 65532

// TestTheImageRuns does what the image does: the Dockerfile's own build command, and then what runsInTheImage does.
func TestTheImageRuns(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "builds the program as the image does")
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 go build .*) -o /out/keepsake (\./cmd/keepsake)$`).FindStringSubmatch(read(t, "Dockerfile"))
	if build == nil {
		t.Fatal("the Dockerfile has no build command")
	}
	binary := filepath.Join(t.TempDir(), "keepsake")
	built := exec.Command("sh", "-c", build[1]+" -o "+binary+" "+build[2])
	built.Dir, built.Env = "..", append(os.Environ(), "VERSION=0.1.0") // as with --build-arg
	if out, err := built.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build[0], err, out)
	}
	if said, err := exec.Command(binary, "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(said), "keepsake 0.1.0 (") {
		t.Errorf("keepsake version: %v %s", err, said)
	}
	runsInTheImage(t, binary)
}

// TestTheProgramRunsInTheImage is TestTheImageRuns with the program that other tests start.
func TestTheProgramRunsInTheImage(t *testing.T) {
	t.Parallel()
	runsInTheImage(t, programtest.Binary(t))
}

// runsInTheImage runs the program as the Dockerfile says.
func runsInTheImage(t *testing.T, binary string) {
	t.Helper()
	dockerfile := read(t, "Dockerfile")
	if !strings.Contains(dockerfile, "\nUSER 65532:65532\n") {
		t.Error("the image does not run as the user that owns /data")
	}
	healthy := regexp.MustCompile(`(?m)^HEALTHCHECK .* CMD \["(/keepsake)", "(\w+)"\]$`).FindStringSubmatch(dockerfile)
	if healthy == nil {
		t.Fatal("the Dockerfile has no health check")
	}
	container{
		root: imageRoot(t, binary), env: []string{"KEEPSAKE_DATA=/data"}, command: []string{"/keepsake", "serve"}, health: healthy[1:],
	}.run(t)
}

// container is what a container engine makes of an image.
type container struct {
	root    string // a folder with what the image contains
	env     []string
	command []string
	health  []string // the command that checks the health
}

// run starts the program alone in a folder that cannot be written but for its data, without a shell, as the image's user.
func (c container) run(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		testtier.Missing(t, "root, to change the root folder and the user as a container engine does")
	}
	file, err := elf.Open(filepath.Join(c.root, c.command[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the binary is not static: it asks for a loader, which the image does not have")
	}
	// The image's folders can be entered by its user; the test's can not.
	for dir := c.root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	address := enginetest.FreeAddress(t)
	inside := func(command []string) *exec.Cmd {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir, cmd.Env = "/", append(slices.Clone(c.env), "KEEPSAKE_LISTEN="+address, "KEEPSAKE_BACKEND_LISTEN=127.0.0.1:0")
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
		return cmd
	}
	var printed programtest.Output
	serve := inside(c.command)
	serve.Stdout, serve.Stderr = &printed, &printed
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	var result error
	ended := make(chan struct{})
	go func() { result = serve.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = serve.Process.Kill() // it can have ended
		<-ended
		if t.Failed() {
			t.Logf("the server printed:\n%s", printed.String())
		}
	})
	await.Until(t, "the health check of the image succeeds", func() bool { return inside(c.health).Run() == nil })
	firstAnswer(t, "http://"+address, programtest.FirstKey(filepath.Join(c.root, "data")))
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "SIGTERM stops the server", ended)
	if result != nil {
		t.Errorf("SIGTERM ended the server with %v", result)
	}
}

// imageRoot makes a root folder like the image's.
func imageRoot(t *testing.T, binary string) string {
	t.Helper()
	root := t.TempDir()
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "keepsake"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(root, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(data, imageUser, imageUser); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

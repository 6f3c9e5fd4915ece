// Package deploy_test tries the files of this folder as far as that goes without a container engine.
package deploy_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knadh/koanf/parsers/yaml"

	"keepsake/internal/config"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestComposeFilesNameWhatExists reads the compose files: settings, secrets, volumes and networks that they use are there.
func TestComposeFilesNameWhatExists(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Env()] = true
		if s.Secret {
			known[s.Env()+"_FILE"] = true
		}
	}
	for _, file := range []string{"compose.yml", "compose.scale.yml"} {
		parsed, err := yaml.Parser().Unmarshal([]byte(read(t, file)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		declared := func(kind, name string) bool {
			all, _ := parsed[kind].(map[string]any)
			_, ok := all[name]
			return ok
		}
		services, _ := parsed["services"].(map[string]any)
		if len(services) == 0 {
			t.Fatalf("%s has no services", file)
		}
		for name, v := range services {
			service := v.(map[string]any)
			for variable := range asMap(service["environment"]) {
				if strings.HasPrefix(variable, "KEEPSAKE_") && !known[variable] {
					t.Errorf("%s: %s sets %s, which is no setting", file, name, variable)
				}
			}
			for _, secret := range asList(service["secrets"]) {
				if !declared("secrets", secret) {
					t.Errorf("%s: %s uses the secret %s, which is not declared", file, name, secret)
				}
			}
			for _, network := range asList(service["networks"]) {
				if !declared("networks", network) {
					t.Errorf("%s: %s uses the network %s, which is not declared", file, name, network)
				}
			}
			for _, volume := range asList(service["volumes"]) {
				from, _, _ := strings.Cut(volume, ":")
				if strings.HasPrefix(from, ".") {
					if _, err := os.Stat(from); err != nil {
						t.Errorf("%s: %s mounts %v", file, name, err)
					}
				} else if !declared("volumes", from) {
					t.Errorf("%s: %s uses the volume %s, which is not declared", file, name, from)
				}
			}
			if build := asMap(service["build"]); build != nil {
				if _, err := os.Stat(filepath.Join(build["context"].(string), build["dockerfile"].(string))); err != nil {
					t.Errorf("%s: %s is built from %v", file, name, err)
				}
			}
		}
	}
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asList(v any) (list []string) {
	all, _ := v.([]any)
	for _, one := range all {
		list = append(list, one.(string))
	}
	return list
}

// TestTheImageRuns does what the image does: the Dockerfile's own build command, then the program alone in a folder that
// cannot be written but for its data, without a shell, as the image's user.
func TestTheImageRuns(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Fatal("run as root: the test changes the root folder and the user, as a container engine does")
	}
	dockerfile := read(t, "Dockerfile")
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 go build .*) -o /out/keepsake (\./cmd/keepsake)$`).FindStringSubmatch(dockerfile)
	if build == nil {
		t.Fatal("the Dockerfile has no build command")
	}
	root := t.TempDir()
	binary := filepath.Join(root, "keepsake")
	// Without paths trimmed, so that what other tests have built is used again.
	command := strings.Replace(build[1], " -trimpath", "", 1)
	made := exec.Command("sh", "-c", command+" -o "+binary+" "+build[2])
	made.Dir = ".."
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build[0], err, out)
	}
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the binary is not static: it asks for a loader, which the image does not have")
	}

	const user = 65532
	if !strings.Contains(dockerfile, "\nUSER 65532:65532\n") {
		t.Error("the image does not run as the user that owns /data")
	}
	data := filepath.Join(root, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, user, user); err != nil {
		t.Fatal(err)
	}
	// The image's folders can be entered by its user; the test's can not.
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.Command("/keepsake", args...)
		cmd.Dir, cmd.Env = "/", []string{"KEEPSAKE_DATA=/data", "KEEPSAKE_LISTEN=127.0.0.1:0", "KEEPSAKE_BACKEND_LISTEN=127.0.0.1:0"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
		return cmd
	}
	var printed bytes.Buffer
	serve := inside("serve")
	serve.Stdout, serve.Stderr = &printed, &printed
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	healthy := regexp.MustCompile(`(?m)^HEALTHCHECK .* CMD \["/keepsake", "(\w+)"\]$`).FindStringSubmatch(dockerfile)
	if healthy == nil {
		t.Fatal("the Dockerfile has no health check")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := inside(healthy[1]).CombinedOutput()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			serve.Process.Kill()
			<-ended
			t.Fatalf("the health check does not become good: %v\n%s\nthe server printed:\n%s", err, out, printed.String())
		}
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("stopped with %v\n%s", err, printed.String())
		}
	case <-time.After(time.Minute):
		serve.Process.Kill()
		<-ended
		t.Error("SIGTERM did not stop it")
	}
}

// TestUnitsAreWellFormed has systemd read the units.
func TestUnitsAreWellFormed(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatal("systemd-analyze is missing: install the package systemd")
	}
	dir := t.TempDir()
	for _, unit := range []string{"keepsake.service", "keepsake.socket"} {
		text := strings.ReplaceAll(read(t, unit), "/usr/local/bin/keepsake", "/bin/true") // the program need not be installed
		if err := os.WriteFile(filepath.Join(dir, unit), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(analyze, "verify", filepath.Join(dir, "keepsake.service"), filepath.Join(dir, "keepsake.socket")).CombinedOutput()
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

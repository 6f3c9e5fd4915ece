// Package deploy_test tries the files of this folder as far as that goes without a container engine.
package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knadh/koanf/parsers/yaml"

	"keepsake/internal/app/config"
	"keepsake/internal/testing/testtier"
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

// TestMemoryAndProcessesAreBounded checks that a service cannot take the whole machine, and that its memory reaches no disk.
func TestMemoryAndProcessesAreBounded(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"compose.yml", "compose.scale.yml"} {
		parsed, err := yaml.Parser().Unmarshal([]byte(read(t, file)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, v := range asMap(parsed["services"]) {
			service := asMap(v)
			if service["mem_limit"] == nil || service["memswap_limit"] != service["mem_limit"] || service["pids_limit"] == nil {
				t.Errorf("%s: %s is not bounded", file, name)
			}
			if service["image"] == "keepsake" && asMap(service["ulimits"])["core"] != 0 {
				t.Errorf("%s: %s can write a core file", file, name)
			}
		}
	}
	unit := read(t, "keepsake.service")
	for _, line := range []string{"\nLimitCORE=0\n", "\nMemorySwapMax=0\n"} {
		if !strings.Contains(unit, line) {
			t.Errorf("keepsake.service lacks %q", line)
		}
	}
	if text := read(t, "forward-auth/traefik.yml"); strings.Count(text, "authResponseHeadersRegex: (?i)^x[-_](keepsake|ratelimit)[-_]") != strings.Count(text, "authResponseHeadersRegex") {
		t.Error("traefik.yml keeps headers such as X_Keepsake_Key_Id that a client sends")
	}
}

// TestProbesReachTheContainers checks that the probes' listener answers from outside each container, and that no compose file
// publishes it to other machines.
func TestProbesReachTheContainers(t *testing.T) {
	t.Parallel()
	const setting, port = "KEEPSAKE_BACKEND_LISTEN", "8081"
	dockerfile := read(t, "Dockerfile")
	for _, line := range []string{"\nENV " + setting + "=:" + port + "\n", "\nEXPOSE 8080 " + port + "\n"} {
		if !strings.Contains(dockerfile, line) {
			t.Errorf("the Dockerfile lacks %q", line)
		}
	}
	for _, file := range []string{"compose.yml", "compose.scale.yml"} {
		parsed, err := yaml.Parser().Unmarshal([]byte(read(t, file)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		instances := 0
		for name, v := range asMap(parsed["services"]) {
			service := asMap(v)
			if service["image"] != "keepsake" {
				continue
			}
			instances++
			if got := asMap(service["environment"])[setting]; got != ":"+port {
				t.Errorf("%s: %s listens for probes at %v", file, name, got)
			}
			for _, published := range asList(service["ports"]) {
				if strings.HasSuffix(published, ":"+port) && !strings.HasPrefix(published, "127.0.0.1:") {
					t.Errorf("%s: %s publishes the probes' port as %s", file, name, published)
				}
			}
		}
		if instances == 0 {
			t.Errorf("%s has no service with the image keepsake", file)
		}
	}
}

// TestTheImageHasTheLicenses checks that the image has the notices of the program that it runs.
func TestTheImageHasTheLicenses(t *testing.T) {
	t.Parallel()
	dockerfile := read(t, "Dockerfile")
	for _, line := range []string{
		"\nRUN CGO_ENABLED=0 go run ./deploy/notices /out/keepsake /out/NOTICES\n",
		"\nCOPY --from=build /out/NOTICES /usr/share/licenses/keepsake/NOTICES\n",
	} {
		if !strings.Contains(dockerfile, line) {
			t.Errorf("the Dockerfile lacks %q", line)
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

// TestUnitsAreWellFormed has systemd read the units.
func TestUnitsAreWellFormed(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "needs systemd, which only the long tier installs")
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		testtier.Missing(t, "systemd-analyze: install the package systemd")
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

package deploy_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"keepsake/internal/testing/testtier"
)

func TestTheHelmChartRenders(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "compiles Helm")
	testTool(t, "helm")
}

func TestTheReleaseToolPasses(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "compiles what writes packages and images")
	testTool(t, "release")
}

// testTool runs the tests of a folder of tools, which is a module of its own because its dependencies do not fit the product's.
func testTool(t *testing.T, name string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./...")
	cmd.Dir = filepath.Join("..", "tools", name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in tools/%s: %v\n%s", name, err, out)
	}
}

package deploy_test

import (
	"os/exec"
	"testing"

	"keepsake/internal/testing/testtier"
)

// TestTheHelmChartRenders runs the tests of tools/helm, a module of its own because Helm does not fit the product's.
func TestTheHelmChartRenders(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "compiles Helm")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./...")
	cmd.Dir = "../tools/helm"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in tools/helm: %v\n%s", err, out)
	}
}

package limit

import "testing"

// The test is not parallel, because AllocsPerRun counts what the whole process allocates.
func TestChargingAllocatesNothing(t *testing.T) {
	workspace, key := benchAccounts()
	for name, fn := range map[string]func(){
		"Charge": func() { Local{}.Charge(noon, 1, workspace, key) },
		"Refund": func() { _, r := Local{}.Charge(noon, 2, workspace, key); r.Refund() },
		"Peek":   func() { Local{}.Peek(noon, 1, workspace, key) },
	} {
		if n := testing.AllocsPerRun(100, fn); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

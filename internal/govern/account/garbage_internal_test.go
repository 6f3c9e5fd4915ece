package account

import "testing"

func TestGarbageIsCollectedInBatches(t *testing.T) {
	t.Parallel()
	var cycles uint64
	asked := 0
	g := garbage{max: 8, cycles: func() uint64 { return cycles }, collect: func() { asked++; cycles++ }}
	for range 64 {
		g.add()
	}
	if asked != 8 {
		t.Errorf("after 64 hashes %d collections were asked for, want one each 8", asked)
	}
	for i := range 64 {
		if i%7 == 0 { // the collector runs by itself
			cycles++
		}
		g.add()
	}
	if asked != 8 {
		t.Errorf("beside a collector that runs often enough %d more were asked for", asked-8)
	}
}

func TestCollectionsAreCounted(t *testing.T) {
	t.Parallel()
	before := collections()
	newHashSemaphore(1, PasswordCost{}).garbage.collect()
	if after := collections(); after <= before {
		t.Errorf("there were %d collections before one and %d after it", before, after)
	}
}

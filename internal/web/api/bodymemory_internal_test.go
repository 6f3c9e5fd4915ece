package api

import "testing"

func TestLargeBodiesShareMemory(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	r := newBodyMemory(160 * mib) // 10 MiB for bodies
	for _, step := range []struct {
		who  string
		size int64 // negative: given back
		want bool
	}{
		{"a", 4 * mib, true},
		{"a", 2 * mib, false}, // more than half for one of several
		{"a", 1 * mib, true},
		{"b", 5 * mib, true},
		{"c", 1, false}, // it is full
		{"b", -5 * mib, true},
		{"c", 1 * mib, true},
		{"a", -4 * mib, true},
		{"a", -1 * mib, true},
		{"c", -1 * mib, true},
		{"a", 64 * mib, true}, // alone, whatever its size
		{"b", 1, false},
		{"a", -64 * mib, true},
		{"b", 10 * mib, true},
	} {
		if step.size < 0 {
			r.give(step.who, -step.size)
			continue
		}
		if got := r.take(step.who, step.size); got != step.want {
			t.Errorf("%s takes %d: got %v, want %v", step.who, step.size, got, step.want)
		}
	}
	r.give("b", 10*mib)
	if r.total != 0 || len(r.by) != 0 {
		t.Errorf("all was given back, and there are %d bytes of %v", r.total, r.by)
	}
}

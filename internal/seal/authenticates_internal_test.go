package seal

import "testing"

func TestOlderInstancesAreRecognized(t *testing.T) {
	t.Parallel()
	b, err := newBox(MasterKey{1}, "I")
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]bool{secretSize: false, secretSize + 1: true} {
		check := make([]byte, size)
		if size > secretSize {
			check[secretSize] = authenticated
		}
		s := &Secrets{box: b, byName: map[string][]byte{Check: check}}
		if got := s.Authenticates(); got != want {
			t.Errorf("a check of %d bytes: %v, want %v", size, got, want)
		}
	}
}

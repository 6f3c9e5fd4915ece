package main

import "testing"

func TestSizesAreReadable(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1 kB", 1024: "1 KiB", 1536: "1.5 KiB", 268435456: "256 MiB", 10737418240: "10 GiB",
		107374182400: "100 GiB", 107_000_000_000: "107 GB", 1_000_000_000_000: "1 TB", 107_374_182_401: "100 GiB",
	} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestSizesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "107374182400": 107374182400, "100GiB": 107374182400, "100 gib": 107374182400, "107 GB": 107e9, "1.5KiB": 1536, "2 TB": 2e12,
	} {
		if got, ok := parseSize(text); !ok || got != want {
			t.Errorf("%q: got %d, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "GiB", "-1", "-1 GiB", "1.5", "ten", "9000000 TiB", "1e30 GB", "NaN GB", "100 G"} {
		if got, ok := parseSize(text); ok {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

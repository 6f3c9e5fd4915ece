package seal_test

import (
	"bytes"
	"strings"
	"testing"

	"keepsake/internal/memory/seal"
)

func TestBindingHasOneCiphertextPerWorkspace(t *testing.T) {
	t.Parallel()
	b, err := seal.NewBinding(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	other, err := seal.NewBinding(bytes.Repeat([]byte{2}, 32))
	if err != nil {
		t.Fatal(err)
	}
	const name = "somebody@example.com"
	sealed := b.Seal("wsp_a", "subject", name)
	if strings.Contains(sealed, "somebody") || !b.Sealed(sealed) || b.Sealed(name) {
		t.Errorf("sealed to %s", sealed)
	}
	if again := b.Seal("wsp_a", "subject", name); again != sealed {
		t.Errorf("sealed to %s and to %s", sealed, again)
	}
	if again := b.Seal("wsp_a", "subject", sealed); again != sealed {
		t.Errorf("sealed twice to %s", again)
	}
	if got := b.Open("wsp_a", "subject", sealed); got != name {
		t.Errorf("opened to %q", got)
	}
	for what, got := range map[string]string{
		"another workspace": b.Open("wsp_b", "subject", sealed), "another kind": b.Open("wsp_a", "agent", sealed),
		"another secret": other.Open("wsp_a", "subject", sealed),
	} {
		if got != sealed {
			t.Errorf("%s opens it to %q", what, got)
		}
	}
	seen := map[string]bool{sealed: true}
	for _, text := range []string{
		b.Seal("wsp_b", "subject", name), b.Seal("wsp_a", "agent", name), b.Seal("wsp_a", "subject", name+"x"), other.Seal("wsp_a", "subject", name),
	} {
		if seen[text] {
			t.Errorf("%s stands for two names", text)
		}
		seen[text] = true
	}
	for _, plain := range []string{"", name, "~", "~2x", "~1!", "~1abcd"} {
		if got := b.Open("wsp_a", "subject", plain); got != plain {
			t.Errorf("%q opens to %q", plain, got)
		}
	}
	if b.Seal("wsp_a", "subject", "") != "" {
		t.Error("nothing is sealed")
	}
}

package seal_test

import (
	"fmt"
	"testing"

	"keepsake/internal/memory/seal"
)

func TestOwnKeyIsNeededToOpen(t *testing.T) {
	t.Parallel()
	own, about := []byte("a key of its own"), []byte("about")
	key, err := seal.InstanceKey([]byte("a secret of thirty-two bytes ..."))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := key.Open(key.Seal([]byte("text"), about), about); err != nil || string(plain) != "text" {
		t.Errorf("got %q, %v", plain, err)
	}
	deriver := key.Deriver()
	for range 2 { // a deriver is used for many records
		ownKey, err := deriver.With(own)
		if err != nil {
			t.Fatal(err)
		}
		same, err := key.With(own)
		if err != nil {
			t.Fatal(err)
		}
		sealed := same.Seal([]byte("text"), about)
		if plain, err := ownKey.AppendOpen([]byte("some "), sealed, about); err != nil || string(plain) != "some text" {
			t.Errorf("got %q, %v", plain, err)
		}
		if _, err := ownKey.Open(sealed, []byte("other")); err == nil {
			t.Error("it opens about something else")
		}
		if _, err := key.Open(sealed, about); err == nil {
			t.Error("it opens without its own key")
		}
	}
	if _, err := key.With(nil); err == nil {
		t.Error("a key is derived without the record's own key")
	}
	for _, v := range []any{key, deriver} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			if got := fmt.Sprintf(verb, v); len(got) > 12 {
				t.Errorf("%s prints %q", verb, got)
			}
		}
	}
}

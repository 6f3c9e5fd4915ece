package id_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"keepsake/internal/base/id"
)

// The examples are those of the TypeID specification (github.com/jetify-com/typeid, spec/valid.json), so that our text
// is aligned as in other implementations.
func TestTextIsAlignedAsTypeIDDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"prefix_00000000000000000000000000":  "00000000-0000-0000-0000-000000000000",
		"prefix_00000000000000000000000001":  "00000000-0000-0000-0000-000000000001",
		"prefix_0000000000000000000000000a":  "00000000-0000-0000-0000-00000000000a",
		"prefix_0000000000000000000000000g":  "00000000-0000-0000-0000-000000000010",
		"prefix_00000000000000000000000010":  "00000000-0000-0000-0000-000000000020",
		"prefix_7zzzzzzzzzzzzzzzzzzzzzzzzz":  "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"prefix_0123456789abcdefghjkmnpqrs":  "0110c853-1d09-52d8-d73e-1194e95b5f19",
		"prefix_01h455vb4pex5vsknk084sn02q":  "01890a5d-ac96-774b-bcce-b302099a8057",
		"pre_01h455vb4pex5vsknk084sn02q":     "01890a5d-ac96-774b-bcce-b302099a8057",
		"pre_fix_01h455vb4pex5vsknk084sn02q": "01890a5d-ac96-774b-bcce-b302099a8057",
	} {
		prefix := text[:strings.LastIndexByte(text, '_')]
		got, ok := id.Parse(prefix, text)
		if !ok || uuid.UUID(got).String() != want {
			t.Errorf("Parse(%q) = %v, %v; want %s", text, uuid.UUID(got), ok, want)
		}
		if back := id.Format(prefix, got); back != text {
			t.Errorf("Format(%q, %s) = %q", prefix, want, back)
		}
	}
}

func TestArchiveIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var u id.UUID
		copy(u[:], rapid.SliceOfN(rapid.Byte(), len(u), len(u)).Draw(t, "uuid"))
		text := id.Format(id.Document, u)
		back, ok := id.Parse(id.Document, text)
		if !ok || back != u {
			t.Fatalf("%q read back as %x, %v; want %x", text, back, ok, u)
		}
		if string(id.Append([]byte("x"), id.Document, u)) != "x"+text {
			t.Fatalf("Append and Format differ for %x", u)
		}
	})
}

func TestOnlyWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	good := "key_01h455vb4pex5vsknk084sn02q"
	if _, ok := id.Parse(id.APIKey, good); !ok {
		t.Fatalf("Parse(%q) refused a good id", good)
	}
	for _, bad := range []string{
		"", "key", "key_", "usr" + good[3:], "key01h455vb4pex5vsknk084sn02qq", good[:29], good + "0", "key-" + good[4:],
		"key_81h455vb4pex5vsknk084sn02q", "key_z1h455vb4pex5vsknk084sn02q", "KEY" + good[3:], "key_" + strings.ToUpper(good[4:]),
		"key_01h455vb4pex5vsknk084sn02i", "key_01h455vb4pex5vsknk084sn02l", "key_01h455vb4pex5vsknk084sn02o",
		"key_01h455vb4pex5vsknk084sn02u", "key_01h455vb4pex5vsknk084sn02\x00", "key_01h455vb4pex5vsknk084sn0é",
	} {
		if u, ok := id.Parse(id.APIKey, bad); ok {
			t.Errorf("Parse(%q) = %x", bad, u)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`key_[0-9a-z]{26}`)).Draw(t, "text")
		if u, ok := id.Parse(id.APIKey, text); ok && id.Format(id.APIKey, u) != text {
			t.Fatalf("%q was read as %x, which is written %q", text, u, id.Format(id.APIKey, u))
		}
	})
}

func TestIdsAreUUIDv7OfTheirMoment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, math.MaxInt64).Draw(t, "moment")
		tail := rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "random")
		at := time.Unix(0, ns)
		u, ok := id.Parse(id.User, id.At(id.User, at, bytes.NewReader(tail)))
		if !ok {
			t.Fatal("At made what Parse refuses")
		}
		std := uuid.UUID(u)
		if std.Version() != 7 || std.Variant() != uuid.RFC4122 {
			t.Fatalf("%s has version %d, variant %v", std, std.Version(), std.Variant())
		}
		ms := int64(u[0])<<40 | int64(u[1])<<32 | int64(u[2])<<24 | int64(u[3])<<16 | int64(u[4])<<8 | int64(u[5])
		if ms != at.UnixMilli() {
			t.Fatalf("%s holds the moment %d, want %d", std, ms, at.UnixMilli())
		}
	})
}

func TestIdsRiseWithTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "moment")
		later := ns + rapid.Int64Range(245, 1<<40).Draw(t, "later") // a step of the fraction is 1 ms / 4096
		random := bytes.NewReader(bytes.Repeat([]byte{0xff, 0}, 8))
		a, b := id.At(id.APIKey, time.Unix(0, ns), random), id.At(id.APIKey, time.Unix(0, later), random)
		if a >= b {
			t.Fatalf("%s of %d is not before %s of %d", a, ns, b, later)
		}
	})
}

func TestNewIdsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	now := time.Now()
	for range 20_000 {
		for _, text := range []string{id.New(id.Memory), id.NewRequest(now)} {
			if seen[text] {
				t.Fatalf("%s was made twice", text)
			}
			seen[text] = true
		}
	}
}

func TestAnIdWithoutRandomnessIsNotMade(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("At made an id from a reader that had ended")
		}
	}()
	id.At(id.APIKey, time.Now(), bytes.NewReader(nil))
}

func BenchmarkNewRequest(b *testing.B) {
	b.ReportAllocs()
	now := time.Now()
	for b.Loop() {
		_ = id.NewRequest(now)
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = id.New(id.Document)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("key_01h455vb4pex5vsknk084sn02q")
	f.Add("key_81h455vb4pex5vsknk084sn02q")
	f.Fuzz(func(t *testing.T, text string) {
		if u, ok := id.Parse(id.APIKey, text); ok && id.Format(id.APIKey, u) != text {
			t.Errorf("%q was read as %x, which is written %q", text, u, id.Format(id.APIKey, u))
		}
	})
}

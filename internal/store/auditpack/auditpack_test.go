package auditpack

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/audit"
)

// drawPacked draws a read as the log writes them, and as it could.
func drawPacked(t *rapid.T) *audit.Row {
	ids := func(prefix string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			at := time.UnixMilli(rapid.Int64Range(0, 1<<47).Draw(t, "at"))
			if rapid.Bool().Draw(t, "any") {
				var u id.UUID
				copy(u[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
				return id.Format(prefix, u)
			}
			return id.At(prefix, at, strings.NewReader(rapid.StringN(8, 8, 8).Draw(t, "random")+"........"))
		})
	}
	details := "{}"
	if list := rapid.SliceOfN(ids(id.Memory), 0, 120).Draw(t, "memories"); len(list) > 0 {
		text, err := json.Marshal(map[string]string{audit.MemoryIDs: strings.Join(list, " ")})
		if err != nil {
			t.Fatal(err)
		}
		details = string(text)
	}
	r := &audit.Row{
		At:        time.UnixMilli(rapid.Int64Range(0, 1<<47).Draw(t, "time")).UTC(),
		Action:    rapid.SampledFrom(audit.ReadActions).Draw(t, "action"),
		Target:    rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringMatching(`subject:[A-Za-z0-9_-]{22}`)).Draw(t, "target"),
		Outcome:   rapid.SampledFrom([]audit.Outcome{audit.Done, audit.Refused, "", "other"}).Draw(t, "outcome"),
		Count:     rapid.Int64().Draw(t, "count"),
		Details:   rapid.OneOf(rapid.Just(details), rapid.String()).Draw(t, "details"),
		RequestID: rapid.OneOf(rapid.Just(""), rapid.String(), ids(id.Request)).Draw(t, "request"),
		Packed:    true,
	}
	if text := rapid.SampledFrom([]string{"", "192.0.2.7", "2001:db8::1", "::ffff:192.0.2.7", "fe80::1%eth0"}).Draw(t, "address"); text != "" {
		r.Address = netip.MustParseAddr(text)
	}
	return r
}

func TestPackedRowIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawPacked(t)
		key, _ := TargetKey(want.Target)
		got := &audit.Row{At: want.At, Packed: true}
		Unpack(got, TargetColumn(key), Pack(want))
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A changed body is read without a panic; the hash of the row shows the change.
func TestAnyBodyIsUnpacked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		if rapid.Bool().Draw(t, "cut") {
			whole := Pack(drawPacked(t))
			body = whole[:rapid.IntRange(0, len(whole)).Draw(t, "length")]
		}
		Unpack(&audit.Row{Packed: true}, rapid.Int64().Draw(t, "target"), body)
	})
}

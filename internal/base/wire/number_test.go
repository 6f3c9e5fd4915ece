package wire_test

import (
	"strings"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

func TestMetadataNumbersComeBackAsSent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "-0", "0.0", "1", "-1", "0.1", "1.10", "1E2", "1e+2", "100e-2", "9007199254740992", "9007199254740991", "1e22", "1e23", "1e300", "1.7976931348623157e308", "100000000000000000000",
		"0.30000000000000004", "0.10000000000000001", "0.300000000000000040001", "5e-324", "4e-324", "0e99999999999999999999", "1152921504606846976",
		"99999999999999991611392",
	} {
		var m wire.Metadata
		if err := wire.Decode([]byte(`{"k":`+text+`}`), &m); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		out, err := wire.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		var again wire.Metadata
		if err := wire.Decode(out, &again); err != nil || again["k"] != m["k"] {
			t.Errorf("%s: written as %s and read again as %v, %v", text, out, again, err)
		}
	}
	for _, text := range []string{
		"9007199254740993", "-9007199254740993", "9007199254740993.0", "123456789012345678", "1152921504606847000", "100000000000000000000000", "9007199254740993e0",
		"1e400", "-1e400", "1e999999999999999999999", "1e-400", "2e-324", "1e-99999999999999999999", "100000000000000000001",
	} {
		var m wire.Metadata
		err := wire.Decode([]byte(`{"a":1,"k":`+text+`}`), &m)
		p, ok := problem.As(err)
		if !ok || p.Details.Field != "k" || p.Details.Issue != problem.InvalidVal || strings.Contains(p.Message, text) {
			t.Errorf("%s: got %v in %v, want it to be invalid", text, err, m)
		}
	}
}

func TestNullInMetadataIsAbsent(t *testing.T) {
	t.Parallel()
	var m wire.Metadata
	if err := wire.Decode([]byte(`{"a":null,"b":1,"c":null}`), &m); err != nil || len(m) != 1 || m["b"] != 1.0 {
		t.Errorf("got %v, %v", m, err)
	}
	var change wire.MetadataChange
	if err := wire.Decode([]byte(`{"a":null,"b":1}`), &change); err != nil || len(change) != 2 || change["a"] != nil {
		t.Errorf("a change: got %v, %v", change, err)
	}
}

func TestIntegersMayHaveAFractionOfZeros(t *testing.T) {
	t.Parallel()
	type body struct {
		N        int64                `json:"n"`
		List     []int                `json:"list"`
		Pointer  *int64               `json:"pointer"`
		Optional wire.Optional[int64] `json:"optional"`
		X        float64              `json:"x"`
	}
	var b body
	err := wire.Decode([]byte(`{"n":5.0,"list":[1,2.00,-3.0],"pointer":9007199254740993.0,"optional":7.0,"x":1.5}`), &b)
	if err != nil || b.N != 5 || len(b.List) != 3 || b.List[1] != 2 || b.List[2] != -3 || *b.Pointer != 9007199254740993 || b.Optional.Value != 7 || b.X != 1.5 {
		t.Errorf("got %+v, %v", b, err)
	}
	for text, want := range map[string]problem.Issue{
		"5.5": problem.Type, "5.01": problem.Type, "5e0": problem.Type, "5.0e0": problem.Type, `"5.0"`: problem.Type, "true": problem.Type,
		"9223372036854775808.0": problem.TooLargeVal, "-9223372036854775809.0": problem.TooSmall,
	} {
		var b body
		err := wire.Decode([]byte(`{"n":`+text+`}`), &b)
		if p, ok := problem.As(err); !ok || p.Details.Field != "n" || p.Details.Issue != want {
			t.Errorf("%s: got %v, want %s of n", text, err, want)
		}
	}
}

func TestTimesAreThoseOfRFC3339(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2030-01-01T00:00:00Z", "2030-01-01T00:00:00.5Z", "2030-01-01T00:00:00.123456789123Z", "2030-01-01T23:59:59+23:59", "2030-01-01T00:00:00-00:00",
		"2028-02-29T12:00:00Z", "0001-01-01T00:00:00Z",
	} {
		var at wire.Time
		if err := at.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"", "2030-01-01", "2030-01-01T00:00:00", "2030-01-01T00:00:00,5Z", "2030-01-01T0:00:00Z", "2030-01-01T00:00:00.Z", "2030-01-01 00:00:00Z",
		"2030-01-01t00:00:00z", "2030-01-01T24:00:00Z", "2030-01-01T00:00:60Z", "2030-02-30T00:00:00Z", "2030-01-01T00:00:00+24:00",
		"2030-01-01T00:00:00+01:60", "2030-01-01T00:00:00+0100", "2030-01-01T00:00:00Z ", "2030-01-01T00:00:00.5", "+030-01-01T00:00:00Z",
		"2030-01-01T00:00:00+1:00", "2030-01-01T00:00:00 01:00",
	} {
		var at wire.Time
		if err := at.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %v", text, at)
		}
	}
}

package number_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/base/number"
)

// text draws a JSON number whose value is easily near a float64, or far outside their range.
func text() *rapid.Generator[string] {
	digits := rapid.StringMatching(`0|[1-9][0-9]{0,25}`)
	written := rapid.Custom(func(t *rapid.T) string {
		s := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + digits.Draw(t, "whole")
		if rapid.Bool().Draw(t, "fraction") {
			s += "." + rapid.StringMatching(`[0-9]{1,25}`).Draw(t, "digits")
		}
		if rapid.Bool().Draw(t, "exponent") {
			s += rapid.StringMatching(`[eE][+-]?0{0,3}[0-9]{1,2}`).Draw(t, "small")
		} else if rapid.IntRange(0, 9).Draw(t, "far") == 0 {
			s += fmt.Sprintf("e%d", rapid.IntRange(-800, 800).Draw(t, "large"))
		}
		return s
	})
	near := rapid.Custom(func(t *rapid.T) string {
		x := new(big.Int).Lsh(big.NewInt(rapid.Int64Range(1<<52, 1<<53).Draw(t, "mantissa")), uint(rapid.IntRange(0, 80).Draw(t, "shift")))
		x.Add(x, big.NewInt(rapid.Int64Range(-3, 3).Draw(t, "beside")))
		return rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + x.String() + rapid.SampledFrom([]string{"", ".0", "e0", "00e-2"}).Draw(t, "spelling")
	})
	return rapid.OneOf(written, near)
}

func exact(t interface{ Fatalf(string, ...any) }, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%s is no number", text)
	}
	return r
}

func TestNumbersKeepTheirValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := text().Draw(t, "number")
		r := exact(t, text)
		nearest, _ := r.Float64()
		want := !math.IsInf(nearest, 0) && (nearest != 0 || r.Sign() == 0)
		if want && r.IsInt() {
			shortest := strings.ContainsAny(text, "eE") && exact(t, strconv.FormatFloat(nearest, 'g', -1, 64)).Cmp(r) == 0
			want = shortest || new(big.Rat).SetFloat64(nearest).Cmp(r) == 0
		}
		x, ok := number.Read(text)
		if ok != want || ok && x != nearest {
			t.Fatalf("%s: read as %v, %v; want %v, %v", text, x, ok, nearest, want)
		}
		if !ok {
			return
		}
		out := string(number.Append(nil, x))
		if again, ok := number.Read(out); !ok || again != x {
			t.Fatalf("%s: written as %s and read again as %v, %v", text, out, again, ok)
		}
		if !strings.ContainsAny(text+out, "eE.") && out != text && text != "-0" {
			t.Fatalf("%s: came back as %s", text, out)
		}
	})
}

func TestBoundsAreNeverRounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := text().Draw(t, "number")
		r := exact(t, text)
		if x, ok := number.Read(text); ok {
			r = new(big.Rat).SetFloat64(x)
		}
		nearest, _ := r.Float64()
		b, ok := number.ReadBound(text)
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		for _, x := range []float64{
			nearest, math.Nextafter(nearest, math.Inf(1)), math.Nextafter(nearest, math.Inf(-1)), 0, -nearest, math.MaxFloat64, -math.MaxFloat64,
			rapid.Float64().Draw(t, "another"),
		} {
			if math.IsInf(x, 0) || math.IsNaN(x) {
				continue
			}
			if got, want := b.Compare(x), new(big.Rat).SetFloat64(x).Cmp(r); got != want {
				t.Fatalf("%v compared with %s: got %d, want %d", x, text, got, want)
			}
		}
	})
}

func TestHugeExponentsAreCheap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 100_000)
	for text, want := range map[string][3]int{ // compared with -1, 0 and 1
		"1e999999999": {-1, -1, -1}, "-1e999999999": {1, 1, 1}, "1e99999999999999999999999": {-1, -1, -1}, "-1e99999999999999999999999": {1, 1, 1},
		"1e-999999999": {-1, -1, 1}, "-1e-999999999": {-1, 1, 1}, "1e-99999999999999999999999": {-1, -1, 1}, "1e400": {-1, -1, -1},
		"4e-325": {-1, -1, 1}, long: {-1, -1, -1}, "-" + long: {1, 1, 1}, "0." + strings.Repeat("0", 100_000) + "1": {-1, -1, 1},
		"1e" + long: {-1, -1, -1}, "0e" + long: {-1, 0, 1}, "-0": {-1, 0, 1},
	} {
		b, ok := number.ReadBound(text)
		got := [3]int{b.Compare(-1), b.Compare(0), b.Compare(1)}
		if !ok || got != want {
			t.Errorf("%.30s: got %v, %v, want %v", text, got, ok, want)
		}
		if _, ok := number.Read(text); ok != b.Exact {
			t.Errorf("%.30s: Read says %v, the bound %v", text, ok, b.Exact)
		}
	}
}

func TestOnlyNumbersOfJSONAreNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "-", "+1", "01", "00", ".5", "5.", "1e", "1e+", "e1", "0x10", "1_000", "Inf", "-Inf", "infinity", "NaN", "nan", " 1", "1 ", "1,5", "--1", "1.2.3", "1e1.5", "٣",
	} {
		if b, ok := number.ReadBound(text); ok {
			t.Errorf("%q is read as %+v", text, b)
		}
	}
}

func TestNumbersAreWrittenShortly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0.10000000000000001": "0.1", "1.10": "1.1", "7.0": "7", "1e2": "100", "-0": "0", "-0.0": "0", "1152921504606846976": "1152921504606846976",
		"9007199254740992": "9007199254740992", "1e22": "1e+22", "1e21": "1e+21", "1e20": "100000000000000000000", "5e-324": "5e-324", "1e-7": "1e-7",
		"99999999999999991611392": "1e+23", "1e23": "1e+23", "6.02214076e23": "6.02214076e+23", "1.7976931348623157e308": "1.7976931348623157e+308",
		"1e300": "1e+300", "1180591620717411303424": "1.1805916207174113e+21", "1.152921504606847e+18": "1152921504606846976", "9007199254740993.5": "9007199254740994", "0.000001": "0.000001",
	} {
		x, ok := number.Read(text)
		if got := string(number.Append(nil, x)); !ok || got != want {
			t.Errorf("%s: written as %s, %v; want %s", text, got, ok, want)
		}
	}
}

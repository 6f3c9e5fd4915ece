package vectors

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func direction(text string) Vector {
	sum := Builtin().Sum()
	for word := range strings.FieldsSeq(text) {
		sum.Add(Builtin().Find(word))
	}
	return sum.Vector()
}

func cosine(a, b string) float64 {
	v, w := direction(a), direction(b)
	return float64(Dot(&v, &w)) / (One * One)
}

// The command bench/recall/vectors makes the same comparison before a build.
func TestTheFileIsTheOneThatWasReviewed(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("words.bin")
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != SHA256 || !bytes.Equal(data, file) {
		t.Errorf("words.bin has the SHA-256 %s, want %s", sum, SHA256)
	}
	if len(data) > 13e5 {
		t.Errorf("words.bin has %d bytes", len(data))
	}
}

func TestEveryWordHasARow(t *testing.T) {
	t.Parallel()
	list := Builtin()
	for n, word := range strings.SplitN(string(file), "\n", Words+1)[:Words] {
		if got := list.number(word); got != n {
			t.Fatalf("%q has the number %d, want %d", word, got, n)
		}
	}
	for _, word := range []string{"", "xqzzy", "Tea", "tea ", "\n"} {
		if got := list.number(word); got >= 0 {
			t.Errorf("%q has the number %d", word, got)
		}
	}
}

func TestVectorsAreUnitVectors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"tea", "the", "she prefers tea to coffee", "doctor's"} {
		v := direction(text)
		if length := math.Sqrt(float64(Dot(&v, &v))); math.Abs(length-One) > 2 {
			t.Errorf("%q has the length %v", text, length)
		}
	}
	if v := direction("xqzzy 17 äpfel"); v != (Vector{}) {
		t.Errorf("unknown words have the direction %v", v)
	}
}

func TestSimilarWordsHaveSimilarDirections(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"doctor", "nurse", "guitar"}, {"drink", "coffee", "carpet"}, {"medication", "drugs", "holiday"}, {"mother", "daughter", "engine"},
	} {
		if near, far := cosine(c[0], c[1]), cosine(c[0], c[2]); near < far+0.3 {
			t.Errorf("%s is as near to %s (%.2f) as to %s (%.2f)", c[0], c[1], near, c[2], far)
		}
	}
}

// The fast product is exact for all vectors of about the length One, also for those of few dimensions, whose products are largest.
func TestTheFastProductIsTheProduct(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	unit := func() (v Vector) {
		var parts [Dimensions]float64
		for n := 1 + random.IntN(Dimensions); n > 0; n-- {
			parts[random.IntN(Dimensions)] = random.NormFloat64()
		}
		length := 0.0
		for _, x := range parts {
			length += x * x
		}
		for i, x := range parts {
			v[i] = int8(math.Round(One * x / math.Sqrt(max(length, 1e-9))))
		}
		return v
	}
	check := func(v, w Vector) {
		f, got := v.Factor(), [2]int32{}
		f.Dots([]Packed{v.Packed(), w.Packed()}, got[:])
		if want := [2]int32{Dot(&v, &v), Dot(&v, &w)}; got != want {
			t.Fatalf("the products of %v with itself and %v are %d, want %d", v, w, got, want)
		}
	}
	for range 20_000 {
		v, w := unit(), unit()
		check(v, w)
		for i := range w {
			w[i] = -v[i]
		}
		check(v, w)
		check(v, Vector{})
		check(Vector{}, v)
	}
}

func BenchmarkDot(b *testing.B) {
	v, w := direction("tea"), direction("coffee")
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			Dot(&v, &w)
		}
	})
	b.Run("packed", func(b *testing.B) {
		f, list, dots := v.Factor(), make([]Packed, 1000), make([]int32, 1000)
		for b.Loop() {
			f.Dots(list, dots)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/product")
	})
}

func BenchmarkSum(b *testing.B) {
	for b.Loop() {
		direction("we moved to a small flat near the river last spring because my sister lives there")
	}
}

func TestProductsAreThoseOfDirections(t *testing.T) {
	t.Parallel()
	table := Builtin()
	words := []Word{table.Find("cello"), table.Find("xqzzy"), table.Find("violin"), table.Find("fence")}
	products := make([]int32, len(words))
	table.Products(table.Find("violin"), words, products)
	if products[1] != 0 {
		t.Errorf("an unknown word has the product %d", products[1])
	}
	if one := One * One; math.Abs(float64(products[2])-float64(one)) > 0.02*float64(one) {
		t.Errorf("a word has the product %d with itself, want about %d", products[2], one)
	}
	if products[0] < 2*max(products[3], 0) || products[0] < One*One/2 {
		t.Errorf("violin has the product %d with cello and %d with fence", products[0], products[3])
	}
}

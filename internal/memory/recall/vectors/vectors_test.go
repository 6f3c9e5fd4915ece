package vectors

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

func direction(text string) Vector {
	var sum Sum
	for word := range strings.FieldsSeq(text) {
		sum.Add(word)
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
	if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != SHA256 || string(data) != file {
		t.Errorf("words.bin has the SHA-256 %s, want %s", sum, SHA256)
	}
	if len(data) > 13e5 {
		t.Errorf("words.bin has %d bytes", len(data))
	}
}

func TestEveryWordHasARow(t *testing.T) {
	t.Parallel()
	list := loaded()
	for n, word := range strings.SplitN(file, "\n", Words+1)[:Words] {
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

func BenchmarkDot(b *testing.B) {
	v, w := direction("tea"), direction("coffee")
	for b.Loop() {
		Dot(&v, &w)
	}
}

func BenchmarkSum(b *testing.B) {
	for b.Loop() {
		direction("we moved to a small flat near the river last spring because my sister lives there")
	}
}

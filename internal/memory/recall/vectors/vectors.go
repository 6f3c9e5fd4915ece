// Package vectors turns texts into vectors, so that texts about similar things have similar directions. It needs no model: a
// vector is a weighted sum of the vectors of the text's words, which are in the program. Only English words have any.
//
// NOTICE.md says where the vectors of words come from. The command bench/recall/vectors writes them.
package vectors

import (
	"bytes"
	_ "embed"
	"math"
	"strings"
	"sync"
)

const (
	// Words is the number of words that have a vector.
	Words = 30_000
	// Dimensions is the length of a vector.
	Dimensions = 32
	// SHA256 is the hash of words.bin.
	SHA256 = "01c5dd32806e49c939acbd2b5adbd4009e6b4d49a8df2357624e5a2f801a5516"
)

//go:embed words.bin
var file []byte

// Vector is the direction of a text: a unit vector times One, in whole numbers. The zero Vector has no direction.
type Vector [Dimensions]int8

// One is the length of a Vector. The product of two vectors is One² times the cosine of their angle.
const One = 127

// Dot returns the product of two vectors.
func Dot(a, b *Vector) (sum int32) {
	for i := range Dimensions {
		sum += int32(a[i]) * int32(b[i])
	}
	return sum
}

// table finds words in the file.
type table struct {
	ends    [Words + 1]uint32   // end of each word in the file, without its line break; of the word before the first: -1
	slots   [1 << 16]uint16     // hash table of the numbers of words, from 1
	factors [Words]float32      // weight of a word divided by the length of its row
	common  [Dimensions]float32 // the direction that all texts share
}

// loaded indexes the file. It takes some milliseconds, on the first use.
var loaded = sync.OnceValue(func() *table {
	t := &table{}
	start, harmonic := 0, 0.0
	for n := range Words {
		end := start + bytes.IndexByte(file[start:], '\n')
		slot := hash(string(file[start:end]))
		for t.slots[slot] != 0 {
			slot++
		}
		t.slots[slot] = uint16(n + 1)
		t.ends[n+1] = uint32(end)
		start = end + 1
		harmonic += 1 / float64(n+1)
	}
	t.ends[0] = math.MaxUint32
	var common [Dimensions]float64
	for n := range Words {
		length := 0.0
		row := t.row(n)
		for i := range Dimensions {
			length += float64(int8(row[i])) * float64(int8(row[i]))
		}
		// A word is as frequent as its rank says (Zipf), and frequent words say little.
		frequency := 1 / (float64(n+1) * harmonic)
		factor := rare / (rare + frequency) / math.Sqrt(length)
		t.factors[n] = float32(factor)
		for i := range Dimensions {
			common[i] += frequency * factor * float64(int8(row[i]))
		}
	}
	length := 0.0
	for _, v := range common {
		length += v * v
	}
	for i, v := range common {
		t.common[i] = float32(v / math.Sqrt(length))
	}
	return t
})

// rare is the frequency of words with half the weight of the rarest.
const rare = 0.001

// hash is FNV-1a, folded to 16 bits.
func hash(word string) uint16 {
	h := uint32(2166136261)
	for i := range len(word) {
		h = (h ^ uint32(word[i])) * 16777619
	}
	return uint16(h>>16) ^ uint16(h)
}

// number returns the number of a word, or -1.
func (t *table) number(word string) int {
	for slot := hash(word); t.slots[slot] != 0; slot++ {
		n := int(t.slots[slot]) - 1
		if string(file[t.ends[n]+1:t.ends[n+1]]) == word {
			return n
		}
	}
	return -1
}

func (t *table) row(n int) *[Dimensions]byte {
	start := len(file) - Words*Dimensions + n*Dimensions
	return (*[Dimensions]byte)(file[start:])
}

// directions returns the direction of each word by its number, and at 0 that of no word. It takes some milliseconds, on the first use.
var directions = sync.OnceValue(func() *[Words + 1]Packed {
	t, all := loaded(), new([Words + 1]Packed)
	var none Vector
	all[0] = none.Packed()
	for n := range Words {
		v := directionOf(t.row(n))
		all[n+1] = v.Packed()
	}
	return all
})

// directionOf returns the direction of a row.
func directionOf(row *[Dimensions]byte) (v Vector) {
	length := 0.0
	for i := range Dimensions {
		length += float64(int8(row[i])) * float64(int8(row[i]))
	}
	factor := One / math.Sqrt(length)
	for i := range Dimensions {
		v[i] = int8(math.Round(float64(int8(row[i])) * factor))
	}
	return v
}

// Sum adds up the vectors of words.
type Sum struct {
	sum [Dimensions]float32
}

// Word is a word of the table. The zero Word is none.
type Word struct{ number uint16 } // from 1

// Find finds a word in lower case.
func Find(word string) Word {
	return Word{uint16(loaded().number(strings.TrimSuffix(word, "'s")) + 1)}
}

// Products sets products to the product of the directions of w and of each of words: One² times their cosine, or 0 for no word.
func (w Word) Products(words []Word, products []int32) {
	all := directions()
	factor := all[w.number].vector().Factor()
	products = products[:len(words)]
	for i, other := range words {
		products[i] = factor.dot(&all[other.number])
	}
}

// Add adds a word in lower case. Other words than those of the table add nothing.
func (s *Sum) Add(word string) { s.AddWord(Find(word)) }

// AddWord adds a word.
func (s *Sum) AddWord(w Word) {
	if w.number == 0 {
		return
	}
	t, n := loaded(), int(w.number)-1
	row, factor := t.row(n), t.factors[n]
	for i := range Dimensions {
		s.sum[i] += float32(factor * float32(int8(row[i]))) // the conversion makes the sum equal on all processors
	}
}

// Vector returns the direction of the sum, less the direction that all texts share.
func (s *Sum) Vector() (v Vector) {
	t := loaded()
	shared := float32(0)
	for i := range Dimensions {
		shared += float32(s.sum[i] * t.common[i])
	}
	length := float32(0)
	var rest [Dimensions]float32
	for i := range Dimensions {
		rest[i] = s.sum[i] - float32(shared*t.common[i])
		length += float32(rest[i] * rest[i])
	}
	if length < 1e-9 {
		return v
	}
	factor := One / float32(math.Sqrt(float64(length)))
	for i := range Dimensions {
		v[i] = int8(math.Round(float64(rest[i] * factor)))
	}
	return v
}

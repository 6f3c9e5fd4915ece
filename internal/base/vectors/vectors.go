// Package vectors turns texts into vectors, so that texts about similar things have similar directions. It needs no model: a
// vector is a weighted sum of the vectors of the text's words, which are in a table.
//
// The table in the program has English words. NOTICE.md says where its vectors come from; the command bench/recall/vectors writes
// them. An operator can name a file with another table, which Pack makes.
package vectors

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"
)

const (
	// Words is the number of words in the table of the program.
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

// Table contains the vectors of words. It does not change.
type Table struct {
	names   []byte              // the words, each with a line break, the most frequent first
	rows    []byte              // Dimensions bytes for each word
	ends    []uint32            // end of each word in names, without its line break
	slots   []uint32            // hash table of the numbers of words, from 1; its length is a power of two
	factors []float32           // weight of a word divided by the length of its row
	common  [Dimensions]float32 // the direction that all texts share
	english bool

	directions func() []Packed // of each word by its number from 1, and at 0 that of no word
}

// Builtin returns the table of the program. It takes some milliseconds, on the first use.
var Builtin = sync.OnceValue(func() *Table {
	t, err := newTable(file, Words)
	if err != nil {
		panic(err) // a test reads it
	}
	t.english = true
	return t
})

// EnglishOnly reports whether only English words have vectors. Words of other languages that are spelled alike mean something else.
func (t *Table) EnglishOnly() bool { return t.english }

// Len returns the number of words.
func (t *Table) Len() int { return len(t.ends) }

// newTable reads the words, one per line, and then the rows.
func newTable(body []byte, words int) (*Table, error) {
	if len(body) < words*(Dimensions+1) {
		return nil, fmt.Errorf("%d bytes are too few for %d words", len(body), words)
	}
	names := len(body) - words*Dimensions
	t := &Table{
		names: body[:names], rows: body[names:], ends: make([]uint32, words), factors: make([]float32, words),
		slots: make([]uint32, 2<<bits.Len(uint(words))),
	}
	start, harmonic := 0, 0.0
	for n := range words {
		length := bytes.IndexByte(t.names[start:], '\n')
		if length < 0 {
			return nil, fmt.Errorf("it has fewer than %d words", words)
		}
		slot := t.slot(string(t.names[start : start+length]))
		for t.slots[slot] != 0 {
			slot = t.after(slot)
		}
		t.slots[slot] = uint32(n + 1)
		t.ends[n] = uint32(start + length)
		start += length + 1
		harmonic += 1 / float64(n+1)
	}
	if start != names {
		return nil, fmt.Errorf("it has more than %d words", words)
	}
	t.weigh(harmonic)
	t.directions = sync.OnceValue(func() []Packed {
		all := make([]Packed, words+1)
		var none Vector
		all[0] = none.Packed()
		for n := range words {
			v := directionOf(t.row(n))
			all[n+1] = v.Packed()
		}
		return all
	})
	return t, nil
}

// weigh computes the weights of words and the direction that all texts share. harmonic is the sum of 1/rank over all words.
func (t *Table) weigh(harmonic float64) {
	var common [Dimensions]float64
	for n := range t.ends {
		length := 0.0
		row := t.row(n)
		for i := range Dimensions {
			length += float64(int8(row[i])) * float64(int8(row[i]))
		}
		if length == 0 {
			continue
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
	if length == 0 {
		return
	}
	for i, v := range common {
		t.common[i] = float32(v / math.Sqrt(length))
	}
}

// rare is the frequency of words with half the weight of the rarest.
const rare = 0.001

// slot returns where to look for a word first, by FNV-1a.
func (t *Table) slot(word string) uint32 {
	h := uint32(2166136261)
	for i := range len(word) {
		h = (h ^ uint32(word[i])) * 16777619
	}
	return (h>>16 ^ h) & uint32(len(t.slots)-1)
}

// after returns where to look next.
func (t *Table) after(slot uint32) uint32 { return (slot + 1) & uint32(len(t.slots)-1) }

// number returns the number of a word, from 0, or -1.
func (t *Table) number(word string) int {
	for slot := t.slot(word); t.slots[slot] != 0; slot = t.after(slot) {
		n := int(t.slots[slot]) - 1
		if string(t.names[t.start(n):t.ends[n]]) == word {
			return n
		}
	}
	return -1
}

// start returns where a word begins in names.
func (t *Table) start(n int) uint32 {
	if n == 0 {
		return 0
	}
	return t.ends[n-1] + 1
}

func (t *Table) row(n int) *[Dimensions]byte {
	return (*[Dimensions]byte)(t.rows[n*Dimensions:])
}

// directionOf returns the direction of a row.
func directionOf(row *[Dimensions]byte) (v Vector) {
	length := 0.0
	for i := range Dimensions {
		length += float64(int8(row[i])) * float64(int8(row[i]))
	}
	if length == 0 {
		return v
	}
	factor := One / math.Sqrt(length)
	for i := range Dimensions {
		v[i] = int8(math.Round(float64(int8(row[i])) * factor))
	}
	return v
}

// Word is a word of a table. The zero Word is none.
type Word struct{ number uint32 } // from 1

// Find finds a word in lower case.
func (t *Table) Find(word string) Word {
	return Word{uint32(t.number(strings.TrimSuffix(word, "'s")) + 1)}
}

// Products sets products to the product of the directions of w and of each of words: One² times their cosine, or 0 for no word.
func (t *Table) Products(w Word, words []Word, products []int32) {
	all := t.directions()
	factor := all[w.number].vector().Factor()
	products = products[:len(words)]
	for i, other := range words {
		products[i] = factor.dot(&all[other.number])
	}
}

// Sum adds up the vectors of words of a table.
type Sum struct {
	table *Table
	sum   [Dimensions]float32
}

// Sum returns a Sum of nothing.
func (t *Table) Sum() Sum { return Sum{table: t} }

// Add adds a word.
func (s *Sum) Add(w Word) {
	if w.number == 0 {
		return
	}
	n := int(w.number) - 1
	row, factor := s.table.row(n), s.table.factors[n]
	for i := range Dimensions {
		s.sum[i] += float32(factor * float32(int8(row[i]))) // the conversion makes the sum equal on all processors
	}
}

// Vector returns the direction of the sum, less the direction that all texts share.
func (s *Sum) Vector() (v Vector) {
	common := &s.table.common
	shared := float32(0)
	for i := range Dimensions {
		shared += float32(s.sum[i] * common[i])
	}
	length := float32(0)
	var rest [Dimensions]float32
	for i := range Dimensions {
		rest[i] = s.sum[i] - float32(shared*common[i])
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

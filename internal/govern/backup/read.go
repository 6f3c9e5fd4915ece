package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"filippo.io/age"

	"keepsake/internal/base/folder"
)

// Source is an archive to read.
type Source struct {
	Path       string
	Kind       Kind
	Identities []age.Identity  // to decrypt it
	Progress   func(bytes int) // called with the bytes read; can be nil
}

// Extract writes the files of an archive durably into an existing folder, mode 0600. It returns ErrNotBackup, ErrDamaged or
// ErrEncrypted, and can then leave files.
func Extract(s Source, dir string) (*Header, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, fmt.Errorf("read backup: %w", err)
	}
	defer f.Close()
	header, err := s.extract(&meter{f, s.Progress}, dir)
	if err != nil {
		return nil, fmt.Errorf("%s %w", s.Path, err)
	}
	return header, folder.Sync(dir)
}

func (s *Source) extract(r io.Reader, dir string) (*Header, error) {
	plain, err := s.decrypt(bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	unpacked, err := gzip.NewReader(plain)
	if err != nil {
		return nil, ErrNotBackup
	}
	archive := tar.NewReader(unpacked)
	header, err := s.header(archive)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for {
		member, err := archive.Next()
		if err != nil { // or the end, because sums.json is missing
			return nil, fmt.Errorf("%w: it is truncated", ErrDamaged)
		}
		if member.Name == sumsName {
			break
		}
		if !slices.Contains(known[s.Kind], member.Name) || sums[member.Name] != "" {
			return nil, fmt.Errorf("%w: it contains %q", ErrDamaged, member.Name)
		}
		if sums[member.Name], err = extractFile(archive, filepath.Join(dir, member.Name)); err != nil {
			return nil, err
		}
	}
	return header, s.check(archive, unpacked, sums)
}

// check compares the files with the sums, and reads the archive to its last byte.
func (s *Source) check(archive *tar.Reader, unpacked io.Reader, sums map[string]string) error {
	var said map[string]string
	if err := json.NewDecoder(archive).Decode(&said); err != nil {
		return fmt.Errorf("%w: it is truncated", ErrDamaged)
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: there is data after its end", ErrDamaged)
	}
	if _, err := io.Copy(io.Discard, unpacked); err != nil { // verifies the checksum of gzip, and age's last block
		return fmt.Errorf("%w: it is truncated", ErrDamaged)
	}
	for _, name := range needed[s.Kind] {
		if sums[name] == "" {
			return fmt.Errorf("%w: it lacks %s", ErrDamaged, name)
		}
	}
	for name, sum := range sums {
		if said[name] != sum {
			return fmt.Errorf("%w: %s was changed", ErrDamaged, name)
		}
	}
	return nil
}

// ageMagic begins an encrypted file.
const ageMagic = "age-encryption.org/"

func (s *Source) decrypt(r *bufio.Reader) (io.Reader, error) {
	start, err := r.Peek(len(ageMagic))
	if err != nil || !bytes.Equal(start, []byte(ageMagic)) {
		return r, nil // a file that is too short fails later
	}
	if len(s.Identities) == 0 {
		return nil, errors.New("is encrypted: use --identity or --passphrase-file")
	}
	plain, err := age.Decrypt(r, s.Identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, ErrEncrypted
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return plain, nil
}

func (s *Source) header(archive *tar.Reader) (*Header, error) {
	member, err := archive.Next()
	if err != nil || member.Name != headerName {
		return nil, ErrNotBackup
	}
	var h Header
	if err := json.NewDecoder(archive).Decode(&h); err != nil {
		return nil, fmt.Errorf("%w: its header cannot be read", ErrDamaged)
	}
	if h.Format > format {
		return nil, fmt.Errorf("was written by a newer keepsake (%s): restore it with that version", h.Build)
	}
	if h.Kind != s.Kind {
		return nil, fmt.Errorf("%w: it contains the %s of an instance, not its %s", ErrNotBackup, h.Kind, s.Kind)
	}
	return &h, nil
}

// extractFile writes one file and returns its checksum.
func extractFile(r io.Reader, path string) (sum string, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	out := &tally{to: f, sum: sha256.New()}
	in := &reading{r: r}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, f.Sync(), f.Close()); in.err != nil {
		return "", fmt.Errorf("%w: it is truncated", ErrDamaged)
	} else if err != nil {
		return "", fmt.Errorf("cannot be unpacked: %w", err)
	}
	return hex.EncodeToString(out.sum.Sum(nil)), nil
}

// reading marks errors of the source, as opposed to those of the disk.
type reading struct {
	r   io.Reader
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// meter reports the bytes that are read from it.
type meter struct {
	io.Reader
	progress func(bytes int)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.progress != nil {
		m.progress(n)
	}
	return n, err
}

// Package textfile reads files as texts: Markdown, HTML, plain text, DOCX and PDF.
//
// What it reads is bounded, so that no file takes more memory or time than a large text needs.
package textfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"keepsake/internal/base/wire"
)

// File is what a file contains.
type File struct {
	Title    string
	Text     string
	URL      string // of the original; empty: none
	Tags     []string
	Metadata map[string]any // strings, float64, bools, and lists of these
}

// MaxText is the size of the longest text that is read of a file.
const MaxText = 32 << 20

var errTooLong = errors.New("the text is longer than 32 MiB")

type reader func(ctx context.Context, path string) (File, error)

var readers = map[string]reader{
	".md": readMarkdown, ".markdown": readMarkdown, ".mdx": readMarkdown,
	".html": readHTML, ".htm": readHTML, ".xhtml": readHTML,
	".txt": readPlain, ".text": readPlain, ".rst": readPlain, ".adoc": readPlain, ".asciidoc": readPlain, ".org": readPlain,
	".docx": readDOCX,
	".pdf":  readPDF,
}

// Known reports whether the name of a file says that it can be read.
func Known(name string) bool { return readers[strings.ToLower(filepath.Ext(name))] != nil }

// Read reads a file of a known name. A file without a title gets its name.
func Read(ctx context.Context, path string) (File, error) {
	read := readers[strings.ToLower(filepath.Ext(path))]
	if read == nil {
		return File{}, fmt.Errorf("files that end with %q cannot be read", filepath.Ext(path))
	}
	f, err := read(ctx, path)
	if err != nil {
		return File{}, err
	}
	f.Text = strings.TrimSpace(strings.ReplaceAll(f.Text, "\x00", " "))
	if f.Title = oneLine(strings.ReplaceAll(f.Title, "\x00", " ")); f.Title == "" {
		f.Title = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return f, nil
}

// readPlain reads a text. Its title is its first line, if that is short.
func readPlain(_ context.Context, path string) (File, error) {
	text, err := readText(path)
	if err != nil {
		return File{}, err
	}
	return File{Title: firstLine(text), Text: text}, nil
}

// firstLine returns the first line of a text if it can be a title.
func firstLine(text string) string {
	const longest = 120 // bytes
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line = strings.TrimSpace(line); len(line) > longest {
		return ""
	}
	return line
}

// readText reads a text in UTF-8, UTF-16 or, if it is neither, Windows-1252.
func readText(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := readAll(in, MaxText)
	if err != nil {
		return "", err
	}
	switch looks := wire.LooksLike(text); looks {
	case "":
		return strings.ReplaceAll(strings.TrimPrefix(string(text), string(wire.ByteOrderMark)), "\r\n", "\n"), nil
	case "UTF-16":
		text, err = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(text)
	case "UTF-32":
		return "", errors.New("the file is UTF-32; convert it to UTF-8")
	default:
		text, err = charmap.Windows1252.NewDecoder().Bytes(text)
	}
	if err != nil {
		return "", fmt.Errorf("decode: %w", err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n"), nil
}

// readAll reads at most limit bytes. More are errTooLong.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = errTooLong
	}
	return text, err
}

// oneLine returns a text with single blanks, and at most a thousand bytes of it.
func oneLine(s string) string {
	const longest = 1_000
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "")
	}
	return s
}

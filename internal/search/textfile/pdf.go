package textfile

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoPDF says that no PDF can be read, because the program for it is missing.
var ErrNoPDF = errors.New("PDF files need the program pdftotext, which is not installed (it is in the package poppler-utils)")

// readPDF reads a PDF through the program pdftotext.
func readPDF(ctx context.Context, path string) (File, error) {
	program, err := exec.LookPath("pdftotext")
	if err != nil {
		return File{}, ErrNoPDF
	}
	absolute, err := filepath.Abs(path) // does not begin with a hyphen
	if err != nil {
		return File{}, err
	}
	const longest = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-enc", "UTF-8", "-nopgbrk", absolute, "-")
	var problems beginning
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		return File{}, err
	}
	if err := cmd.Start(); err != nil {
		return File{}, fmt.Errorf("run pdftotext: %w", err)
	}
	text, err := readAll(out, MaxText)
	if err != nil {
		cancel()
		_ = cmd.Wait() // was ended
		return File{}, err
	}
	if err := cmd.Wait(); err != nil {
		said := oneLine(string(problems))
		if strings.Contains(said, "Incorrect password") {
			return File{}, errors.New("the PDF is encrypted with a password; store it without one")
		}
		return File{}, fmt.Errorf("pdftotext could not read it: %w: %s", err, said)
	}
	clean := strings.ToValidUTF8(string(text), "")
	if strings.TrimSpace(clean) == "" {
		return File{}, errors.New("the PDF contains no text; it is probably scanned")
	}
	return File{Title: firstLine(clean), Text: clean}, nil
}

// beginning keeps the first bytes that are written to it. A broken file can make a program complain without end.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	const longest = 1_000
	*b = append(*b, p[:min(len(p), longest-len(*b))]...)
	return len(p), nil
}

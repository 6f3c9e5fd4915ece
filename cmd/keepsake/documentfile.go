package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"

	"github.com/schollz/progressbar/v3"

	"keepsake/client"
	"keepsake/internal/search/document"
	"keepsake/internal/search/textfile"
)

// runFiles imports each file as a document.
func (j *importJob) runFiles(ctx context.Context, root string, names []string) error {
	f := &fileRows{ctx: ctx, root: root, names: names}
	if j.dryRun {
		return j.showFiles(f)
	}
	f.bar = j.st.countBar("importing", int64(len(names)), !j.asJSON && j.st.errTTY)
	defer func() { _ = f.bar.Close() }() // errors of drawing are ignored
	outcome, err := j.client.ImportRows(ctx, f, j.options, nil)
	if errors.Is(err, client.ErrTooManyRows) {
		return fmt.Errorf("import: %w, which is what --replace can take; import the folder without it", err)
	}
	if err == nil || outcome.Received > 0 {
		for i := range outcome.Errors { // a line of a part is a document
			outcome.Errors[i].Message = f.nameOf(outcome.Errors[i].Line) + ": " + outcome.Errors[i].Message
		}
		if err := j.report(outcome); err != nil {
			return err
		}
	}
	return refusedLines(err, &outcome.Import)
}

func (j *importJob) showFiles(f *fileRows) error {
	if !j.asJSON {
		fmt.Fprintf(j.st.out, "%s: %s\n", plain(f.root), counted(int64(len(f.names)), "file"))
	}
	var documents []client.NewDocument
	for len(documents) < 3 {
		text, _, err := f.Next()
		if err == io.EOF {
			break
		}
		if refused, ok := errors.AsType[*client.RefusedRow](err); ok {
			fmt.Fprintln(j.st.err, plain(refused.Message))
			continue
		}
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		var d client.NewDocument
		if err := json.Unmarshal(text, &d); err != nil {
			return fmt.Errorf("import: %w", err)
		}
		if d.Collection == "" {
			d.Collection = j.options.Into
		}
		documents = append(documents, d)
	}
	return j.showDocuments(documents)
}

// fileRows are the documents of files.
type fileRows struct {
	ctx   context.Context
	root  string
	names []string
	bar   *progressbar.ProgressBar // nil: none

	at    int // of names
	parts []client.NewDocument
	line  int64
	lines []string // the names of the documents' files
}

// Header implements client.ImportRows.
func (*fileRows) Header() []byte { return nil }

// Next implements client.ImportRows.
func (f *fileRows) Next() ([]byte, int64, error) {
	if len(f.parts) == 0 {
		if f.at == len(f.names) {
			return nil, 0, io.EOF
		}
		name := f.names[f.at]
		f.at++
		f.line++
		f.lines = append(f.lines, name)
		if f.bar != nil {
			_ = f.bar.Add(1) // errors of drawing are ignored
		}
		if err := f.ctx.Err(); err != nil {
			return nil, 0, err
		}
		read, err := textfile.Read(f.ctx, name)
		if err != nil {
			return nil, f.line, &client.RefusedRow{ImportError: client.ImportError{Line: f.line, Field: "text", Issue: "unsupported", Message: err.Error()}}
		}
		f.parts = documentsOf(f.pathOf(name), read)
	} else {
		f.line++
		f.lines = append(f.lines, f.lines[len(f.lines)-1])
	}
	text, err := json.Marshal(f.parts[0])
	f.parts = f.parts[1:]
	return append(text, '\n'), f.line, err
}

// nameOf returns the name of the file of a document.
func (f *fileRows) nameOf(line int64) string {
	if line < 1 || line > int64(len(f.lines)) {
		return "a file"
	}
	return f.lines[line-1]
}

// pathOf returns the path of a file below the root, with slashes.
func (f *fileRows) pathOf(name string) string {
	path, err := filepath.Rel(f.root, name)
	if err != nil || path == "." {
		path = filepath.Base(name)
	}
	return filepath.ToSlash(path)
}

// documentsOf returns the documents of a file: one, or a part each of a text that is longer than a document's.
func documentsOf(path string, f textfile.File) []client.NewDocument {
	parts := textfile.Parts(f.Text, document.MaxText)
	documents := make([]client.NewDocument, len(parts))
	for i, text := range parts {
		d := client.NewDocument{ID: fileID(path, i), Title: f.Title, Text: text, URL: f.URL, Tags: f.Tags, Metadata: map[string]any{}}
		maps.Copy(d.Metadata, f.Metadata)
		if len([]rune(path)) <= document.MaxEntry {
			d.Metadata["path"] = path
		}
		if len(parts) > 1 {
			d.Title = fmt.Sprintf("%s (%d of %d)", f.Title, i+1, len(parts))
			d.Metadata["part"], d.Metadata["parts"] = i+1, len(parts)
			if i > 0 {
				d.Metadata["previous"] = fileID(path, i-1)
			}
			if i < len(parts)-1 {
				d.Metadata["next"] = fileID(path, i+1)
			}
		}
		documents[i] = d
	}
	return documents
}

// fileID returns the ID of the document of a file, or of one of its parts. It is the path if that can be an ID; otherwise a hash of the
// path makes it unique.
func fileID(path string, part int) string {
	suffix := ""
	if part > 0 {
		suffix = fmt.Sprintf(":%d", part+1)
	}
	id := strings.ReplaceAll(path, "/", ":")
	const longest = 110 // leaves room for the suffix
	if document.ValidID(id) && len(id) <= longest && !strings.Contains(path, ":") {
		return id + suffix
	}
	kept := strings.Map(func(r rune) rune {
		if document.ValidID("x" + string(r)) {
			return r
		}
		return '-'
	}, id)
	kept = strings.TrimLeft(kept, ".:")
	sum := sha256.Sum256([]byte(path))
	return kept[:min(len(kept), longest-17)] + "-" + hex.EncodeToString(sum[:8]) + suffix
}

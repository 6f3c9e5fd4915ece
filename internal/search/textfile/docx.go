package textfile

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxXML is how much of a part of a DOCX is read. A small file can be compressed from a very large one.
const maxXML = 64 << 20

// readDOCX reads the paragraphs of a DOCX. Headings are marked as in Markdown.
func readDOCX(_ context.Context, path string) (File, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return File{}, fmt.Errorf("open the DOCX: %w", err)
	}
	defer archive.Close()
	var f File
	found := false
	for _, part := range archive.File {
		switch part.Name {
		case "word/document.xml":
			found = true
			err = readPart(part, func(dec *xml.Decoder) error { return f.readParagraphs(dec) })
		case "docProps/core.xml":
			var core struct {
				Title string `xml:"title"`
			}
			if readPart(part, func(dec *xml.Decoder) error { return dec.Decode(&core) }) == nil && strings.TrimSpace(core.Title) != "" {
				f.Title = core.Title
			}
		}
		if err != nil {
			return File{}, fmt.Errorf("read the DOCX: %w", err)
		}
	}
	if !found {
		return File{}, errors.New("the file is no DOCX: it has no word/document.xml")
	}
	if f.Title == "" {
		f.Title = heading(f.Text)
	}
	return f, nil
}

func readPart(part *zip.File, read func(dec *xml.Decoder) error) error {
	in, err := part.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	limited := &io.LimitedReader{R: in, N: maxXML}
	err = read(xml.NewDecoder(limited))
	if limited.N <= 0 {
		return errors.New("it is larger than 64 MiB when decompressed")
	}
	return err
}

// isWord reports whether the name of an element is one of a text, for which there are two namespaces.
func isWord(name xml.Name) bool {
	return strings.Contains(name.Space, "wordprocessingml") && strings.HasSuffix(name.Space, "/main")
}

func (f *File) readParagraphs(dec *xml.Decoder) error {
	var text, paragraph bytes.Buffer
	style, inText := "", false
	for {
		token, err := dec.Token()
		if err == io.EOF {
			f.Text = text.String()
			return nil
		}
		if err != nil {
			return err
		}
		if text.Len()+paragraph.Len() > MaxText {
			return errTooLong
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !isWord(token.Name) {
				continue
			}
			switch token.Name.Local {
			case "p":
				style = ""
			case "pStyle":
				style = attribute(token, "val")
			case "t":
				inText = true
			case "tab":
				paragraph.WriteByte(' ')
			case "br", "cr":
				paragraph.WriteByte('\n')
			}
		case xml.CharData:
			if inText {
				paragraph.Write(token)
			}
		case xml.EndElement:
			if !isWord(token.Name) {
				continue
			}
			switch token.Name.Local {
			case "t":
				inText = false
			case "p":
				f.endParagraph(&text, strings.TrimSpace(paragraph.String()), style)
				paragraph.Reset()
			}
		}
	}
}

func (f *File) endParagraph(text *bytes.Buffer, paragraph, style string) {
	if paragraph == "" {
		return
	}
	if text.Len() > 0 {
		text.WriteString("\n\n")
	}
	switch {
	case style == "Title":
		f.Title = paragraph
		text.WriteString("# ")
	case strings.HasPrefix(style, "Heading"), strings.HasPrefix(style, "heading"):
		text.WriteString("## ")
	}
	text.WriteString(paragraph)
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

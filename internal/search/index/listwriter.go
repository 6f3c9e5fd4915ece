package index

import (
	"encoding/binary"
	"io"
)

// A posting list contains the documents that have a term, in rising order. The list of a stem also contains how often the
// stem occurs in the title and in the text of each document, and at which positions.
//
// A list consists of a skip table with an entry for each full block, the full blocks, the remaining documents as varints,
// and the positions as varints. An entry of the skip table contains the last document of its block, and where the block and
// its positions end. A full block contains the widths and the packed numbers: differences of documents, and frequencies.

// skipSize is the size of an entry of a skip table.
const skipSize = 12

// listWriter encodes one posting list after another.
type listWriter struct {
	positional bool
	count      int
	skips      []byte
	body       []byte // full blocks
	positions  []byte // of all documents including the last
	last       int64  // document
	n          int    // documents of the incomplete block
	docs       block  // differences
	titles     block
	texts      block
	header     []byte
}

// reset begins a new list.
func (w *listWriter) reset(positional bool) {
	w.positional, w.count, w.last, w.n = positional, 0, -1, 0
	w.skips, w.body, w.positions = w.skips[:0], w.body[:0], w.positions[:0]
}

// add adds a document, whose positions were appended to w.positions before. Frequencies of a list without positions are 0.
func (w *listWriter) add(doc, title, text uint32) {
	w.docs[w.n], w.titles[w.n], w.texts[w.n] = uint32(int64(doc)-w.last-1), title, text
	w.last = int64(doc)
	w.count++
	if w.n++; w.n == blockSize {
		w.endBlock()
	}
}

func (w *listWriter) endBlock() {
	docs := w.docs.width()
	if w.positional {
		titles, texts := w.titles.width(), w.texts.width()
		w.body = append(w.body, byte(docs), byte(titles), byte(texts))
		w.body = w.docs.pack(w.body, docs)
		w.body = w.titles.pack(w.body, titles)
		w.body = w.texts.pack(w.body, texts)
	} else {
		w.body = append(w.body, byte(docs))
		w.body = w.docs.pack(w.body, docs)
	}
	w.skips = binary.LittleEndian.AppendUint32(w.skips, uint32(w.last))
	w.skips = binary.LittleEndian.AppendUint32(w.skips, uint32(len(w.body)))
	w.skips = binary.LittleEndian.AppendUint32(w.skips, uint32(len(w.positions)))
	w.n = 0
}

// appendPosition appends a position of the next document. before is the position before it in the same document, or 0.
func (w *listWriter) appendPosition(position, before uint32) {
	w.positions = binary.AppendUvarint(w.positions, uint64(position-before))
}

// writeTo writes the list.
func (w *listWriter) writeTo(out io.Writer) error {
	w.body = w.appendRest(w.body)
	w.header = w.header[:0]
	if w.positional {
		w.header = binary.AppendUvarint(w.header, uint64(len(w.skips)+len(w.body)))
	}
	for _, part := range [][]byte{w.header, w.skips, w.body, w.positions} {
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// appendRest encodes the documents after the last full block. The lowest bit of a difference says that the word occurs once,
// in the text, as most do.
func (w *listWriter) appendRest(out []byte) []byte {
	for i := range w.n {
		difference, title, text := uint64(w.docs[i]), uint64(w.titles[i]), uint64(w.texts[i])
		switch {
		case !w.positional:
			out = binary.AppendUvarint(out, difference)
		case title == 0 && text == 1:
			out = binary.AppendUvarint(out, difference<<1|1)
		default:
			out = binary.AppendUvarint(out, difference<<1)
			out = binary.AppendUvarint(out, title)
			out = binary.AppendUvarint(out, text)
		}
	}
	return out
}

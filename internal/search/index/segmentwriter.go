package index

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"math/bits"

	"keepsake/internal/base/text"
)

// segmentWriter writes a segment: first the posting lists in the order of their terms, then everything else.
type segmentWriter struct {
	out        output
	dictionary dictionaryWriter
	list       listWriter
	columns    columnWriter
	grams      gramWriter
	ranks      []byte
}

// output counts and sums up what is written.
type output struct {
	io.Writer
	size int64
	sum  uint32
}

func (o *output) Write(data []byte) (int, error) {
	o.size += int64(len(data))
	o.sum = crc32.Update(o.sum, castagnoli, data)
	return o.Writer.Write(data)
}

// addList writes w.list as the list of a term, and returns its entry.
func (w *segmentWriter) addList(term []byte) (entry, error) {
	e := entry{count: uint32(w.list.count), offset: uint32(w.out.size)}
	if w.list.positional {
		e.form = fullList
	}
	if err := w.add(term, e); err != nil {
		return entry{}, err
	}
	return e, w.list.writeTo(&w.out)
}

// beginKey begins the list of a term that is not a word. Its documents are added with addKey.
func (w *segmentWriter) beginKey(term []byte) error {
	w.list.reset(false)
	facet := facetOf(term)
	if w.columns.begin(facet) {
		return nil
	}
	err := w.columns.end(&w.out)
	w.columns.begin(facet)
	return err
}

func (w *segmentWriter) addKey(doc uint32) {
	w.list.add(doc, 0, 0)
	w.columns.add(doc)
}

// endKey writes the list of a term that is not a word, unless it is empty.
func (w *segmentWriter) endKey(term []byte) error {
	if w.list.count == 0 {
		return nil
	}
	_, err := w.addList(term)
	return err
}

// addShared adds a word that all documents of its stem have.
func (w *segmentWriter) addShared(term []byte, stem entry) error {
	return w.add(term, entry{count: stem.count, form: sharedList, stem: stem.offset})
}

// addPart adds a word that the documents with some ranks in the list of its stem have.
func (w *segmentWriter) addPart(term []byte, stem entry, some []uint32) error {
	if len(some) == int(stem.count) {
		return w.addShared(term, stem)
	}
	e := entry{count: uint32(len(some)), form: partList, offset: uint32(w.out.size), stem: stem.offset}
	if err := w.add(term, e); err != nil {
		return err
	}
	w.ranks = appendRanks(w.ranks[:0], some, stem.count)
	_, err := w.out.Write(w.ranks)
	return err
}

// add adds a term whose list begins here, if it has one of its own.
func (w *segmentWriter) add(term []byte, e entry) error {
	if w.out.size > math.MaxUint32 {
		return errors.New("the posting lists of a segment are longer than 4 GiB")
	}
	if kind(term[0]) == wordKind {
		w.grams.add(term[1:], w.dictionary.n)
	}
	w.dictionary.add(term, e)
	return nil
}

// row is what a segment contains of a document in addition to its terms.
type row struct {
	title, text byte // coded lengths
	language    text.Language
	time        int64
	id          []byte
}

// finish writes the rest of the segment, with its documents. visit is called several times, and must call do for the
// documents in order.
func (w *segmentWriter) finish(seed uint64, visit func(do func(*row))) error {
	f := footer{terms: uint32(w.dictionary.n), seed: seed}
	err := w.columns.end(&w.out)
	write := func(data []byte) {
		if err == nil && len(data) > 0 {
			_, err = w.out.Write(data)
		}
	}
	end := func(section int) { f.ends[section] = uint64(w.out.size) }
	end(listSection)
	latest := int64(math.MinInt64)
	f.firstTime = math.MaxInt64
	visit(func(r *row) {
		f.firstTime, latest = min(f.firstTime, r.time), max(latest, r.time)
		if len(r.id) > math.MaxUint8 {
			err = errors.New("the ID of a document is longer than 255 bytes")
		}
	})
	write(w.dictionary.data)
	end(dictionarySection)
	var buffer []byte
	for _, group := range w.dictionary.groups {
		buffer = binary.LittleEndian.AppendUint32(buffer, group)
	}
	write(buffer)
	end(groupSection)
	begins, grams := w.grams.table()
	write(begins)
	end(gramBeginSection)
	write(grams)
	end(gramSection)
	write(w.columns.directory)
	end(columnSection)
	// Small writes are collected in buffer.
	collect := func(add func([]byte, *row) []byte) {
		buffer = buffer[:0]
		visit(func(r *row) {
			if buffer = add(buffer, r); len(buffer) >= 32<<10 {
				write(buffer)
				buffer = buffer[:0]
			}
		})
		write(buffer)
	}
	collect(func(out []byte, r *row) []byte {
		f.docs++
		f.titles += int64(lengths[r.title])
		f.texts += int64(lengths[r.text])
		f.byLanguage[r.language]++
		return append(out, r.title, r.text)
	})
	end(lengthSection)
	if f.byLanguage.several() {
		collect(func(out []byte, r *row) []byte { return append(out, byte(r.language)) })
	}
	end(languageSection)
	timeBytes := (bits.Len64(uint64(latest-f.firstTime)) + 7) / 8
	collect(func(out []byte, r *row) []byte {
		var after [8]byte
		binary.LittleEndian.PutUint64(after[:], uint64(r.time-f.firstTime))
		return append(out, after[:timeBytes]...)
	})
	end(timeSection)
	doc, ids := 0, uint32(0)
	collect(func(out []byte, r *row) []byte {
		if doc%idGroup == 0 {
			out = binary.LittleEndian.AppendUint32(out, ids)
		}
		doc++
		ids += uint32(len(r.id))
		return out
	})
	end(idBeginSection)
	collect(func(out []byte, r *row) []byte { return append(out, byte(len(r.id))) })
	end(idLengthSection)
	collect(func(out []byte, r *row) []byte { return append(out, r.id...) })
	end(idSection)
	write(tableOf(int(f.docs), seed, visit))
	end(tableSection)
	if err != nil {
		return err
	}
	f.sum = w.out.sum
	_, err = w.out.Write(f.append(nil))
	return err
}

// tableOf returns the hash table of the documents' IDs.
func tableOf(docs int, seed uint64, visit func(do func(*row))) []byte {
	slots := slotsFor(docs)
	table := make([]byte, slotSize*slots)
	doc := uint32(0)
	visit(func(r *row) {
		hash := hashOf(seed, r.id)
		slot := slotOf(hash, slots)
		for binary.LittleEndian.Uint32(table[slotSize*slot:]) != 0 {
			if slot++; slot == slots {
				slot = 0
			}
		}
		binary.LittleEndian.PutUint32(table[slotSize*slot:], contentOfSlot(hash, doc, uint32(docs)))
		doc++
	})
	return table
}

package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"sync/atomic"

	"keepsake/internal/base/text"
)

// layout is the version of the segments and the manifest. An index with another layout is rebuilt.
const layout = 10

// A segment contains a number of documents, and never changes. It is one sequence of bytes, in a file or in memory:
//
//	lists       the posting lists, and the columns of facets
//	dictionary  the terms with their lists
//	groups      where the groups of the dictionary begin, 4 bytes each
//	gramBegins  where the slots of the table of grams begin, 4 bytes each; empty if there are none
//	grams       the table of grams
//	columns     the facets with a column, each with its length, where its column begins in lists, and its number of sets
//	lengths     coded lengths of title and text, 2 bytes a document
//	languages   of the documents, a byte each; empty if all have the same
//	times       when each document was updated, after the first of these times, in as many bytes as the last one needs
//	idBegins    where the IDs of each group of documents begin, 4 bytes
//	idLengths   of the IDs, a byte a document
//	ids         the IDs
//	table       a hash table of IDs, 4 bytes a slot
//	footer      counts, where the sections end, and checksums
//
// All numbers are little-endian.
type segment struct {
	footer
	data       []byte
	lists      []byte
	dictionary dictionary
	grams      grams
	columns    []byte
	lengths    []byte
	languages  []byte
	times      []byte
	timeBytes  int // of a document
	idBegins   []byte
	idLengths  []byte
	ids        []byte
	table      []byte

	name  string // of the file; empty: in memory
	unmap func() error
	uses  atomic.Int64 // by snapshots
}

// The sections in their order.
const (
	listSection = iota
	dictionarySection
	groupSection
	gramBeginSection
	gramSection
	columnSection
	lengthSection
	languageSection
	timeSection
	idBeginSection
	idLengthSection
	idSection
	tableSection
	sections
)

// footer is the last part of a segment.
type footer struct {
	docs       uint32
	terms      uint32
	titles     int64  // sum of the lengths of titles
	texts      int64  // sum of the lengths of texts
	seed       uint64 // of the hashes of IDs
	firstTime  int64
	byLanguage languageCounts // documents
	ends       [sections]uint64
	sum        uint32 // CRC-32C of all sections
}

const (
	magic      = "keepseg"
	footerSize = 8 + 4 + 4 + 8 + 8 + 8 + 8 + 4*int(text.Languages) + 8*sections + 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (f *footer) append(out []byte) []byte {
	begin := len(out)
	out = append(append(out, magic...), layout)
	out = binary.LittleEndian.AppendUint32(out, f.docs)
	out = binary.LittleEndian.AppendUint32(out, f.terms)
	out = binary.LittleEndian.AppendUint64(out, uint64(f.titles))
	out = binary.LittleEndian.AppendUint64(out, uint64(f.texts))
	out = binary.LittleEndian.AppendUint64(out, f.seed)
	out = binary.LittleEndian.AppendUint64(out, uint64(f.firstTime))
	for _, docs := range f.byLanguage {
		out = binary.LittleEndian.AppendUint32(out, uint32(docs))
	}
	for _, end := range f.ends {
		out = binary.LittleEndian.AppendUint64(out, end)
	}
	out = binary.LittleEndian.AppendUint32(out, f.sum)
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out[begin:], castagnoli))
}

func (f *footer) read(data []byte) error {
	if len(data) != footerSize || string(data[:len(magic)]) != magic {
		return errors.New("it is not a segment")
	}
	if data[len(magic)] != layout {
		return errLayout
	}
	if crc32.Checksum(data[:footerSize-4], castagnoli) != binary.LittleEndian.Uint32(data[footerSize-4:]) {
		return errors.New("the footer does not match its checksum")
	}
	f.docs, f.terms = binary.LittleEndian.Uint32(data[8:]), binary.LittleEndian.Uint32(data[12:])
	f.titles, f.texts = int64(binary.LittleEndian.Uint64(data[16:])), int64(binary.LittleEndian.Uint64(data[24:]))
	f.seed, f.firstTime = binary.LittleEndian.Uint64(data[32:]), int64(binary.LittleEndian.Uint64(data[40:]))
	data = data[48:]
	for l := range f.byLanguage {
		f.byLanguage[l] = int64(binary.LittleEndian.Uint32(data[4*l:]))
	}
	data = data[4*text.Languages:]
	for i := range f.ends {
		f.ends[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	f.sum = binary.LittleEndian.Uint32(data[8*sections:])
	return nil
}

var errLayout = fmt.Errorf("the index has another layout than %d", layout)

// readSegment reads a segment from data. It checks the footer and the sizes, but not the checksum of the sections.
func readSegment(data []byte) (*segment, error) {
	if len(data) < footerSize {
		return nil, errors.New("it is shorter than a footer")
	}
	s := &segment{data: data}
	body := len(data) - footerSize
	if err := s.footer.read(data[body:]); err != nil {
		return nil, err
	}
	begin := uint64(0)
	section := func(i int) []byte {
		part := data[begin:s.ends[i]]
		begin = s.ends[i]
		return part
	}
	for i := range sections {
		if i > 0 && s.ends[i] < s.ends[i-1] || s.ends[i] > uint64(body) {
			return nil, errors.New("its sections are out of order")
		}
	}
	s.lists = data[:s.ends[listSection]+uint64(footerSize)] // more is readable, see slack
	begin = s.ends[listSection]
	s.dictionary = dictionary{data: section(dictionarySection), groups: section(groupSection), terms: int(s.terms)}
	s.grams = grams{begins: section(gramBeginSection), contents: section(gramSection)}
	s.columns = section(columnSection)
	s.lengths, s.languages, s.times = section(lengthSection), section(languageSection), section(timeSection)
	s.idBegins, s.idLengths = section(idBeginSection), section(idLengthSection)
	s.ids, s.table = section(idSection), section(tableSection)
	docs, languages := int(s.docs), 0
	s.timeBytes = len(s.times) / max(1, docs)
	if s.byLanguage.several() {
		languages = docs
	}
	if s.ends[tableSection] != uint64(body) || len(s.lengths) != 2*docs || s.byLanguage.docs() != int64(docs) || len(s.languages) != languages ||
		len(s.times) != s.timeBytes*docs || s.timeBytes > 8 || len(s.idBegins) != 4*idGroupsFor(docs) || len(s.idLengths) != docs ||
		len(s.dictionary.groups) != (s.dictionary.terms+groupSize-1)/groupSize*4 || !s.grams.valid() || len(s.table) != slotSize*slotsFor(docs) {
		return nil, errors.New("its sections have wrong sizes")
	}
	return s, nil
}

// verify compares the sections with their checksum.
func (s *segment) verify() error {
	if crc32.Checksum(s.data[:len(s.data)-footerSize], castagnoli) != s.sum {
		return fmt.Errorf("segment %q does not match its checksum", s.name)
	}
	return nil
}

// open begins to read the list of a term, which can be empty.
func (s *segment) open(l *list, term string) {
	e, _ := s.dictionary.find(term)
	l.open(s.lists, e)
}

func (s *segment) time(doc uint32) int64 {
	after := uint64(0)
	for i, b := range s.times[int(doc)*s.timeBytes:][:s.timeBytes] {
		after |= uint64(b) << (8 * i)
	}
	return s.firstTime + int64(after)
}

// idGroup is the number of documents for which the segment contains where their IDs begin.
const idGroup = 16

func idGroupsFor(docs int) int { return (docs + idGroup - 1) / idGroup }

func (s *segment) id(doc uint32) []byte {
	group := doc / idGroup
	begin := binary.LittleEndian.Uint32(s.idBegins[4*group:])
	for _, length := range s.idLengths[group*idGroup : doc] {
		begin += uint32(length)
	}
	return s.ids[begin:][:s.idLengths[doc]]
}

// A slot of the hash table contains a document plus one, in as many bits as the last document needs, and above it as many of
// the lowest bits of the hash of its ID as there is room for. Or it is zero.
const slotSize = 4

func slotsFor(docs int) int { return docs + docs/3 + 1 }

// slotOf returns the first slot for a hash.
func slotOf(hash uint64, slots int) int {
	slot, _ := bits.Mul64(hash, uint64(slots))
	return int(slot)
}

// contentOfSlot returns the content of a slot of a table with so many documents.
func contentOfSlot(hash uint64, doc, docs uint32) uint32 {
	return uint32(hash)<<bits.Len32(docs) | (doc + 1)
}

// find returns the document with an ID.
func (s *segment) find(id string, hash uint64) (doc uint32, ok bool) {
	slots := len(s.table) / slotSize
	slot := slotOf(hash, slots)
	mask := uint32(1)<<bits.Len32(s.docs) - 1
	for range slots {
		content := binary.LittleEndian.Uint32(s.table[slotSize*slot:])
		if content == 0 {
			return 0, false
		}
		if doc := content&mask - 1; content == contentOfSlot(hash, doc, s.docs) && string(s.id(doc)) == id {
			return doc, true
		}
		if slot++; slot == slots {
			slot = 0
		}
	}
	return 0, false
}

// hashOf returns the hash of an ID. The seed is a secret of the index, so that a client cannot choose IDs with equal hashes.
func hashOf[T string | []byte](seed uint64, id T) uint64 {
	const one, two = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := seed ^ uint64(len(id))*two
	for i := 0; i < len(id); i += 8 {
		v := uint64(0)
		for j := i; j < min(i+8, len(id)); j++ {
			v = v<<8 | uint64(id[j])
		}
		high, low := bits.Mul64(h^v^one, seed|1)
		h = bits.RotateLeft64(h, 23) ^ high ^ low
	}
	high, low := bits.Mul64(h^seed, two)
	return high ^ low
}

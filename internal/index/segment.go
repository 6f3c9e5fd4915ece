package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"sync/atomic"

	"keepsake/internal/text"
)

// layout is the version of the segments and the manifest. An index with another layout is rebuilt.
const layout = 4

// A segment contains a number of documents, and never changes. It is one sequence of bytes, in a file or in memory:
//
//	lists       the posting lists
//	dictionary  the terms with their lists
//	groups      where the groups of the dictionary begin, 4 bytes each
//	lengths     coded lengths of title and text, 2 bytes a document
//	languages   of the documents, a byte each; empty if all have the same
//	times       when each document was updated, 8 bytes
//	idEnds      where the ID of each document ends, 4 bytes
//	ids         the IDs
//	table       a hash table of IDs, 8 bytes a slot
//	footer      counts, where the sections end, and checksums
//
// All numbers are little-endian.
type segment struct {
	footer
	data       []byte
	lists      []byte
	dictionary dictionary
	lengths    []byte
	languages  []byte
	times      []byte
	idEnds     []byte
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
	lengthSection
	languageSection
	timeSection
	idEndSection
	idSection
	tableSection
	sections
)

// footer is the last part of a segment.
type footer struct {
	docs       uint32
	terms      uint32
	titles     int64          // sum of the lengths of titles
	texts      int64          // sum of the lengths of texts
	seed       uint64         // of the hashes of IDs
	byLanguage languageCounts // documents
	ends       [sections]uint64
	sum        uint32 // CRC-32C of all sections
}

const (
	magic      = "keepseg"
	footerSize = 8 + 4 + 4 + 8 + 8 + 8 + 4*int(text.Languages) + 8*sections + 4 + 4
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
	f.seed = binary.LittleEndian.Uint64(data[32:])
	data = data[40:]
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
	s.lengths, s.languages, s.times = section(lengthSection), section(languageSection), section(timeSection)
	s.idEnds = section(idEndSection)
	s.ids, s.table = section(idSection), section(tableSection)
	docs, languages := int(s.docs), 0
	if s.byLanguage.several() {
		languages = docs
	}
	if s.ends[tableSection] != uint64(body) || len(s.lengths) != 2*docs || s.byLanguage.docs() != int64(docs) || len(s.languages) != languages ||
		len(s.times) != 8*docs || len(s.idEnds) != 4*docs ||
		len(s.dictionary.groups) != (s.dictionary.terms+groupSize-1)/groupSize*4 || len(s.table) != slotSize*slotsFor(docs) {
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

func (s *segment) time(doc uint32) int64 { return int64(binary.LittleEndian.Uint64(s.times[8*doc:])) }

func (s *segment) id(doc uint32) []byte {
	begin := uint32(0)
	if doc > 0 {
		begin = binary.LittleEndian.Uint32(s.idEnds[4*doc-4:])
	}
	return s.ids[begin:binary.LittleEndian.Uint32(s.idEnds[4*doc:])]
}

// A slot of the hash table contains a document plus one, or zero, and the lower half of the hash of its ID.
const slotSize = 8

func slotsFor(docs int) int { return docs + docs/3 + 1 }

// slotOf returns the first slot for a hash.
func slotOf(hash uint64, slots int) int {
	slot, _ := bits.Mul64(hash, uint64(slots))
	return int(slot)
}

// find returns the document with an ID.
func (s *segment) find(id string, hash uint64) (doc uint32, ok bool) {
	slots := len(s.table) / slotSize
	slot := slotOf(hash, slots)
	for range slots {
		content := binary.LittleEndian.Uint64(s.table[slotSize*slot:])
		if uint32(content) == 0 {
			return 0, false
		}
		if uint32(content>>32) == uint32(hash) {
			if doc := uint32(content) - 1; string(s.id(doc)) == id {
				return doc, true
			}
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

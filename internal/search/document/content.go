package document

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash"
	"math"
)

// A row of an import without an ID gets one that follows from what is in it, so that the same row replaces its document.

// Entry is an entry of metadata.
type Entry struct {
	Name  string
	Value any // as in Fields.Metadata
}

// Content is a hash of what a row contains.
type Content [sha256.Size]byte

// ContentOf returns the hash of fields, without their collection, and of the entries of their metadata in the order of the row.
func ContentOf(f *Fields, entries []Entry) (c Content) {
	h := contentHash{sha256.New()}
	h.text(f.Title)
	h.text(f.Text)
	h.text(f.URL)
	h.number(uint64(len(f.Tags)))
	for _, tag := range f.Tags {
		h.text(tag)
	}
	h.text(f.Language)
	for _, e := range entries {
		h.text(e.Name)
		h.value(e.Value)
	}
	h.Sum(c[:0])
	return c
}

// contentHash hashes values so that different ones are different bytes.
type contentHash struct{ hash.Hash }

func (h contentHash) number(n uint64) {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], n)
	h.Write(bytes[:])
}

func (h contentHash) text(s string) {
	h.number(uint64(len(s)))
	h.Write([]byte(s))
}

func (h contentHash) value(value any) {
	switch value := value.(type) {
	case string:
		h.Write([]byte{'s'})
		h.text(value)
	case float64:
		h.Write([]byte{'n'})
		h.number(math.Float64bits(value + 0)) // -0 is 0
	case bool:
		h.Write([]byte{'f'})
		if value {
			h.Write([]byte{'t'})
		}
	case []any:
		h.Write([]byte{'l'})
		h.number(uint64(len(value)))
		for _, element := range value {
			h.value(element)
		}
	}
}

// rowPrefix is what the ID of a row without one begins with.
const rowPrefix = "row_"

var rowDigits = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// rowID returns the ID of a row without one. Only who has the key can tell which row an ID belongs to.
func rowID(key []byte, workspaceID, collection string, c Content) string {
	mac := hmac.New(sha256.New, key)
	h := contentHash{mac}
	h.text(workspaceID)
	h.text(collection)
	h.Write(c[:])
	return rowPrefix + rowDigits.EncodeToString(mac.Sum(nil)[:16])
}

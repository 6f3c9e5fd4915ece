package index

import (
	"encoding/binary"
	"math/bits"
)

// blockSize is the number of documents in a full block of a posting list.
const blockSize = 128

// block contains one number for each document of a full block.
type block [blockSize]uint32

// width returns the bits that the largest of the numbers needs.
func (b *block) width() int {
	all := uint32(0)
	for _, v := range b {
		all |= v
	}
	return bits.Len32(all)
}

// packed is the size of a packed block in bytes.
func packed(width int) int { return blockSize / 8 * width }

// pack appends the numbers with width bits each.
func (b *block) pack(out []byte, width int) []byte {
	buffer, filled := uint64(0), 0
	for _, v := range b {
		buffer |= uint64(v) << filled
		if filled += width; filled >= 32 {
			out = binary.LittleEndian.AppendUint32(out, uint32(buffer))
			buffer >>= 32
			filled -= 32
		}
	}
	return out
}

// slack is how many bytes after a packed block must be readable.
const slack = 8

// unpack reads the numbers that pack appended.
func (b *block) unpack(data []byte, width int) {
	switch {
	case width == 0:
		*b = block{}
	case width == 8:
		data = data[:blockSize]
		for i := range b {
			b[i] = uint32(data[i])
		}
	default:
		data = data[:packed(width)+slack]
		mask := uint64(1)<<width - 1
		for i := 0; i < blockSize; i += 4 { // four numbers take at most 128 bits, and begin at a multiple of 4 bits
			at := i * width
			b[i] = uint32(binary.LittleEndian.Uint64(data[at>>3:]) >> (at & 7) & mask)
			at += width
			b[i+1] = uint32(binary.LittleEndian.Uint64(data[at>>3:]) >> (at & 7) & mask)
			at += width
			b[i+2] = uint32(binary.LittleEndian.Uint64(data[at>>3:]) >> (at & 7) & mask)
			at += width
			b[i+3] = uint32(binary.LittleEndian.Uint64(data[at>>3:]) >> (at & 7) & mask)
		}
	}
}

// addUp replaces differences by numbers: each is the one before, plus one, plus the difference. last is the number before the
// block, or -1.
func (b *block) addUp(last int64) {
	next := uint32(last + 1)
	for i, difference := range b {
		b[i] = next + difference
		next = b[i] + 1
	}
}

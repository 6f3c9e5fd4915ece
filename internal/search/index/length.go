package index

import "math/bits"

// Lengths of titles and texts are coded in a byte: exact up to 47 words, then with four bits of precision, rounded down. All
// statistics are sums of coded lengths, so that the document can be subtracted again.

const exactLengths = 48

// lengths contains the lengths by their codes.
var lengths = func() (all [256]uint32) {
	for code := range all {
		if code < exactLengths {
			all[code] = uint32(code)
		} else {
			step := code - exactLengths + 4
			all[code] = uint32(8+step%8) << (2 + step/8)
		}
	}
	return all
}()

// codeOf returns the code of a length.
func codeOf(length int) byte {
	if length < exactLengths {
		return byte(length)
	}
	shift := bits.Len(uint(length)) - 4
	return byte(min(255, exactLengths-4+(shift-2)*8+length>>shift-8))
}

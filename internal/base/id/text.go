package id

// alphabet is Crockford's base32 in lower case, without i, l, o and u.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// bodyLen is the length of a UUID in base32. The two highest of its 130 bits are always zero, so the first character is
// 0 to 7.
const bodyLen = 26

const invalid = 0xff

// values maps the characters of alphabet to their values.
var values = func() (v [256]byte) {
	for i := range v {
		v[i] = invalid
	}
	for i := range len(alphabet) {
		v[alphabet[i]] = byte(i)
	}
	return v
}()

// Format returns an ID as text: prefix, underscore, 26 characters.
func Format(prefix string, u UUID) string {
	var buf [16 + 1 + bodyLen]byte
	return string(Append(buf[:0], prefix, u))
}

// Append appends the result of Format to dst.
func Append(dst []byte, prefix string, u UUID) []byte {
	dst = append(append(dst, prefix...), "_00000000000000000000000000"...)
	body := dst[len(dst)-bodyLen:]
	// Five bytes become eight characters. The first byte is encoded separately, as three bits and five bits.
	body[0] = alphabet[u[0]>>5]
	body[1] = alphabet[u[0]&31]
	for i, o := 1, 2; i < len(u); i, o = i+5, o+8 {
		bits := uint64(u[i])<<32 | uint64(u[i+1])<<24 | uint64(u[i+2])<<16 | uint64(u[i+3])<<8 | uint64(u[i+4])
		eight := (*[8]byte)(body[o:])
		eight[0], eight[1], eight[2], eight[3] = alphabet[bits>>35&31], alphabet[bits>>30&31], alphabet[bits>>25&31], alphabet[bits>>20&31]
		eight[4], eight[5], eight[6], eight[7] = alphabet[bits>>15&31], alphabet[bits>>10&31], alphabet[bits>>5&31], alphabet[bits&31]
	}
	return dst
}

// Parse parses the output of Format. It accepts nothing else: no other prefix, no capitals, no character outside the
// alphabet, no first character above 7.
func Parse(prefix, s string) (u UUID, ok bool) {
	if len(s) != len(prefix)+1+bodyLen || s[:len(prefix)] != prefix || s[len(prefix)] != '_' {
		return UUID{}, false
	}
	body := s[len(prefix)+1:]
	first, second := values[body[0]], values[body[1]]
	if first > 7 || second == invalid {
		return UUID{}, false
	}
	u[0] = first<<5 | second
	for i, o := 1, 2; i < len(u); i, o = i+5, o+8 {
		var bits uint64
		for c := range 8 {
			v := values[body[o+c]]
			if v == invalid {
				return UUID{}, false
			}
			bits = bits<<5 | uint64(v)
		}
		u[i], u[i+1], u[i+2], u[i+3], u[i+4] = byte(bits>>32), byte(bits>>24), byte(bits>>16), byte(bits>>8), byte(bits)
	}
	return u, true
}

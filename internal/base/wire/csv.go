package wire

import "bytes"

// LooksLikeCSV reports whether a text that is not JSON begins like a table: with values between commas, semicolons or tabs.
func LooksLikeCSV(text []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(bytes.TrimPrefix(text, ByteOrderMark)), []byte{'\n'})
	if len(first) == 0 || first[0] == '{' || first[0] == '[' || bytes.IndexByte(first, 0) >= 0 { // the last is UTF-16
		return false
	}
	return bytes.ContainsAny(first, ",;\t") && !bytes.Contains(first, []byte(`":`)) // the latter is a line of an object
}

package document

// DefaultCollection is the collection of a document that names none.
const DefaultCollection = "default"

// Fields is what a client writes of a document.
type Fields struct {
	Collection string // empty: DefaultCollection
	Title      string
	Text       string
	URL        string
	Tags       []string
	Metadata   map[string]any // string, float64 or bool
}

// ValidID reports whether id matches [A-Za-z0-9][A-Za-z0-9._:-]{0,127}.
func ValidID(id string) bool {
	if id == "" || len(id) > 128 || !letterOrDigit(id[0]) {
		return false
	}
	for i := 1; i < len(id); i++ {
		if c := id[i]; !letterOrDigit(c) && c != '.' && c != '_' && c != ':' && c != '-' {
			return false
		}
	}
	return true
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

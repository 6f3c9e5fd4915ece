package text

// Stopword reports whether a folded word is so common that it does not affect the rank. It is searched like any other
// word.
func Stopword(word string) bool {
	_, ok := stopwords[word]
	return ok
}

var stopwords = func() map[string]struct{} {
	list := []string{
		"a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
		"for", "from", "had", "has", "have", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
		"me", "my", "no", "not", "of", "on", "or", "our", "she", "should", "so", "some", "than", "that", "the", "their",
		"them", "then", "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where",
		"which", "who", "why", "will", "with", "would", "you", "your",
	}
	set := make(map[string]struct{}, len(list))
	for _, w := range list {
		set[w] = struct{}{}
	}
	return set
}()

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

// otherEnglish are words that vote for English in addition to its stop words: frequent ones, and those that are stop words of
// other languages. They are no stop words themselves.
const otherEnglish = `
after all also am around away back bare because before being best between big bin both came come comes dare day days
die dies dig dine dog don don't door dove down each end even every fan far fare few fin fit fur get go good got ham
hat here hit i'm ill ins isn't it's just know last less let like lit little long lot made main make man many may men
met mill mind mine mint miss more most much must new next nor note now off old once one only other out over own pan
per pot prima put ran same sea seas see side since sit son sons still such sue sum sun sure take tale tall tar ten tie
time ton too tot two under until up upon us van vat very vet want war way well win wire without year years yes yet
you're
`

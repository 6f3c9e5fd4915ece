package opensearch

import "math/bits"

// OpenSearch keeps one number with each term of a document, of which it gives a score 24 bits. They contain how often a stem occurs in
// the title and in the text, and the coded lengths of both, so that a score can be computed with the weights and the averages of the
// moment, and is the same as that of an index of the program. Only frequencies of 64 and more in a text are rounded, down by at most a
// sixteenth, and those in a title count up to 10.

const (
	frequencyMark = "|" // between a stem and its packed frequencies

	textFrequencies = 120
	titleCodes      = 85  // the code of the longest title, 1,024 words, is 84
	textCodes       = 149 // the code of the longest text, 262,144 words, is 148
	mostInTitle     = 10
	exactInText     = 64
)

// packed packs frequencies, of which one is not 0, and coded lengths.
func packed(title, text int, titleCode, textCode byte) int {
	n := min(title, mostInTitle)*textFrequencies + frequencyCode(text)
	return (n*titleCodes+min(int(titleCode), titleCodes-1))*textCodes + min(int(textCode), textCodes-1)
}

// frequencyCode is exact below 64, and has four bits of precision from then on.
func frequencyCode(n int) int {
	if n < exactInText {
		return n
	}
	shift := bits.Len(uint(n)) - 5
	return min(textFrequencies-1, exactInText+(shift-2)*16+n>>shift-16)
}

// The scripts compute units of index.Scale. Their numbers are those of the program to the last bit: both compute in the same order with
// doubles. A packed length is coded as package index codes it: exact below 48, and then with four bits of precision.
const (
	scaledScript = `double score(double title, double titleLength, double text, double textLength, Map p) {
  double f = title * (p.title / (p.fixed + p.share * titleLength / p.averageTitle)) + text * (p.text / (p.fixed + p.share * textLength / p.averageText));
  return (int)(p.weight * (f * (p.k1 + 1) / (p.k1 + f)) * p.unit + 0.5) + p.bonus;
}
`
	stemScript = scaledScript + `double lengthOf(int code) {
  if (code < 48) { return code; }
  int step = code - 44;
  return (8 + step % 8) << (2 + step / 8);
}
int n = (int) _score;
int x = n % 149; n = n / 149;
int t = n % 85; n = n / 85;
int text = n % 120;
if (text >= 64) { text = (16 + (text - 64) % 16) << (2 + (text - 64) / 16); }
return score(n / 120, lengthOf(t), text, lengthOf(x), params);`

	// A phrase gets 1,024 times its frequency in the title and once that in the text, for each of its words.
	phraseScript = scaledScript + `int n = (int) (_score / params.words + 0.5);
return score(n / 1024, doc['titleLength'].value, n % 1024, doc['textLength'].value, params);`
	titleBoost = 1024
)

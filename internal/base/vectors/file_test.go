package vectors

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// topics are words that occur together. Made vectors of words of a topic have similar directions.
var topics = []string{
	"tea coffee juice water", "dog cat horse cow", "train bus ferry tram", "guitar violin flute drum", "apple pear plum cherry",
	"doctor nurse clinic ward", "rain snow fog hail", "red blue green yellow", "Söhne Töchter Mütter Väter", "nail hammer saw drill",
}

// madeText returns vectors of the words of topics in the text form, without a heading.
func madeText() string {
	random := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	for _, topic := range topics {
		var middle [40]float64
		for i := range middle {
			middle[i] = random.NormFloat64()
		}
		for word := range strings.FieldsSeq(topic) {
			b.WriteString(word)
			for _, v := range middle {
				fmt.Fprintf(&b, " %.4f", v+0.2*random.NormFloat64())
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// packed writes a file with the table of a text.
func packed(t *testing.T, text string) string {
	t.Helper()
	words, rows, err := ReadText(strings.NewReader(text), 1000)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	body, n := Pack(words, rows)
	if err := Write(&file, body, n); err != nil {
		t.Fatal(err)
	}
	return written(t, file.Bytes())
}

func written(t *testing.T, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "words.vectors")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestAPackedFileHasTheWordsOfTheText(t *testing.T) {
	t.Parallel()
	table, err := ReadFile(packed(t, madeText()))
	if err != nil {
		t.Fatal(err)
	}
	if table.Len() != 40 || table.EnglishOnly() {
		t.Errorf("it has %d words, English only: %v", table.Len(), table.EnglishOnly())
	}
	products := make([]int32, 2)
	for _, c := range [][3]string{{"tea", "coffee", "hammer"}, {"violin", "drum", "cow"}, {"sohne", "mutter", "train"}} {
		table.Products(table.Find(c[0]), []Word{table.Find(c[1]), table.Find(c[2])}, products)
		if products[0] < One*One/2 || products[0] < 2*products[1] {
			t.Errorf("%s has the product %d with %s and %d with %s", c[0], products[0], c[1], products[1], c[2])
		}
	}
	if table.Find("xqzzy") != (Word{}) {
		t.Error("an unknown word is found")
	}
}

func TestFormsOfTheTextAreRead(t *testing.T) {
	t.Parallel()
	row := strings.Repeat(" 0.5", LeastGiven)
	zip := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		fmt.Fprint(w, s)
		w.Close()
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"GloVe":               {"tea" + row + "\ncoffee" + row + "\n", "tea coffee"},
		"word2vec":            {"2 35\ntea" + row + "\ncoffee" + row + "\n", "tea coffee"},
		"fastText":            {"2 35\ntea" + row + " \ncoffee" + row + " \n", "tea coffee"},
		"tabs and CR":         {strings.ReplaceAll("tea"+row, " ", "\t") + "\r\n", "tea"},
		"gzip":                {zip("2 35\ntea" + row + "\n"), "tea"},
		"folded, once":        {"Straße" + row + "\nSTRASSE" + row + "\nMüller" + row + "\n", "strasse muller"},
		"no single words":     {"tea" + row + "\n." + row + "\nnew_york" + row + "\n. ." + row + "\n北京" + row + "\n", "tea"},
		"at most three words": {"a" + row + "\nb" + row + "\nc" + row + "\nd" + row + "\n", "a b c"},
	} {
		words, rows, err := ReadText(strings.NewReader(c.text), 3)
		if got := strings.Join(words, " "); err != nil || got != c.want || len(rows) != len(words) {
			t.Errorf("%s: read %q and %d rows, %v; want %q", name, got, len(rows), err, c.want)
		}
	}
	for text, want := range map[string]string{
		"tea 1 2 3\n":                               "line 1 is not a word with at least 35 numbers",
		"tea" + row + "\ncoffee 1 2\n":              "line 2 has 2 numbers, but the first word has 35",
		"tea" + row + "\ncoffee" + row[4:] + " x\n": "line 2: number 35 is not a number of a vector",
		"tea" + row[4:] + " NaN\n":                  "line 1: number 35 is not a number of a vector",
	} {
		if _, _, err := ReadText(strings.NewReader(text), 3); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestAWrongFileIsNamed(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(packed(t, madeText()))
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(whole)
	changed[len(changed)/2]++
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":           {nil, errOtherFile},
		"a text":          {[]byte(madeText()), errOtherFile},
		"no line":         {[]byte("keepsake vectors 1 40 32"), errOtherFile},
		"no words":        {[]byte("keepsake vectors 1 0 32\n"), errOtherFile},
		"another version": {bytes.Replace(whole, []byte("vectors 1"), []byte("vectors 2"), 1), errOtherForm},
		"other vectors":   {bytes.Replace(whole, []byte(" 32\n"), []byte(" 64\n"), 1), errOtherForm},
		"cut off":         {whole[:len(whole)-1], errDamaged},
		"a header alone":  {whole[:25], errDamaged},
		"longer":          {append(bytes.Clone(whole), 0), errDamaged},
		"changed":         {changed, errDamaged},
		"other words":     {bytes.Replace(whole, []byte(" 40 "), []byte(" 41 "), 1), errDamaged},
	} {
		if _, err := ReadFile(written(t, c.data)); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "absent")); err == nil || err.Error() != "cannot be read: no such file or directory" {
		t.Errorf("of an absent file: %v", err)
	}
}

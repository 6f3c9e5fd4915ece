package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/base/vectors"
)

// madeTopics are words that occur together, with German stop words around them in the memories below.
var madeTopics = []string{
	"getränk kaffee tee saft", "hund katze pferd kuh", "zug bus fähre bahn", "gitarre geige flöte trommel", "apfel birne pflaume kirsche",
	"arzt klinik praxis pflege", "regen schnee nebel hagel", "rot blau grün gelb", "sohn tochter mutter vater", "nagel hammer säge bohrer",
	"miete wohnung keller balkon", "geld lohn steuer konto",
}

// packVectors packs made vectors of the words of topics and returns the name of the file.
func packVectors(t *testing.T) string {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 5))
	var text strings.Builder
	for _, topic := range madeTopics {
		var middle [40]float64
		for i := range middle {
			middle[i] = random.NormFloat64()
		}
		for word := range strings.FieldsSeq(topic) {
			text.WriteString(word)
			for _, v := range middle {
				fmt.Fprintf(&text, " %.4f", v+0.2*random.NormFloat64())
			}
			text.WriteByte('\n')
		}
	}
	words, rows, err := vectors.ReadText(strings.NewReader(text.String()), 1000)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "german.vectors")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	body, n := vectors.Pack(words, rows)
	if err := vectors.Write(f, body, n); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestAFileOfVectorsTakesThePlaceOfTheTable(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		config.On: "", config.Off: "", packVectors(t): "Sie hat die Gitarre und die Geige nicht mehr",
	} {
		p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Recall.Vectors = setting }))
		c, err := client.New(p.URL, p.Key)
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range madeTopics {
			words := strings.Fields(topic)
			for i, word := range words {
				words[i] = strings.ToUpper(word[:1]) + word[1:]
			}
			text := fmt.Sprintf("Sie hat die %s und die %s nicht mehr", words[0], words[1])
			if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		found, err := c.Recall(t.Context(), client.RecallQuery{SubjectID: "ada", Query: "Flöte, Trommel?", Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range found.Results {
			got = append(got, r.Memory.Text)
		}
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || got[0] != want) {
			t.Errorf("with %s, %q is found, want %q first", filepath.Base(setting), got, want)
		}
	}
}

func TestAWrongFileOfVectorsStopsTheStart(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "glove.txt")
	if err := os.WriteFile(text, []byte("the 0.1 0.2 0.3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, reason := range map[string]string{
		text:         "is not a file that `keepsake vectors pack` wrote",
		text + ".no": "cannot be read: no such file or directory",
	} {
		c := apptest.Local(t, t.TempDir())
		c.Recall.Vectors = name
		a, err := app.New(context.Background(), c, apptest.Silent())
		if err == nil {
			a.Close()
		}
		if want := "setting recall.vectors: " + name + " " + reason; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

package app_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	words "keepsake/internal/base/text"
	"keepsake/internal/testing/testtier"
)

// startEncoder starts a real encoder behind an endpoint and returns its address.
func startEncoder(t *testing.T) string {
	t.Helper()
	python, err := filepath.Abs("../../tools/encoder/.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(python), "..", "installed")); err != nil {
		testtier.Missing(t, "the encoder (tools/engines.sh all, with Python 3 and its venv)")
	}
	cmd := exec.Command(python, "../../tools/encoder/server.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the encoder: %v", err)
		}
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the encoder did not start: %v", err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(port) + "/v1"
}

// significantWords returns the stems of the words of a text that are not stop words.
func significantWords(s string) map[string]bool {
	stems := map[string]bool{}
	words.NewAnalyzer().Scan(s, func(t words.Token) bool {
		if !words.English.Stopword(t.Word) {
			stems[t.Term] = true
		}
		return true
	})
	return stems
}

func TestQuestionsShareNoWordWithTheirNotes(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, about := range aboutLife {
		if about.question != "" {
			asked++
		}
		noted := significantWords(about.note)
		for word := range significantWords(about.question) {
			if noted[word] {
				t.Errorf("%q and %q share %q", about.question, about.note, word)
			}
		}
	}
	if len(aboutLife) != 100 || asked != 30 {
		t.Errorf("there are %d notes and %d questions", len(aboutLife), asked)
	}
}

func TestARealEncoderFindsWhatWordsDoNot(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "computes 160 vectors with a real encoder")
	url := startEncoder(t)
	var notes []string
	for _, about := range aboutLife {
		notes = append(notes, about.note)
	}
	// found returns how many questions have their note among the first three.
	found := func(c *client.Client) (n int) {
		t.Helper()
		for _, about := range aboutLife {
			if about.question == "" {
				continue
			}
			got, err := c.Recall(t.Context(), client.RecallQuery{SubjectID: "ada", Query: about.question, Limit: 3})
			if err != nil || len(got.Degraded) > 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			if slices.ContainsFunc(got.Results, func(r client.RecallResult) bool { return r.Memory.Text == about.note }) {
				n++
			}
		}
		return n
	}
	start := func(set func(c *config.Config)) (*apptest.Running, *tenant, *client.Client) {
		p := apptest.Start(t, apptest.With(set))
		alpha, c := embeddingTenant(t, p, "alpha", notes...)
		return p, alpha, c
	}
	_, _, alone := start(func(c *config.Config) { c.Recall.Vectors = config.Off })
	p, alpha, c := start(func(c *config.Config) {
		c.Embeddings = config.Embeddings{URL: url, Model: "minilm", Key: "unused", AllowPrivate: true, DailyTexts: 10_000, Patience: c.Embeddings.Patience}
	})
	words, table := found(alone), found(c)
	useEmbeddings(t, p, alpha.workspace)
	encoder := found(c)
	t.Logf("of 30 questions, %d have their note among the first three by words, %d with the table of vectors of words, and %d with the encoder", words, table, encoder)
	if encoder < 2*words || encoder < 24 || 30-encoder > (30-table)/2 {
		t.Error("want twice as many with the encoder as by words, 24 at least, and at most half of those that the table misses")
	}
}

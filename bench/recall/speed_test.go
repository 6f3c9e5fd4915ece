package recall

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
	engine "keepsake/internal/memory/recall"
)

// large is how many memories are searched.
const large = 10_000

// crowd repeats the conversations, with something of its own in each copy, until there are enough.
func crowd(b *testing.B) (turns []turn, questions []string) {
	b.Helper()
	once, asked, err := conversationsOf(scenes)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; len(turns) < large; i++ {
		t := once[i%len(once)]
		if nth := i / len(once); nth > 0 {
			t.Text = fmt.Sprintf("%s %d", t.Text, nth)
			t.Session = fmt.Sprint(t.Session, "-", nth)
		}
		t.ID, t.Session = fmt.Sprintf("mem_%026d", i), t.Conversation+t.Session
		turns = append(turns, t)
	}
	for _, q := range asked {
		questions = append(questions, q.Question)
	}
	return turns, questions
}

// measure asks one question after the other and reports what most of them take.
func measure(b *testing.B, questions []string, ask func(question string) int) {
	b.Helper()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if ask(questions[i%len(questions)]) < 0 {
			b.Fatal("no answer")
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// Both search the same 10,000 texts for the same questions; SQLite ranks by words alone.
func BenchmarkEngine(b *testing.B) {
	turns, questions := crowd(b)
	x := engine.New(text.NewAnalyzer(), vectors.Builtin(), 0)
	for i, t := range turns {
		x.Put(engine.Item{ID: t.ID, Text: t.Text, Speaker: t.Speaker, SessionID: t.Session, OccurredAt: &t.At, CreatedAt: time.Unix(int64(i), 0)})
	}
	now := time.Now()
	measure(b, questions, func(q string) int {
		hits, err := x.Search(nil, engine.Query{Text: q, Limit: 10, Now: now})
		if err != nil {
			b.Fatal(err)
		}
		return len(hits)
	})
}

var word = regexp.MustCompile(`[\pL\pN]+`)

func BenchmarkFTS5(b *testing.B) {
	turns, questions := crowd(b)
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, body, tokenize='porter')`); err != nil {
		b.Fatal(err)
	}
	for _, t := range turns {
		if _, err := db.Exec(`INSERT INTO t VALUES ($1, $2)`, t.ID, t.Text); err != nil {
			b.Fatal(err)
		}
	}
	find, err := db.Prepare(`SELECT id FROM t WHERE t MATCH $1 ORDER BY rank LIMIT 10`)
	if err != nil {
		b.Fatal(err)
	}
	measure(b, questions, func(q string) int {
		var words []string
		for _, w := range word.FindAllString(strings.ToLower(q), -1) {
			if !text.Stopword(w) {
				words = append(words, `"`+w+`"`)
			}
		}
		rows, err := find.Query(strings.Join(words, " OR "))
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		n := 0
		for rows.Next() {
			n++
		}
		return n
	})
}

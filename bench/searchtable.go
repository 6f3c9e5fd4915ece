package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/base/text"
)

// The sizes of the corpora of the table of search.
var (
	smallCorpus   = flag.Int("documents", 100_000, "search, scale: documents in which two words are searched")
	largeCorpus   = flag.Int("large", 1_000_000, "search: documents of the corpus in which five words are searched; 0: none")
	manyLanguages = flag.Bool("languages", false, "search: documents of ten languages, whose stop words are among the made words")
)

// measureSearchTable measures imports and searches of the built program from outside, and SQLite FTS5, by words and
// by trigrams, with the same documents and queries in this process. All have one core.
func measureSearchTable(c contest, dir string, builds []string) error {
	fmt.Printf("\n%-46s %16s %16s %16s   load %s\n", "search, documents of about 430 bytes", "keepsake", "SQLite FTS5", "with trigrams", load())
	for _, size := range []struct{ documents, words int }{{*smallCorpus, 2}, {*largeCorpus, 5}} {
		if size.documents == 0 {
			continue
		}
		t := &searchTable{corpus: newCorpus(size.documents, size.words), dir: filepath.Join(dir, fmt.Sprint(size.documents))}
		if err := errors.Join(t.keepsake(builds[0]), t.fts(&t.sides[1], ftsWords), t.fts(&t.sides[2], ftsTrigrams)); err != nil {
			return err
		}
		t.print()
		if err := os.RemoveAll(t.dir); err != nil {
			return err
		}
	}
	return nil
}

// corpus generates documents whose words have frequencies like those of a language, and queries of words of one document.
type corpus struct {
	documents int
	queries   []string
	bytes     int64 // of titles and texts
}

const queriesEach = 500

func newCorpus(documents, words int) *corpus {
	c := &corpus{documents: documents}
	r := rand.New(rand.NewPCG(8, 9))
	every := max(1, documents/queriesEach)
	_ = c.each(func(i int, title, text string) error {
		if c.bytes += int64(len(title) + len(text)); i%every != 0 {
			return nil
		}
		all := strings.Fields(text)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = slices.DeleteFunc(all, func(w string) bool { return len(w) < 3 }) // the most frequent words are that short
		c.queries = append(c.queries, strings.Join(all[:min(words, len(all))], " "))
		return nil
	})
	return c
}

// each calls do with the documents, which are the same each time.
func (c *corpus) each(do func(i int, title, text string) error) error {
	const last = 200_000
	r := rand.New(rand.NewPCG(6, 7))
	zipf := rand.NewZipf(r, 1.1, 4, last)
	vocabulary := vocabularyOf(last + 1)
	for i := range c.documents {
		var words []string
		for length := 0; length < 300+r.IntN(180); {
			words = append(words, vocabulary[zipf.Uint64()])
			length += len(words[len(words)-1]) + 1
		}
		if err := do(i, strings.Join(words[:5], " "), strings.Join(words, " ")); err != nil {
			return err
		}
	}
	return nil
}

// vocabularyOf returns n made words. None is a stop word: with those, most documents would be in one of ten languages, in which a
// collection hardly ever is.
func vocabularyOf(n int) []string {
	words := make([]string, 0, n)
	for i := uint64(0); len(words) < n; i++ {
		if word := nthWord(i); *manyLanguages || text.VotesOf(word, word).For == 0 {
			words = append(words, word)
		}
	}
	return words
}

// nthWord returns a word. Rare words are longer.
func nthWord(n uint64) string {
	const letters = "etaoinshrdlu"
	var b strings.Builder
	for n += 12; n > 0; n /= 12 {
		b.WriteByte(letters[n%12])
	}
	return b.String()
}

// searchTable is what was measured for one corpus.
type searchTable struct {
	*corpus
	dir   string
	sides [3]measuredSearch // Keepsake, FTS5, and FTS5 with trigrams
	start time.Duration     // of the program on its full data folder, until a search succeeds
	built int64             // documents that were indexed again at the start
}

type measuredSearch struct {
	importCPU time.Duration // in all
	took      []time.Duration
	bytes     int64
	resident  int64 // MB after the queries; 0: not measured
}

func (t *searchTable) keepsake(build string) error {
	dir := filepath.Join(t.dir, "data")
	p, err := startProgram(build, dir)
	if err != nil {
		return err
	}
	defer func() { p.stop() }()
	ctx, m := context.Background(), &t.sides[0]
	before := p.cpu()
	if err := t.send(ctx, p.client); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	m.importCPU = p.cpu() - before
	for _, q := range t.queries {
		found, err := p.client.Search(ctx, keepsake.Query{Q: q})
		if err != nil {
			return fmt.Errorf("search: %w", err)
		}
		m.took = append(m.took, time.Duration(found.TookMs*float64(time.Millisecond)))
	}
	m.resident = residentOf(p.cmd.Process.Pid)
	if err := p.restart(ctx, &t.start, t.queries[0]); err != nil {
		return err
	}
	stats, err := p.client.CacheStats(ctx)
	if err != nil {
		return err
	}
	t.built = stats.SearchIndexes.Rewritten + stats.SearchIndexes.MemoryBytes
	p.stop()
	m.bytes, err = sizeOf(dir)
	return err
}

// send imports the corpus.
func (t *searchTable) send(ctx context.Context, c *keepsake.Client) error {
	out, in := io.Pipe()
	go func() {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		in.CloseWithError(t.each(func(i int, title, text string) error {
			line.Reset()
			if err := encoder.Encode(map[string]string{"id": fmt.Sprint("d", i), "title": title, "text": text}); err != nil {
				return err
			}
			_, err := in.Write(line.Bytes())
			return err
		}))
	}()
	done, err := c.ImportDocuments(ctx, out, nil)
	if err != nil || done.Created != int64(t.documents) {
		return fmt.Errorf("import: %+v, %w", done, err)
	}
	return nil
}

// settle waits until everything is indexed, in files and merged.
func (p *program) settle(ctx context.Context) error {
	const still = 20 * time.Millisecond // of CPU in half a second
	for quiet, end := 0, time.Now().Add(10*time.Minute); quiet < 4; {
		if time.Now().After(end) {
			return errors.New("the index does not come to rest")
		}
		before := p.cpu()
		time.Sleep(500 * time.Millisecond)
		used := p.cpu() - before
		stats, err := p.client.CacheStats(ctx)
		if err != nil {
			return err
		}
		if quiet++; stats.SearchIndexes.LagChanges > 0 || stats.SearchIndexes.MemoryBytes > 256<<10 || used > still {
			quiet = 0
		}
	}
	return nil
}

// restart ends the program in order, starts it on the same folder, and sets took to the time until a search succeeds.
func (p *program) restart(ctx context.Context, took *time.Duration, q string) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("stop the program: %w", err)
	}
	again := exec.Command(p.cmd.Path, p.cmd.Args[1:]...)
	again.Env = p.cmd.Env
	p.cmd = again
	began := time.Now()
	if err := again.Start(); err != nil {
		return err
	}
	once, err := keepsake.New("http://"+p.address, p.key, keepsake.Retries(0))
	if err != nil {
		return err
	}
	for {
		if _, err = once.Search(ctx, keepsake.Query{Q: q}); err == nil {
			*took = time.Since(began)
			return nil
		}
		if time.Since(began) > 10*time.Minute {
			return fmt.Errorf("search after a restart: %w", err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// The tokenizers of FTS5 that are measured. A word that has fewer than three characters finds nothing with trigrams.
const (
	ftsWords    = "porter unicode61"
	ftsTrigrams = "trigram"
)

func (t *searchTable) fts(m *measuredSearch, tokenizer string) error {
	path := filepath.Join(t.dir, "fts-"+tokenizer+".db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	generation := cpuTime()
	if err := t.each(func(int, string, string) error { return nil }); err != nil {
		return err
	}
	generation = cpuTime() - generation
	before := cpuTime()
	if err := t.fillFTS(db, tokenizer); err != nil {
		return errors.Join(err, db.Close())
	}
	m.importCPU = cpuTime() - before - generation
	find, err := db.Prepare("SELECT id, title, text FROM docs WHERE docs MATCH ? ORDER BY bm25(docs, 0, 2.5, 1) LIMIT 10")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	for _, q := range t.queries[:min(len(t.queries), 100)] { // it is slow
		began := time.Now()
		rows, err := find.Query(anyOf(q))
		if err != nil {
			return errors.Join(err, db.Close())
		}
		for rows.Next() {
			var id, title, text string
			err = errors.Join(err, rows.Scan(&id, &title, &text))
		}
		if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return errors.Join(err, db.Close())
		}
		m.took = append(m.took, time.Since(began))
	}
	if err := errors.Join(find.Close(), db.Close()); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	m.bytes = info.Size()
	return nil
}

func (t *searchTable) fillFTS(db *sql.DB, tokenizer string) error {
	if _, err := db.Exec("CREATE VIRTUAL TABLE docs USING fts5(id UNINDEXED, title, text, tokenize = '" + tokenizer + "')"); err != nil {
		return err
	}
	var tx *sql.Tx
	var insert *sql.Stmt
	err := t.each(func(i int, title, text string) (err error) {
		const chunk = 4_096
		if i%chunk == 0 {
			if tx != nil {
				if err := tx.Commit(); err != nil {
					return err
				}
			}
			if tx, err = db.Begin(); err != nil {
				return err
			}
			if insert, err = tx.Prepare("INSERT INTO docs (id, title, text) VALUES (?, ?, ?)"); err != nil {
				return err
			}
		}
		_, err = insert.Exec(fmt.Sprint("d", i), title, text)
		return err
	})
	if tx == nil {
		return err
	}
	return errors.Join(err, tx.Commit())
}

func (t *searchTable) print() {
	cell := func(text func(m *measuredSearch) string) [3]string {
		return [3]string{text(&t.sides[0]), text(&t.sides[1]), text(&t.sides[2])}
	}
	line := func(what string, cells [3]string) {
		fmt.Printf("%-46s %16s %16s %16s\n", what, cells[0], cells[1], cells[2])
	}
	n := fmt.Sprintf("%d documents: ", t.documents)
	words := len(strings.Fields(t.queries[0]))
	line(n+"import, CPU each", cell(func(m *measuredSearch) string {
		return fmt.Sprint((m.importCPU / time.Duration(t.documents)).Round(100 * time.Nanosecond))
	}))
	line(fmt.Sprint(n, words, " words, p50 / p99 ms"), cell(func(m *measuredSearch) string {
		slices.Sort(m.took)
		ms := func(share float64) float64 { return quantile(m.took, share).Seconds() * 1000 }
		return fmt.Sprintf("%.2f / %.2f", ms(0.5), ms(0.99))
	}))
	line(n+"data relative to the text", cell(func(m *measuredSearch) string { return fmt.Sprintf("%.2f", float64(m.bytes)/float64(t.bytes)) }))
	line(n+"resident after queries, MB", [3]string{fmt.Sprint(t.sides[0].resident), "-", "-"})
	line(n+"start until a search", [3]string{fmt.Sprint(t.start.Round(time.Millisecond)), "-", "-"})
	line(n+"indexed again at the start", [3]string{fmt.Sprint(t.built), "-", "-"})
}

// residentOf returns the resident memory of a process in MB.
func residentOf(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kb int64
	_, _ = fmt.Sscan(rest, &kb)
	return kb / 1024
}

// sizeOf returns the size of the files in a folder.
func sizeOf(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

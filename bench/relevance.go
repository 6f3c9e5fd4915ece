package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"
	"unicode"

	"keepsake/bench/relevance"
	"keepsake/internal/base/page"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// measureRelevance prints how well search ranks, next to SQLite FTS5.
func measureRelevance(contest) error {
	set, err := relevance.Load()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "keepsake-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, closeOurs, err := searchOf(dir, set)
	if err != nil {
		return err
	}
	plain, closePlain, err := ftsOf(dir, ftsWords, set)
	if err != nil {
		return errors.Join(err, closeOurs())
	}
	trigrams, closeTrigrams, err := ftsOf(dir, ftsTrigrams, set)
	if err != nil {
		return errors.Join(err, closeOurs(), closePlain())
	}
	fmt.Printf("\nrelevance: %d documents, %d queries, nDCG@10\n", len(set.Documents), len(set.Queries))
	fmt.Printf("%24s %10s %12s %8s\n", "", "as written", "with a typo", "kept")
	for _, ranker := range []struct {
		name string
		find func(q string) ([]string, error)
	}{
		{"keepsake", func(q string) ([]string, error) { return ours(q, true) }},
		{"keepsake, fuzzy=off", func(q string) ([]string, error) { return ours(q, false) }},
		{"SQLite FTS5", plain},
		{"SQLite FTS5, trigrams", trigrams},
	} {
		written, misspelled, err := quality(set, ranker.find)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", ranker.name, err), closeOurs(), closePlain(), closeTrigrams())
		}
		fmt.Printf("%24s %10.4f %12.4f %6.1f %%\n", ranker.name, written, misspelled, 100*misspelled/written)
	}
	return errors.Join(closeOurs(), closePlain(), closeTrigrams())
}

// typos is how many misspelled forms of each query are measured.
const typos = 5

// quality returns the mean nDCG@10 of the queries, and of misspelled queries.
func quality(set *relevance.Set, find func(q string) ([]string, error)) (written, misspelled float64, err error) {
	r := rand.New(rand.NewPCG(3, 4))
	n := 0
	for i := range set.Queries {
		q := &set.Queries[i]
		ids, err := find(q.Text)
		if err != nil {
			return 0, 0, err
		}
		written += relevance.NDCG(ids, q.Grades)
		for range typos {
			text, ok := relevance.Misspell(r, q.Text)
			if !ok {
				break
			}
			if ids, err = find(text); err != nil {
				return 0, 0, err
			}
			misspelled += relevance.NDCG(ids, q.Grades)
			n++
		}
	}
	return written / float64(len(set.Queries)), misspelled / float64(n), nil
}

// texts is a Source of the documents of a set.
type texts []document.Change

func (t texts) Documents(_ context.Context, _ string, ids []string) ([]document.Document, error) {
	list := make([]document.Document, len(ids))
	for i, id := range ids {
		list[i] = document.Document{ID: id}
	}
	return list, nil
}

func (t texts) FollowDocuments(_ context.Context, _ string, f document.Following) ([]document.Change, document.State, error) {
	return t[f.After:min(int(f.After)+f.Limit, len(t))], t.state(), nil
}

func (t texts) DocumentState(context.Context, string) (document.State, error) { return t.state(), nil }

func (t texts) HadDocumentState(context.Context, string, document.State) (bool, error) {
	return true, nil
}

func (t texts) state() document.State { return document.State{Change: int64(len(t)), Mark: 1} }

func (t texts) DocumentCount(context.Context, string) (int64, error) { return int64(len(t)), nil }

func (t texts) ChangedWorkspaces(context.Context) (map[string]document.State, error) {
	return map[string]document.State{"bench": t.state()}, nil
}

// searchOf returns the search of the program.
func searchOf(dir string, set *relevance.Set) (find func(q string, repair bool) ([]string, error), stop func() error, err error) {
	var source texts
	for i, d := range set.Documents {
		source = append(source, document.Change{Number: int64(i + 1), ID: d.ID, Document: &document.Document{ID: d.ID, Title: d.Title, Text: d.Text}})
	}
	x := search.NewIndexer(search.IndexerOptions{Dir: dir + "/index", Source: source, Log: slog.New(slog.DiscardHandler), Now: time.Now, Wait: time.Minute})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	service := search.NewService(x, page.NewSealer([]byte("secret of the benchmark")), nil, time.Now)
	find = func(q string, repair bool) ([]string, error) {
		answer, err := service.Search(ctx, "bench", search.Request{Query: q, Repair: repair})
		if err != nil {
			return nil, err
		}
		var ids []string
		for i := range answer.Results {
			ids = append(ids, answer.Results[i].Document.ID)
		}
		return ids, nil
	}
	return find, func() error {
		cancel()
		return errors.Join(<-done, x.Close())
	}, nil
}

// ftsOf returns a search by SQLite FTS5 with a tokenizer.
func ftsOf(dir, tokenizer string, set *relevance.Set) (find func(q string) ([]string, error), stop func() error, err error) {
	db, err := sql.Open("sqlite", "file:"+dir+"/fts-"+tokenizer+".db?_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	tx, err := db.Begin()
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	_, err = tx.Exec("CREATE VIRTUAL TABLE docs USING fts5(id UNINDEXED, title, text, tokenize = '" + tokenizer + "')")
	for i := 0; i < len(set.Documents) && err == nil; i++ {
		d := &set.Documents[i]
		_, err = tx.Exec("INSERT INTO docs (id, title, text) VALUES (?, ?, ?)", d.ID, d.Title, d.Text)
	}
	if err = errors.Join(err, tx.Commit()); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	find = func(q string) ([]string, error) {
		rows, err := db.Query("SELECT id FROM docs WHERE docs MATCH ? ORDER BY bm25(docs, 0, 2.5, 1) LIMIT 10", anyOf(q))
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var ids []string
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, rows.Err()
	}
	return find, db.Close, nil
}

// anyOf returns an FTS5 query for any of the words of q.
func anyOf(q string) string {
	words := strings.FieldsFunc(q, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	return strings.Join(words, " OR ")
}

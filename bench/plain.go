package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// plain measures plain searches of the same texts.
func (b *ground) plain(texts, queries []string) {
	dir, err := os.MkdirTemp("", "keepsake-bench-")
	b.must(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "fts.db")+"?_pragma=journal_mode(WAL)")
	b.must(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE VIRTUAL TABLE said USING fts5(text, tokenize = 'porter unicode61')")
	b.must(err)
	tx, err := db.Begin()
	b.must(err)
	for _, text := range texts {
		_, err := tx.Exec("INSERT INTO said (text) VALUES (?)", text)
		b.must(err)
	}
	b.must(tx.Commit())
	find, err := db.Prepare("SELECT rowid, text FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT 10")
	b.must(err)
	var took []time.Duration
	for _, q := range queries {
		began := time.Now()
		rows, err := find.Query(strings.Join(strings.Fields(q), " OR "))
		b.must(err)
		for rows.Next() {
			var id int64
			var text string
			b.must(rows.Scan(&id, &text))
		}
		b.must(rows.Close())
		took = append(took, time.Since(began))
	}
	row("SQLite FTS5, plain search", took)
}

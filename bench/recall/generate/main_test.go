package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheConversationsAreWhatTheScenesGive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "scenes"), os.DirFS("../scenes")); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"turns.jsonl", "questions.jsonl"} {
		made, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(made, kept) {
			t.Errorf("%s is not what its scenes give: go run ./bench/recall/generate", name)
		}
	}
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"keepsake/internal/base/vectors"
)

func vectorsCommand(st *stage) *cobra.Command {
	return group("vectors", "Pack vectors of words for the setting recall.vectors", vectorsPackCommand(st))
}

func vectorsPackCommand(st *stage) *cobra.Command {
	var (
		in, out string
		words   int
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use: "pack", Short: "Pack vectors of words into a file for recall.vectors", Args: noArguments,
		Long: "Reads vectors of words in the text form of GloVe, word2vec and fastText, also compressed with gzip: a word and its numbers on\n" +
			"each line, the most frequent word first. It writes a file for the setting recall.vectors, which\n" +
			"takes the place of the table of English words in the program. The words can be of any language. It needs no server.",
		Example: "  keepsake vectors pack --in cc.de.300.vec.gz --out german.vectors",
	}
	cmd.Flags().StringVar(&in, "in", "", "`FILE` to read; - for standard input")
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write")
	for _, required := range []string{"in", "out"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // it is defined above
		}
	}
	cmd.Flags().IntVar(&words, "words", 100_000, "the most frequent words that are packed, at most")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(*cobra.Command, []string) error {
		if words < 1 || words > vectors.MaxWords {
			return usageError(fmt.Sprintf("--words must be from 1 to %d", vectors.MaxWords))
		}
		if _, err := os.Lstat(out); err == nil {
			return fmt.Errorf("%s %w", out, errWouldOverwrite)
		}
		packed, err := packVectors(st, in, out, words)
		if err != nil {
			return fmt.Errorf("pack vectors: %w", err)
		}
		if asJSON {
			return st.printJSON(map[string]any{"file": out, "words": packed})
		}
		fmt.Fprintf(st.out, "Packed %d words to %s. Set recall.vectors (KEEPSAKE_RECALL_VECTORS) to its name and start the server.\n", packed, out)
		return nil
	}
	return cmd
}

// packVectors packs a text of vectors into a new file, which appears under its name when it is complete. Every user can read it, because
// a server often runs as another one. It returns the number of words.
func packVectors(st *stage, in, out string, most int) (words int, err error) {
	text, _, err := st.openInput(in)
	if err != nil {
		return 0, err
	}
	defer text.Close()
	names, rows, err := vectors.ReadText(text, most)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", in, err)
	}
	body, words := vectors.Pack(names, rows)
	if words == 0 {
		return 0, fmt.Errorf("%s has too few words with vectors", in)
	}
	f, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(vectors.Write(f, body, words), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return words, publish(f.Name(), out, os.Link)
}

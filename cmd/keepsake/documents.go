package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func documentsCommand(st *stage) *cobra.Command {
	return group("documents", "Import documents", documentsImportCommand(st))
}

func documentsImportCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import documents from NDJSON", Args: cobra.ExactArgs(1),
		Long: "Imports one document per line: {\"id\",\"collection\",\"title\",\"text\",\"url\",\"tags\",\"metadata\"}. Only a title or a text is\n" +
			"required. A document whose ID exists is replaced. `-` reads standard input. A line that is refused does not stop the\n" +
			"others, but the exit code is 1.",
		Example: "  keepsake documents import articles.ndjson",
	}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in, size, err := st.openInput(args[0])
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer in.Close()
		return t.with(cmd.Context(), func(c *client.Client) error {
			outcome, err := st.importDocuments(cmd.Context(), c, in, size, !asJSON && st.errTTY)
			if asJSON {
				if err := st.printJSON(outcome); err != nil {
					return err
				}
			} else if err == nil || outcome.Received > 0 {
				st.printImport(outcome)
			}
			return refusedLines(err, outcome)
		})
	}
	return cmd
}

// refusedLines returns the error of an import: its own, or one that counts the refused lines.
func refusedLines(err error, outcome *client.Import) error {
	switch {
	case err != nil:
		return fmt.Errorf("import: %w", err)
	case outcome.Failed > 0:
		return fmt.Errorf("import: %d of %d lines were refused", outcome.Failed, outcome.Received)
	default:
		return nil
	}
}

func (st *stage) importDocuments(ctx context.Context, c *client.Client, in io.Reader, size int64, draw bool) (*client.Import, error) {
	progress, done := st.importBar(size, draw)
	defer done()
	return c.ImportDocuments(ctx, in, progress)
}

// importBar draws a progress bar if draw is set. A size of -1 means unknown.
func (st *stage) importBar(size int64, draw bool) (progress func(bytes int64), done func()) {
	if !draw {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(st.err), progressbar.OptionSetDescription("importing"),
		progressbar.OptionShowBytes(true), progressbar.OptionSetRenderBlankState(true), progressbar.OptionClearOnFinish())
	return func(bytes int64) { _ = bar.Set64(bytes) }, func() { _ = bar.Close() } // errors of drawing are ignored
}

// openInput opens a file, or standard input for "-". An unknown size is -1.
func (st *stage) openInput(name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(st.in), -1, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return f, -1, nil
	}
	return f, info.Size(), nil
}

// shownErrors is how many refused lines are printed. --json prints all that the server returned.
const shownErrors = 10

func (st *stage) printImport(i *client.Import) {
	fmt.Fprintf(st.out, "%d lines: %d created, %d replaced, %d refused\n", i.Received, i.Created, i.Replaced, i.Failed)
	st.printLineErrors(i.Errors)
}

func (st *stage) printLineErrors(list []client.ImportError) {
	for n, e := range list {
		if n == shownErrors {
			fmt.Fprintln(st.out, "  …")
			return
		}
		fmt.Fprintf(st.out, "  line %d: %s (%s: %s)\n", e.Line, e.Message, e.Field, e.Issue)
	}
}

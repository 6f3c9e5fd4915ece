package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func memoriesCommand(st *stage) *cobra.Command {
	return group("memories", "Recall, list, erase, export and import memories, and verify receipts of erasures",
		memoriesRecallCommand(st), memoriesListCommand(st), memoriesExportCommand(st), memoriesImportCommand(st),
		memoriesEraseCommand(st), memoriesVerifyReceiptCommand(st))
}

func memoriesExportCommand(st *stage) *cobra.Command {
	var (
		subject, out string
		asJSON       bool
	)
	cmd := &cobra.Command{
		Use: "export", Short: "Export the memories of a subject, or of all, as NDJSON", Args: noArguments,
		Long: "Writes one memory per line with its earlier revisions, subject by subject, oldest first. `keepsake memories import`\n" +
			"reads the file on this or another instance. The file is in the clear, only its owner can read it, and an existing file is not overwritten.",
		Example: "  keepsake memories export --subject p-4711 --out p-4711.ndjson\n  keepsake memories export --out all.ndjson",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&subject, "subject", "", "`ID` of the subject (default: all subjects)")
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write (default: standard output)")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkExport("memories", out, asJSON); err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			return st.export("memories", out, asJSON, func(w *lineCounter) error {
				if subject == "" {
					defer st.exportBar(w, -1, asJSON)()
					return exportSubjects(cmd.Context(), c, w)
				}
				person, err := c.Subject(cmd.Context(), subject)
				if err != nil {
					return err
				}
				if person.Memories > 0 {
					defer st.exportBar(w, person.Memories, asJSON)()
				}
				return c.ExportSubject(cmd.Context(), subject, w)
			})
		})
	}
	return cmd
}

// exportSubjects writes the memories of all subjects, one after the other. It leaves out subjects that are erased meanwhile.
func exportSubjects(ctx context.Context, c *client.Client, w io.Writer) error {
	for s, err := range c.EachSubject(ctx) {
		if err != nil {
			return err
		}
		err = c.ExportSubject(ctx, s.SubjectID, w)
		if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return fmt.Errorf("subject %s: %w", s.SubjectID, err)
		}
	}
	return nil
}

// export lets write fill out with lines and prints how many there are. noun is what a line contains.
func (st *stage) export(noun, out string, asJSON bool, write func(w *lineCounter) error) error {
	lines, err := st.exportLines(out, write)
	switch {
	case err != nil:
		return fmt.Errorf("export: %w", err)
	case toStdout(out):
	case asJSON:
		return st.printJSON(map[string]any{"file": out, noun: lines})
	default:
		fmt.Fprintf(st.out, "Exported %d %s to %s.\n", lines, noun, out)
	}
	return nil
}

func toStdout(out string) bool { return out == "" || out == "-" }

// checkExport returns an error if --json and the lines would be mixed.
func checkExport(noun, out string, asJSON bool) error {
	if asJSON && toStdout(out) {
		return usageError("--json needs --out: without it, standard output receives the " + noun)
	}
	return nil
}

// exportBar draws a progress bar for the lines that w writes, unless the output is for machines. A size of -1 means unknown.
func (st *stage) exportBar(w *lineCounter, size int64, asJSON bool) (done func()) {
	if asJSON || !st.errTTY {
		return func() {}
	}
	bar := progressbar.NewOptions64(size, progressbar.OptionSetWriter(st.err), progressbar.OptionSetDescription("exporting"),
		progressbar.OptionShowCount(), progressbar.OptionSetRenderBlankState(true), progressbar.OptionClearOnFinish())
	w.progress = func(lines int64) { // errors of drawing are ignored
		if size >= 0 {
			lines = min(lines, size)
		}
		_ = bar.Set64(lines)
	}
	return func() { _ = bar.Close() }
}

// exportLines lets write fill a new file, or standard output if out is empty or "-", and returns the number of lines. The file
// appears under its name when it is complete, so that half an export looks like none.
func (st *stage) exportLines(out string, write func(w *lineCounter) error) (lines int64, err error) {
	counted := &lineCounter{w: st.out}
	if toStdout(out) {
		err := write(counted)
		return counted.lines, err
	}
	if _, err := os.Lstat(out); err == nil {
		return 0, fmt.Errorf("%s %w", out, errWouldOverwrite)
	}
	f, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*") // mode 0600
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	counted.w = f
	if err := errors.Join(write(counted), f.Sync(), f.Close()); err != nil {
		return counted.lines, err
	}
	return counted.lines, publish(f.Name(), out, os.Link)
}

// publish gives a complete file its name, unless there is a file of that name. link is os.Link, which some file systems lack;
// there, an empty file takes the name first, so that two exports cannot both have it, and is then replaced.
func publish(written, out string, link func(written, out string) error) error {
	err := link(written, out)
	if err != nil && !errors.Is(err, os.ErrExist) {
		var taken *os.File
		if taken, err = os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			err = errors.Join(taken.Close(), os.Rename(written, out))
			if err != nil {
				err = errors.Join(err, os.Remove(out))
			}
		}
	}
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s %w", out, errWouldOverwrite)
	}
	return err
}

// lineCounter counts the lines that are written through it.
type lineCounter struct {
	w        io.Writer
	lines    int64
	progress func(lines int64)
}

func (l *lineCounter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	for _, b := range p[:n] {
		if b == '\n' {
			l.lines++
		}
	}
	if l.progress != nil {
		l.progress(l.lines)
	}
	return n, err
}

func memoriesImportCommand(st *stage) *cobra.Command {
	var (
		in     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "import", Short: "Import memories from NDJSON", Args: noArguments,
		Long: "Imports what `keepsake memories export` writes, or one {\"subjectId\",\"text\",…} per line as in the API. A memory whose ID\n" +
			"exists is replaced; an erased ID is refused. A line that is refused does not stop the others, but the exit code is 1.\n" +
			"Nested metadata is flattened: {\"a\":{\"b\":1}} becomes {\"a.b\":1}, and a list becomes its JSON text.",
		Example: "  keepsake memories import --in p-4711.ndjson",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&in, "in", "", "`FILE` to read; - for standard input")
	if err := cmd.MarkFlagRequired("in"); err != nil {
		panic(err) // it is defined above
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		file, size, err := st.openLines(in)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer file.Close()
		return t.with(cmd.Context(), func(c *client.Client) error {
			outcome, err := st.importMemories(cmd.Context(), c, newFlattener(file), size, !asJSON && st.errTTY)
			if asJSON {
				if err := st.printJSON(outcome); err != nil {
					return err
				}
			} else if err == nil || outcome.Received > 0 {
				st.printMemoryImport(outcome)
			}
			return refusedLines(err, &outcome.Import)
		})
	}
	return cmd
}

func (st *stage) importMemories(ctx context.Context, c *client.Client, in io.Reader, size int64, draw bool) (*client.MemoryImport, error) {
	progress, done := st.importBar(size, draw)
	defer done()
	return c.ImportMemories(ctx, in, progress)
}

func (st *stage) printMemoryImport(i *client.MemoryImport) {
	fmt.Fprintf(st.out, "%d lines: %d created, %d replaced, %d unchanged, %d refused\n", i.Received, i.Created, i.Replaced, i.Unchanged, i.Failed)
	printRefusals(st.out, &i.Import)
}

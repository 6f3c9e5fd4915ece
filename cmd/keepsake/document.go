package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/base/wire"
)

func documentsCommand(st *stage) *cobra.Command {
	return group("documents", "Import, list, search, export and delete documents",
		documentsImportCommand(st), documentsListCommand(st), documentsGetCommand(st), documentsSearchCommand(st),
		documentsExportCommand(st), documentsDeleteCommand(st))
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

// openLines is openInput for an import. It refuses a table, each of whose lines the server would refuse.
func (st *stage) openLines(name string) (io.ReadCloser, int64, error) {
	in, size, err := st.openInput(name)
	if err != nil {
		return nil, 0, err
	}
	buffered := bufio.NewReader(in)
	begin, _ := buffered.Peek(512) // an error comes again with the next read
	if wire.LooksLikeCSV(begin) {
		return nil, 0, errors.Join(fmt.Errorf("%s looks like CSV; convert it to one JSON object per line", name), in.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{buffered, in}, size, nil
}

func documentsExportCommand(st *stage) *cobra.Command {
	var (
		collection, out string
		asJSON          bool
	)
	cmd := &cobra.Command{
		Use: "export", Short: "Export documents as NDJSON", Args: noArguments,
		Long: "Writes one document per line, in the order of the IDs. `keepsake documents import` reads the file on this or another\n" +
			"instance. Only the owner of the file can read it, and an existing file is not overwritten.",
		Example: "  keepsake documents export --collection handbook --out handbook.ndjson",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&collection, "collection", "", "`NAME` of the collection to export (default: all documents)")
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write (default: standard output)")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkExport("documents", out, asJSON); err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			return st.export("documents", out, asJSON, func(w *lineCounter) error {
				defer st.exportBar(w, -1, asJSON)()
				return c.ExportDocuments(cmd.Context(), collection, w)
			})
		})
	}
	return cmd
}

func documentsDeleteCommand(st *stage) *cobra.Command {
	var (
		deletion    client.DocumentDeletion
		yes, asJSON bool
	)
	cmd := &cobra.Command{
		Use: "delete [ID…]", Short: "Delete documents by ID or by a selection",
		Long: "Deletes documents by their IDs, or those that match --collection, --tag and --filter. Without --yes it only says how\n" +
			"many documents it would delete.",
		Example: "  keepsake documents delete --collection handbook --filter year:lt:2020\n  keepsake documents delete boiler tea --yes",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&deletion.Collection, "collection", "", "`NAME` of the collection")
	cmd.Flags().StringArrayVar(&deletion.Tags, "tag", nil, "`TAG` that documents must have (repeatable)")
	cmd.Flags().StringArrayVar(&deletion.Filters, "filter", nil, filterHelp)
	cmd.Flags().BoolVar(&yes, "yes", false, "delete the documents")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		deletion.IDs, deletion.DryRun = args, !yes
		return t.with(cmd.Context(), func(c *client.Client) error {
			deleted, err := st.deleteDocuments(cmd.Context(), c, deletion, !asJSON && st.errTTY)
			switch {
			case err != nil:
				return fmt.Errorf("delete: %w", err)
			case asJSON:
				return st.printJSON(deleted)
			case yes:
				fmt.Fprintf(st.out, "Deleted %s.\n", counted(deleted.Deleted, "document"))
			default:
				fmt.Fprintf(st.out, "Found %s. Add --yes to delete.\n", counted(deleted.Matched, "document"))
			}
			return nil
		})
	}
	return cmd
}

// deleteAtOnce is how many documents a request deletes by ID.
const deleteAtOnce = 500

// deleteDocuments deletes documents, or counts them. If draw is set, a long deletion draws a progress bar.
func (st *stage) deleteDocuments(ctx context.Context, c *client.Client, d client.DocumentDeletion, draw bool) (*client.DeletedDocuments, error) {
	if len(d.IDs) > deleteAtOnce {
		return st.deleteIDs(ctx, c, d.IDs, d.DryRun, draw)
	}
	if d.DryRun || !draw || len(d.IDs) > 0 {
		return c.DeleteDocuments(ctx, d)
	}
	d.DryRun = true
	all, err := c.DeleteDocuments(ctx, d)
	d.DryRun = false
	if err != nil || all.Matched <= deleteAtOnce {
		return c.DeleteDocuments(ctx, d)
	}
	ids, err := selectedIDs(ctx, c, d)
	if err != nil { // the key perhaps has no scope to read
		return c.DeleteDocuments(ctx, d)
	}
	return st.deleteIDs(ctx, c, ids, false, draw)
}

func (st *stage) deleteIDs(ctx context.Context, c *client.Client, ids []string, dryRun, draw bool) (*client.DeletedDocuments, error) {
	bar := st.countBar("deleting", int64(len(ids)), draw)
	defer func() { _ = bar.Close() }() // errors of drawing are ignored
	total := &client.DeletedDocuments{}
	for some := range slices.Chunk(ids, deleteAtOnce) {
		part, err := c.DeleteDocuments(ctx, client.DocumentDeletion{IDs: some, DryRun: dryRun})
		if err != nil {
			return total, fmt.Errorf("after %d documents: %w", total.Deleted, err)
		}
		total.Matched += part.Matched
		total.Deleted += part.Deleted
		_ = bar.Add(len(some))
	}
	return total, nil
}

// selectedIDs returns the IDs of the documents that a deletion selects.
func selectedIDs(ctx context.Context, c *client.Client, d client.DocumentDeletion) ([]string, error) {
	var ids []string
	for found, err := range c.EachDocument(ctx, client.DocumentQuery{Collection: d.Collection, Tags: d.Tags, Filters: d.Filters, Limit: 200}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, found.ID)
	}
	return ids, nil
}

// countBar draws a progress bar that counts, if draw is set.
func (st *stage) countBar(what string, total int64, draw bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(st.err), progressbar.OptionSetDescription(what), progressbar.OptionSetVisibility(draw),
		progressbar.OptionShowCount(), progressbar.OptionSetRenderBlankState(true), progressbar.OptionClearOnFinish())
}

// shownErrors is how many refused lines are printed. --json prints all that the server returned.
const shownErrors = 10

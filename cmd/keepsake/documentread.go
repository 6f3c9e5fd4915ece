package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"keepsake/client"
)

const filterHelp = "comparison of metadata, `NAME:OP:VALUE` with eq, ne, lt, lte, gt or gte (repeatable)"

func documentsGetCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get ID", Short: "Show a document", Args: oneArgument,
		Example: "  keepsake documents get boiler",
	}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			d, err := c.Document(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("get document %s: %w", args[0], err)
			}
			if asJSON {
				return st.printJSON(d)
			}
			st.printDocument(d)
			return nil
		})
	}
	return cmd
}

func (st *stage) printDocument(d *client.Document) {
	st.printRecord(
		field{"id", d.ID}, field{"collection", d.Collection}, field{"title", d.Title}, field{"url", orNone(d.URL)},
		field{"tags", listText(d.Tags)}, field{"metadata", metadataText(d.Metadata)},
		field{"created", when(&d.CreatedAt)}, field{"updated", when(&d.UpdatedAt)}, field{"revision", d.Revision},
	)
	if d.Text != "" {
		fmt.Fprintln(st.out)
		for line := range strings.Lines(d.Text) {
			fmt.Fprintln(st.out, plain(strings.TrimRight(line, "\r\n")))
		}
	}
}

func documentsListCommand(st *stage) *cobra.Command {
	var (
		q      client.DocumentQuery
		limit  int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List documents", Args: noArguments,
		Long:    "Lists documents in the order of their IDs, or with --sort updatedAt or -updatedAt in the order of their last changes.",
		Example: "  keepsake documents list --collection handbook --sort=-updatedAt",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&q.Collection, "collection", "", "only documents of the collection with this `NAME`")
	flags.StringArrayVar(&q.Tags, "tag", nil, "only documents with this `TAG` (repeatable)")
	flags.StringArrayVar(&q.Filters, "filter", nil, filterHelp)
	flags.StringVar(&q.Sort, "sort", "", "`ORDER`: id (the default), updatedAt or -updatedAt")
	flags.IntVar(&limit, "limit", 50, "number of documents")
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q.Limit = max(1, min(limit, 200))
		return t.with(cmd.Context(), func(c *client.Client) error {
			documents, more, err := first(c.EachDocument(cmd.Context(), q), limit)
			if err != nil {
				return fmt.Errorf("list documents: %w", err)
			}
			if asJSON {
				return st.printJSON(items[client.Document]{documents})
			}
			rows := make([]table.Row, 0, len(documents))
			for _, d := range documents {
				rows = append(rows, table.Row{d.ID, d.Collection, oneLine(d.Title), strings.Join(d.Tags, ","), sizeText(int64(len(d.Text))), whenCell(&d.UpdatedAt)})
			}
			st.printTable([]column{
				{title: "id", free: true},
				{title: "collection", free: true},
				{title: "title", free: true},
				{title: "tags", free: true, extra: true},
				{title: "text", extra: true},
				{title: "updated (UTC)"},
			}, rows)
			st.printMore(more, "documents")
			return nil
		})
	}
	return cmd
}

func documentsSearchCommand(st *stage) *cobra.Command {
	var (
		q      client.Query
		limit  int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "search QUERY", Short: "Search documents", Args: oneArgument,
		Long: "Finds the documents with the words of the query, best first. \"Quoted words\" must be together, and -excluded words must\n" +
			"not occur. '*' alone finds all. A query that begins with - comes after --, behind the flags.",
		Example: "  keepsake documents search 'bleed the radiators' --collection handbook",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&q.Collection, "collection", "", "only documents of the collection with this `NAME`")
	flags.StringArrayVar(&q.Tags, "tag", nil, "only documents with this `TAG` (repeatable)")
	flags.StringArrayVar(&q.Filters, "filter", nil, filterHelp)
	flags.StringVar(&q.Sort, "sort", "", "`ORDER`: relevance (the default), updatedAt or -updatedAt")
	flags.StringVar(&q.Prefix, "prefix", "", "`WHETHER` the last word can be unfinished: auto (the default: if no document has it), true or false")
	flags.Lookup("prefix").NoOptDefVal = "true"
	flags.IntVar(&q.Passages, "passages", 0, "number of passages of each text, up to 5, in place of a snippet")
	flags.IntVar(&limit, "limit", 10, "number of results, up to 100")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q.Q, q.Limit = args[0], &limit
		return t.with(cmd.Context(), func(c *client.Client) error {
			found, err := c.Search(cmd.Context(), q)
			if err != nil {
				return fmt.Errorf("search: %w", err)
			}
			if asJSON {
				return st.printJSON(found)
			}
			st.printFound(found)
			return nil
		})
	}
	return cmd
}

func (st *stage) printFound(found *client.Found) {
	for i, r := range found.Results {
		fmt.Fprintf(st.out, "%d. %s  (%s in %s)\n", i+1, cmp.Or(oneLine(r.Title), "(without a title)"), plain(r.ID), plain(r.Collection))
		if len(r.Passages) == 0 {
			printIndented(st.out, r.Snippet)
		}
		for i, p := range r.Passages {
			if i > 0 {
				fmt.Fprintln(st.out)
			}
			printIndented(st.out, p.Text)
		}
	}
	about := ""
	if found.TotalRelation == "gte" {
		about = "at least "
	}
	fmt.Fprintf(st.out, "%s%s found in %.1f ms.\n", about, counted(found.Total, "document"), found.TookMs)
	if found.Suggestion != nil {
		fmt.Fprintf(st.out, "Did you mean %q?\n", plain(*found.Suggestion))
	}
}

// printIndented prints a text as one paragraph below the title of a result.
func printIndented(out io.Writer, s string) {
	for line := range strings.Lines(text.WrapSoft(oneLine(s), tableWidth-3)) {
		fmt.Fprintln(out, "   "+strings.TrimSpace(line))
	}
}

package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func collectionsCommand(st *stage) *cobra.Command {
	return group("collections", "List collections and set how their documents are searched",
		collectionsListCommand(st), collectionsGetCommand(st), collectionsSetCommand(st), collectionsDeleteCommand(st))
}

func collectionsListCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the collections with documents or settings", Args: noArguments,
		Example: "  keepsake collections list",
	}
	t := targetFlags(st, cmd)
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			all := []client.Collection{}
			for found, err := range c.EachCollection(cmd.Context(), client.CollectionQuery{}) {
				if err != nil {
					return fmt.Errorf("list collections: %w", err)
				}
				all = append(all, found)
			}
			if asJSON {
				return st.printJSON(items[client.Collection]{all})
			}
			rows := make([]table.Row, 0, len(all))
			for i := range all {
				a := &all[i]
				rows = append(rows, table.Row{a.Collection, a.Documents, languageText(a.Language), len(a.Synonyms), fieldsText(a.Fields), whenCell(a.UpdatedAt)})
			}
			st.printTable([]column{
				{title: "collection", free: true},
				{title: "documents"},
				{title: "language"},
				{title: "synonyms"},
				{title: "fields", free: true},
				{title: "settings updated (UTC)", extra: true},
			}, rows)
			return nil
		})
	}
	return cmd
}

func collectionsGetCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get NAME", Short: "Show the settings of a collection", Args: oneArgument,
		Example: "  keepsake collections get handbook",
	}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			found, err := c.Collection(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("read collection: %w", err)
			}
			return printCollection(st, found, asJSON)
		})
	}
	return cmd
}

// printCollection prints all of a collection, or JSON.
func printCollection(st *stage, c *client.Collection, asJSON bool) error {
	if asJSON {
		return st.printJSON(c)
	}
	st.printRecord(
		field{"collection", c.Collection}, field{"documents", c.Documents}, field{"language", languageText(c.Language)},
		field{"fields", fieldsText(c.Fields)}, field{"synonyms", len(c.Synonyms)}, field{"updated", when(c.UpdatedAt)}, field{"revision", c.Revision},
	)
	for _, row := range c.Synonyms {
		fmt.Fprintln(st.out, "  "+plain(row.String()))
	}
	return nil
}

func languageText(code *string) string {
	if code == nil {
		return "-"
	}
	return *code
}

// fieldsText formats the weights of fields, by name.
func fieldsText(fields map[string]float64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, name+"="+strconv.FormatFloat(fields[name], 'g', -1, 64))
	}
	return listText(list)
}

// noSetting removes a setting.
const noSetting = "none"

func collectionsSetCommand(st *stage) *cobra.Command {
	var (
		language         string
		synonyms, fields []string
		file             string
		asJSON           bool
	)
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set how the documents of a collection are searched", Args: oneArgument,
		Long: "Sets the given settings and leaves the others unchanged; the word none removes one. A row of synonyms is a list such as\n" +
			"'sofa, couch', a rule such as 'tv => television', or the word english for the server's own list. Synonyms and weights\n" +
			"apply to the next search; a language, and fields that were not searched before, once the documents are indexed again.",
		Example: "  keepsake collections set handbook --language de --field title=3 --field text=1\n" +
			"  keepsake collections set shop --synonym 'sofa, couch' --synonym 'tv => television'",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&language, "language", "", "`CODE` of the language of documents that name none, such as de")
	flags.StringArrayVar(&synonyms, "synonym", nil, "`ROW` of synonyms (repeatable)")
	flags.StringVar(&file, "synonyms", "", "`FILE` with a row of synonyms on each line")
	flags.StringArrayVar(&fields, "field", nil, "searched field with its weight, `NAME=WEIGHT` (repeatable)")
	cmd.MarkFlagsOneRequired("language", "synonym", "synonyms", "field")
	cmd.MarkFlagsMutuallyExclusive("synonym", "synonyms")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		weights, err := weightsOf(fields)
		if err != nil {
			return err
		}
		if file != "" {
			text, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("read synonyms: %w", err)
			}
			synonyms = strings.Split(string(text), "\n")
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			stored, err := c.Collection(cmd.Context(), args[0])
			if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusNotFound {
				stored, err = &client.Collection{}, nil
			}
			if err != nil {
				return fmt.Errorf("read collection: %w", err)
			}
			settings, revision := stored.CollectionSettings, &stored.Revision
			if stored.Collection == "" {
				revision = nil // it can have had settings
			}
			if flags.Changed("language") {
				settings.Language = &language
				if language == noSetting {
					settings.Language = nil
				}
			}
			if flags.Changed("synonym") || flags.Changed("synonyms") {
				settings.Synonyms = synonymsOf(synonyms)
			}
			if flags.Changed("field") {
				settings.Fields = weights
			}
			changed, err := c.PutCollection(cmd.Context(), args[0], revision, settings)
			if err != nil {
				return fmt.Errorf("set collection: %w", err)
			}
			return printCollection(st, changed, asJSON)
		})
	}
	return cmd
}

// synonymsOf reads rows of synonyms. Blank ones are left out.
func synonymsOf(rows []string) (list []client.Synonym) {
	for _, row := range rows {
		if row = strings.TrimSpace(row); row != "" && row != noSetting {
			list = append(list, client.ParseSynonym(row))
		}
	}
	return list
}

// weightsOf reads fields with their weights.
func weightsOf(fields []string) (map[string]float64, error) {
	if len(fields) == 1 && fields[0] == noSetting {
		return nil, nil
	}
	weights := map[string]float64{}
	for _, f := range fields {
		at := strings.LastIndexByte(f, '=')
		weight, err := strconv.ParseFloat(f[at+1:], 64)
		if at < 0 || err != nil {
			return nil, usageError("--field must be a name and a weight, such as title=3, or none")
		}
		weights[f[:at]] = weight
	}
	return weights, nil
}

func collectionsDeleteCommand(st *stage) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Remove the settings of a collection, not its documents", Args: oneArgument,
		Example: "  keepsake collections delete handbook",
	}
	t := targetFlags(st, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			if err := c.DeleteCollection(cmd.Context(), args[0], nil); err != nil {
				return fmt.Errorf("remove settings: %w", err)
			}
			fmt.Fprintf(st.out, "Removed the settings of collection %s. Its documents stay.\n", plain(args[0]))
			return nil
		})
	}
	return cmd
}

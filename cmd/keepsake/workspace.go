package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func workspacesCommand(st *stage) *cobra.Command {
	return group("workspaces", "Create, list, change and suspend workspaces",
		workspacesCreateCommand(st), workspacesListCommand(st), workspacesGetCommand(st), workspacesChangeCommand(st))
}

func workspacesCreateCommand(st *stage) *cobra.Command {
	var (
		w      client.NewWorkspace
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "create", Short: "Create a workspace", Args: noArguments,
		Long: "Creates an empty workspace. Create its first admin with `keepsake users create --workspace NAME --role admin`, and its\n" +
			"first API key with `keepsake keys create --workspace NAME`.",
		Example: "  keepsake workspaces create --name 'Team Blue' --tier pro",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&w.Name, "name", "", "display name")
	cmd.Flags().StringVar(&w.Tier, "tier", "", "`TIER` of the workspace; 'keepsake tiers list' shows them (default free)")
	if err := cmd.MarkFlagRequired("name"); err != nil {
		panic(err) // a flag of this command
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			made, err := c.CreateWorkspace(cmd.Context(), w)
			if err != nil {
				return fmt.Errorf("create workspace: %w", err)
			}
			return st.printWorkspaces([]client.WorkspaceRecord{*made}, asJSON, made)
		})
	}
	return cmd
}

func workspacesListCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List workspaces, newest first", Args: noArguments,
		Example: "  keepsake workspaces list",
	}
	t := targetFlags(st, cmd)
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			workspaces := []client.WorkspaceRecord{}
			for w, err := range c.EachWorkspace(cmd.Context(), client.WorkspaceQuery{}) {
				if err != nil {
					return fmt.Errorf("list workspaces: %w", err)
				}
				workspaces = append(workspaces, w)
			}
			return st.printWorkspaces(workspaces, asJSON, items[client.WorkspaceRecord]{workspaces})
		})
	}
	return cmd
}

// printWorkspaces prints workspaces as a table, or object as JSON.
func (st *stage) printWorkspaces(workspaces []client.WorkspaceRecord, asJSON bool, object any) error {
	if asJSON {
		return st.printJSON(object)
	}
	rows := make([]table.Row, 0, len(workspaces))
	for _, w := range workspaces {
		state := "active"
		if w.Suspended {
			state = "suspended"
		}
		rows = append(rows, table.Row{w.ID, w.Name, w.Tier, state, searchCell(&w), whenCell(&w.CreatedAt)})
	}
	st.printTable([]column{{title: "id"}, {title: "name", free: true}, {title: "tier", free: true}, {title: "state"}, {title: "search"}, {title: "created (UTC)"}}, rows)
	return nil
}

// searchCell says where a workspace's search index is, and how far its move is.
func searchCell(w *client.WorkspaceRecord) string {
	switch m := w.SearchMove; {
	case m == nil:
		return w.SearchEngine
	case m.Percent == nil:
		return m.From + " to " + w.SearchEngine
	default:
		return fmt.Sprintf("%s to %s (%d %%)", m.From, w.SearchEngine, *m.Percent)
	}
}

func workspacesGetCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get WORKSPACE", Short: "Show a workspace", Args: oneArgument,
		Long:    "Shows a workspace. WORKSPACE is an ID or a name.",
		Example: "  keepsake workspaces get 'Team Blue'",
	}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := workspaceID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			w, err := c.WorkspaceRecord(cmd.Context(), id)
			if err != nil {
				return fmt.Errorf("get workspace %s: %w", id, err)
			}
			return st.printWorkspaces([]client.WorkspaceRecord{*w}, asJSON, w)
		})
	}
	return cmd
}

func workspacesChangeCommand(st *stage) *cobra.Command {
	var (
		name, tier        string
		suspended, asJSON bool
		embeddings        bool
		searchEngine      string
	)
	cmd := &cobra.Command{
		Use: "change WORKSPACE", Short: "Change a workspace's name, tier, use of embeddings or search engine, or suspend it", Args: oneArgument,
		Long: "Changes the given fields and leaves the others unchanged. The keys and users of a suspended workspace are refused;\n" +
			"--suspended=false admits them again. Changing the tier never resets usage.\n" +
			"With --embeddings, texts of its memories are sent to the endpoint of the setting embeddings.url.\n" +
			"With --search-engine opensearch, its search index is moved to the cluster of the setting search.opensearch.url, and with local\n" +
			"back. The old index answers searches until the new one is complete; the command does not wait. WORKSPACE is an ID or a name.",
		Example: "  keepsake workspaces change 'Team Blue' --tier business",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "display name")
	flags.StringVar(&tier, "tier", "", "`TIER` of the workspace")
	flags.BoolVar(&suspended, "suspended", false, "whether the workspace is suspended and its keys and users are refused")
	flags.BoolVar(&embeddings, "embeddings", false, "whether texts of its memories are sent to the embeddings endpoint")
	flags.StringVar(&searchEngine, "search-engine", "", "`ENGINE` of its search index: local or opensearch")
	cmd.MarkFlagsOneRequired("name", "tier", "suspended", "embeddings", "search-engine")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var change client.WorkspaceChange
		if flags.Changed("name") {
			change.Name = client.To(name)
		}
		if flags.Changed("tier") {
			change.Tier = client.To(tier)
		}
		if flags.Changed("suspended") {
			change.Suspended = client.To(suspended)
		}
		if flags.Changed("embeddings") {
			change.Embeddings = client.To(embeddings)
		}
		if flags.Changed("search-engine") {
			change.SearchEngine = client.To(searchEngine)
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := workspaceID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			w, err := c.ChangeWorkspace(cmd.Context(), id, change, nil)
			if err != nil {
				return fmt.Errorf("change workspace %s: %w", id, err)
			}
			return st.printWorkspaces([]client.WorkspaceRecord{*w}, asJSON, w)
		})
	}
	return cmd
}

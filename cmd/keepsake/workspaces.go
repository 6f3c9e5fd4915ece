package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func workspacesCommand(st *stage) *cobra.Command {
	return group("workspaces", "Make, list, change and suspend workspaces",
		workspacesCreateCommand(st), workspacesListCommand(st), workspacesGetCommand(st), workspacesChangeCommand(st))
}

func workspacesCreateCommand(st *stage) *cobra.Command {
	var (
		w      client.NewWorkspace
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "create", Short: "Make a workspace", Args: cobra.NoArgs,
		Long: "Makes a workspace, which has nothing yet. Make its first admin with `keepsake users create --workspace ID --role admin`.",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&w.Name, "name", "", "what people call it")
	cmd.Flags().StringVar(&w.Tier, "tier", "", "what it may use: a name that `keepsake tiers list` shows (free)")
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
	cmd := &cobra.Command{Use: "list", Short: "List workspaces, newest first", Args: cobra.NoArgs}
	t := targetFlags(st, cmd)
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
			return st.printWorkspaces(workspaces, asJSON, struct {
				Items []client.WorkspaceRecord `json:"items"`
			}{workspaces})
		})
	}
	return cmd
}

// printWorkspaces prints a table of workspaces, or what they are as JSON.
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
		rows = append(rows, table.Row{w.ID, w.Name, w.Tier, state, when(&w.CreatedAt)})
	}
	st.printTable(table.Row{"id", "name", "tier", "state", "created"}, rows)
	return nil
}

func workspacesGetCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "get ID", Short: "Show one workspace", Args: cobra.ExactArgs(1)}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			w, err := c.WorkspaceRecord(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("get workspace %s: %w", args[0], err)
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
	)
	cmd := &cobra.Command{
		Use: "change ID", Short: "Change a workspace's name or tier, or suspend it", Args: cobra.ExactArgs(1),
		Long: "Changes what is named and leaves the rest. The keys and users of a suspended workspace are refused from then on;\n" +
			"`--suspended=false` lets them in again. Another tier never resets what was used.",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "what people call it")
	flags.StringVar(&tier, "tier", "", "what it may use")
	flags.BoolVar(&suspended, "suspended", false, "whether its credentials are refused")
	cmd.MarkFlagsOneRequired("name", "tier", "suspended")
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
		return t.with(cmd.Context(), func(c *client.Client) error {
			w, err := c.ChangeWorkspace(cmd.Context(), args[0], change, nil)
			if err != nil {
				return fmt.Errorf("change workspace %s: %w", args[0], err)
			}
			return st.printWorkspaces([]client.WorkspaceRecord{*w}, asJSON, w)
		})
	}
	return cmd
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"keepsake/client"
)

func searchCommand(st *stage) *cobra.Command {
	return group("search", "Rebuild the search index", searchReindexCommand(st))
}

func searchReindexCommand(st *stage) *cobra.Command {
	var (
		workspace string
		asJSON    bool
	)
	cmd := &cobra.Command{
		Use: "reindex", Short: "Rebuild the search index from the documents", Args: noArguments,
		Long: "Builds the indexes of all workspaces, or of one, beside the present ones, which then take their place. Searches\n" +
			"continue, also while a server is running on the data folder. The folder needs room for both. If the command is\n" +
			"interrupted, a running server continues. Of several servers of an instance, each has indexes in its own data folder:\n" +
			"those of the workspaces that were searched through it, and the one that --workspace names.",
		Example: "  keepsake search reindex --data /var/lib/keepsake",
	}
	t := localFlags(st, cmd)
	cmd.Flags().StringVar(&workspace, "workspace", "", "`ID` or name of the workspace (default: all)")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			workspace, err := workspaceID(cmd.Context(), c, workspace)
			if err != nil {
				return err
			}
			done, err := st.reindex(cmd.Context(), c, workspace, !asJSON && st.errTTY)
			switch {
			case err != nil:
				return fmt.Errorf("reindex: %w", err)
			case asJSON:
				err = st.printJSON(done)
			default:
				fmt.Fprintf(st.out, "Rebuilt the indexes of %d of %d workspaces.\n", done.Done, done.Workspaces)
			}
			if err == nil && done.Problem != "" {
				err = errors.New(done.Problem)
			}
			return err
		})
	}
	return cmd
}

// reindex starts a rebuild and waits for its end.
func (st *stage) reindex(ctx context.Context, c *client.Client, workspace string, draw bool) (*client.Reindex, error) {
	state, err := c.StartReindex(ctx, workspace)
	if err != nil {
		return nil, err
	}
	bar := st.countBar("indexing", state.Total, draw)
	defer func() { _ = bar.Close() }() // errors of drawing are ignored
	for state.Running {
		_ = bar.Set64(state.Changes)
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
		if state, err = c.Reindexing(ctx); err != nil {
			return nil, err
		}
	}
	return state, nil
}

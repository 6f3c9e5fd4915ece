package main

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func versionsCommand(st *stage) *cobra.Command {
	return group("versions", "List, release and end versions of the API",
		versionsListCommand(st), versionsGetCommand(st), versionsReleaseCommand(st), versionsChangeCommand(st),
		versionsRehearseCommand(st), versionsRetireCommand(st), versionsUsageCommand(st))
}

func versionsListCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the versions", Args: cobra.NoArgs}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			versions := []client.VersionRecord{}
			for v, err := range c.EachVersionRecord(cmd.Context(), client.VersionQuery{}) {
				if err != nil {
					return fmt.Errorf("list versions: %w", err)
				}
				versions = append(versions, v)
			}
			return st.printVersions(versions, asJSON, struct {
				Items []client.VersionRecord `json:"items"`
			}{versions})
		})
	}
	return cmd
}

// printVersions prints a table of versions, or what they are as JSON.
func (st *stage) printVersions(versions []client.VersionRecord, asJSON bool, object any) error {
	if asJSON {
		return st.printJSON(object)
	}
	rows := make([]table.Row, 0, len(versions))
	for _, v := range versions {
		rows = append(rows, table.Row{v.Version.Version, v.State, when(&v.Since), when(v.AnnouncedAt), when(v.SunsetAt), when(v.RetiresAt)})
	}
	st.printTable(table.Row{"version", "state", "since", "announced", "sunset", "retires"}, rows)
	return nil
}

// aboutVersion makes a command whose argument is a version and whose answer is its record.
func aboutVersion(st *stage, cmd *cobra.Command, what string, do func(cmd *cobra.Command, c *client.Client, number int) (*client.VersionRecord, error)) *cobra.Command {
	var asJSON bool
	cmd.Args = cobra.ExactArgs(1)
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		number, err := versionArgument(args[0])
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			v, err := do(cmd, c, number)
			if err != nil {
				return fmt.Errorf("%s version %d: %w", what, number, err)
			}
			return st.printVersions([]client.VersionRecord{*v}, asJSON, v)
		})
	}
	return cmd
}

func versionArgument(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, usageError(fmt.Sprintf("%q is not the number of a version", text))
	}
	return number, nil
}

func versionsGetCommand(st *stage) *cobra.Command {
	return aboutVersion(st, &cobra.Command{Use: "get N", Short: "Show one version"}, "get",
		func(cmd *cobra.Command, c *client.Client, number int) (*client.VersionRecord, error) {
			return c.VersionRecord(cmd.Context(), number)
		})
}

func versionsReleaseCommand(st *stage) *cobra.Command {
	var announced, sunset, guide string
	cmd := &cobra.Command{
		Use: "release N", Short: "Make the next version the current one",
		Long: "Makes the next version the current one. The version before it is deprecated from its announcement on and answers\n" +
			"410 from its sunset on, which is at least six calendar months later. A sunset can be moved later, never earlier.",
	}
	flags := cmd.Flags()
	flags.StringVar(&announced, "announced-at", "", "`TIME` of the announcement that the version before ends (now)")
	flags.StringVar(&sunset, "sunset-at", "", "`TIME` from when on the version before is 410 (as early as it may be)")
	flags.StringVar(&guide, "guide-url", "", "`ADDRESS` of the migration guide, where it is published elsewhere")
	return aboutVersion(st, cmd, "release", func(cmd *cobra.Command, c *client.Client, number int) (_ *client.VersionRecord, err error) {
		r := client.NewRelease{Version: number, GuideURL: guide}
		if r.AnnouncedAt, err = timeFlag("announced-at", announced); err != nil {
			return nil, err
		}
		if r.SunsetAt, err = timeFlag("sunset-at", sunset); err != nil {
			return nil, err
		}
		return c.ReleaseVersion(cmd.Context(), r)
	})
}

// timeFlag reads 2027-05-31 or a whole RFC 3339 time; nil where nothing was said.
func timeFlag(flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return &at, nil
		}
	}
	return nil, usageError(fmt.Sprintf("--%s: %q is not a time such as 2027-05-31 or 2027-05-31T12:00:00Z", flag, text))
}

func versionsChangeCommand(st *stage) *cobra.Command {
	var sunset, guide string
	cmd := &cobra.Command{Use: "change N", Short: "Move a version's sunset later, or its migration guide"}
	flags := cmd.Flags()
	flags.StringVar(&sunset, "sunset-at", "", "`TIME` from when on it is 410, later than it was")
	flags.StringVar(&guide, "guide-url", "", "`ADDRESS` of the migration guide; empty for the page of the instance")
	cmd.MarkFlagsOneRequired("sunset-at", "guide-url")
	return aboutVersion(st, cmd, "change", func(cmd *cobra.Command, c *client.Client, number int) (*client.VersionRecord, error) {
		var change client.VersionChange
		at, err := timeFlag("sunset-at", sunset)
		if err != nil {
			return nil, err
		}
		if at != nil {
			change.SunsetAt = client.To(*at)
		}
		switch {
		case !flags.Changed("guide-url"):
		case guide == "":
			change.GuideURL = client.Cleared[string]()
		default:
			change.GuideURL = client.To(guide)
		}
		return c.ChangeVersion(cmd.Context(), number, change, nil)
	})
}

func versionsRetireCommand(st *stage) *cobra.Command {
	return aboutVersion(st, &cobra.Command{Use: "retire N", Short: "Take the paths of a sunset version away"}, "retire",
		func(cmd *cobra.Command, c *client.Client, number int) (*client.VersionRecord, error) {
			return c.RetireVersion(cmd.Context(), number)
		})
}

func versionsRehearseCommand(st *stage) *cobra.Command {
	var (
		keyID, until string
		asJSON       bool
	)
	cmd := &cobra.Command{
		Use: "rehearse-sunset N", Short: "Let one API key see a deprecated version as after its sunset", Args: cobra.ExactArgs(1),
		Long: "Answers 410 to one API key until a moment, so that its owner can try a migration before the date. To end it early,\n" +
			"say it again with a moment that is near.",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&keyID, "key-id", "", "`ID` of the API key")
	cmd.Flags().StringVar(&until, "until", "", "`TIME` until when")
	for _, name := range []string{"key-id", "until"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a flag of this command
		}
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		number, err := versionArgument(args[0])
		if err != nil {
			return err
		}
		at, err := timeFlag("until", until)
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			r, err := c.RehearseSunset(cmd.Context(), number, keyID, *at)
			if err != nil {
				return fmt.Errorf("rehearse the sunset of version %d: %w", number, err)
			}
			if asJSON {
				return st.printJSON(r)
			}
			fmt.Fprintf(st.out, "%s sees version %s as after its sunset until %s.\n", r.KeyID, r.Version, when(&r.Until))
			return nil
		})
	}
	return cmd
}

func versionsUsageCommand(st *stage) *cobra.Command {
	var (
		from   string
		asJSON bool
	)
	cmd := &cobra.Command{Use: "usage N", Short: "List who still calls a version", Args: cobra.ExactArgs(1)}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&from, "from", "", "only who called since `TIME`")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		number, err := versionArgument(args[0])
		if err != nil {
			return err
		}
		since, err := timeFlag("from", from)
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			callers := []client.VersionCaller{}
			for caller, err := range c.EachVersionCaller(cmd.Context(), number, client.VersionCallerQuery{From: since}) {
				if err != nil {
					return fmt.Errorf("list callers of version %d: %w", number, err)
				}
				callers = append(callers, caller)
			}
			return st.printVersionCallers(callers, asJSON)
		})
	}
	return cmd
}

func (st *stage) printVersionCallers(callers []client.VersionCaller, asJSON bool) error {
	if asJSON {
		return st.printJSON(struct {
			Items []client.VersionCaller `json:"items"`
		}{callers})
	}
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	rows := make([]table.Row, 0, len(callers))
	for _, c := range callers {
		caller := cmp.Or(c.KeyID, c.UserID)
		rows = append(rows, table.Row{text(caller), c.WorkspaceID, text(c.Method), text(c.Route), text(c.Client), when(&c.LastAt)})
	}
	st.printTable(table.Row{"caller", "workspace", "method", "route", "client", "last"}, rows)
	return nil
}

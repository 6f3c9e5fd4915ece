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
	c := group("versions", "List, release, deprecate and retire versions of the API",
		versionsListCommand(st), versionsGetCommand(st), versionsReleaseCommand(st), versionsChangeCommand(st),
		versionsRehearseCommand(st), versionsRetireCommand(st), versionsUsageCommand(st))
	listVersions(st, c)
	return c
}

func versionsListCommand(st *stage) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the versions with a timeline", Args: noArguments,
		Example: "  keepsake versions list",
	}
	listVersions(st, cmd)
	return cmd
}

// listVersions lets a command list the versions.
func listVersions(st *stage, cmd *cobra.Command) {
	var asJSON bool
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
			err := st.printVersions(versions, asJSON, struct {
				Items []client.VersionRecord `json:"items"`
			}{versions})
			if lines := timeline(versions, time.Now()); err == nil && !asJSON && lines != "" {
				fmt.Fprint(st.out, "\n", lines)
			}
			return err
		})
	}
}

// printVersions prints versions as a table, or object as JSON.
func (st *stage) printVersions(versions []client.VersionRecord, asJSON bool, object any) error {
	if asJSON {
		return st.printJSON(object)
	}
	rows := make([]table.Row, 0, len(versions))
	for _, v := range versions {
		rows = append(rows, table.Row{v.Version.Version, v.State, whenCell(&v.Since), whenCell(v.AnnouncedAt), whenCell(v.SunsetAt), whenCell(v.RetiresAt)})
	}
	st.printTable(fixed("version", "state", "since (UTC)", "announced (UTC)", "sunset (UTC)", "retires (UTC)"), rows)
	return nil
}

// aboutVersion returns a command whose argument is a version, and which prints its record.
func aboutVersion(st *stage, cmd *cobra.Command, what string, do func(cmd *cobra.Command, c *client.Client, number int) (*client.VersionRecord, error)) *cobra.Command {
	var asJSON bool
	cmd.Args = oneArgument
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
		return 0, usageError(fmt.Sprintf("%q is not a version number", text))
	}
	return number, nil
}

func versionsGetCommand(st *stage) *cobra.Command {
	return aboutVersion(st, &cobra.Command{Use: "get N", Short: "Show a version", Example: "  keepsake versions get 1"}, "get",
		func(cmd *cobra.Command, c *client.Client, number int) (*client.VersionRecord, error) {
			return c.VersionRecord(cmd.Context(), number)
		})
}

func versionsReleaseCommand(st *stage) *cobra.Command {
	var announced, sunset, guide string
	cmd := &cobra.Command{
		Use: "release N", Short: "Release the next version",
		Long: "Makes the next version the current one. The previous version is deprecated from the announcement on and answers 410\n" +
			"from its sunset on, at least six calendar months later. A sunset can be moved later, but never earlier.",
		Example: "  keepsake versions release 2 --announced-at 2026-11-30",
	}
	flags := cmd.Flags()
	flags.StringVar(&announced, "announced-at", "", "`TIME` at which the end of the previous version was announced (default: now)")
	flags.StringVar(&sunset, "sunset-at", "", "`TIME` of the previous version's sunset (default: the earliest permitted)")
	flags.StringVar(&guide, "guide-url", "", "`URL` of a migration guide that is published elsewhere")
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

// timeFlag reads a date or an RFC 3339 time. It returns nil for an empty text.
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
	cmd := &cobra.Command{
		Use: "change N", Short: "Change the sunset or the migration guide of a version",
		Example: "  keepsake versions change 1 --sunset-at 2027-11-30",
	}
	flags := cmd.Flags()
	flags.StringVar(&sunset, "sunset-at", "", "new sunset `TIME`; it can only move later")
	flags.StringVar(&guide, "guide-url", "", "`URL` of the migration guide; empty for the page of this instance")
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
	return aboutVersion(st, &cobra.Command{Use: "retire N", Short: "Remove the routes of a sunset version", Example: "  keepsake versions retire 1"}, "retire",
		func(cmd *cobra.Command, c *client.Client, number int) (*client.VersionRecord, error) {
			return c.RetireVersion(cmd.Context(), number)
		})
}

func versionsRehearseCommand(st *stage) *cobra.Command {
	var (
		key, until string
		asJSON     bool
	)
	cmd := &cobra.Command{
		Use: "rehearse-sunset N", Short: "Rehearse a sunset for one API key", Args: oneArgument,
		Long: "Answers one API key as if the version's sunset had passed (410), so that its owner can test a migration before the date.\n" +
			"To end a rehearsal early, run the command again with an earlier time.",
		Example: "  keepsake versions rehearse-sunset 1 --key-id website --until 2026-12-01T12:00:00Z",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&key, "key-id", "", "`ID` or name of the API key")
	cmd.Flags().StringVar(&until, "until", "", "`TIME` at which the rehearsal ends")
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
		if err == nil && at == nil {
			err = usageError("--until must not be empty")
		}
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := keyID(cmd.Context(), c, key)
			if err != nil {
				return err
			}
			r, err := c.RehearseSunset(cmd.Context(), number, id, *at)
			if err != nil {
				return fmt.Errorf("rehearse the sunset of version %d: %w", number, err)
			}
			if asJSON {
				return st.printJSON(r)
			}
			fmt.Fprintf(st.out, "API key %s gets 410 from version %s until %s.\n", r.KeyID, r.Version, when(&r.Until))
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
	cmd := &cobra.Command{
		Use: "usage N", Short: "List the callers of a version", Args: oneArgument,
		Example: "  keepsake versions usage 1 --from 2026-11-01",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&from, "from", "", "only callers since `TIME`")
	wideFlag(st, cmd)
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
	rows := make([]table.Row, 0, len(callers))
	for _, c := range callers {
		caller := cmp.Or(c.KeyID, c.UserID)
		rows = append(rows, table.Row{orNone(caller), c.WorkspaceID, orNone(c.Method), orNone(c.Route), orNone(c.Client), whenCell(&c.LastAt)})
	}
	st.printTable([]column{
		{title: "caller"}, {title: "workspace", extra: true}, {title: "method"}, {title: "route", free: true}, {title: "client", free: true}, {title: "last (UTC)"},
	}, rows)
	return nil
}

package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/base/secretfile"
)

func usersCommand(st *stage) *cobra.Command {
	return group("users", "Create, list, change and delete users",
		usersCreateCommand(st), usersListCommand(st), usersGetCommand(st), usersChangeCommand(st), usersDeleteCommand(st))
}

const (
	rolesHelp        = "viewer, member, developer or admin"
	passwordFileHelp = "`FILE` with the password, 12 to 128 characters"
)

func usersCreateCommand(st *stage) *cobra.Command {
	var (
		u            client.NewUser
		passwordFile string
		asJSON       bool
	)
	cmd := &cobra.Command{
		Use: "create", Short: "Create a user", Args: noArguments,
		Long:    "Creates a user. Without --password-file a password is generated and printed; it is shown only once.",
		Example: "  keepsake users create --email ada@example.com --role developer",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&u.Email, "email", "", "email address, used to sign in")
	cmd.Flags().StringVar(&u.Role, "role", "", rolesHelp+" (default member)")
	cmd.Flags().StringVar(&u.Name, "name", "", "display name")
	cmd.Flags().StringVar(&u.WorkspaceID, "workspace", "", "`ID` or name of the workspace (default: the caller's)")
	cmd.Flags().StringVar(&passwordFile, "password-file", "", passwordFileHelp+" (default: a generated password)")
	if err := cmd.MarkFlagRequired("email"); err != nil {
		panic(err) // a flag of this command
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if passwordFile != "" {
			if u.Password, err = readPassword(passwordFile); err != nil {
				return err
			}
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			if u.WorkspaceID, err = workspaceID(cmd.Context(), c, u.WorkspaceID); err != nil {
				return err
			}
			made, err := c.CreateUser(cmd.Context(), u)
			if err != nil {
				return fmt.Errorf("create user: %w", err)
			}
			if asJSON {
				return st.printJSON(made)
			}
			fmt.Fprintf(st.out, "Created user %s (%s) in workspace %s with the role %s.\n", made.ID, plain(made.Email), made.WorkspaceID, made.Role)
			if made.Password != nil {
				fmt.Fprintf(st.out, "password  %s\n\nThe password is shown only once; store it now.\n", *made.Password)
			}
			return nil
		})
	}
	return cmd
}

// readPassword reads a password from a file. A password in a flag would be visible in the list of processes.
func readPassword(path string) (string, error) {
	password, err := secretfile.Read(path)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if password == "" {
		return "", usageError("the password file is empty")
	}
	return password, nil
}

func usersListCommand(st *stage) *cobra.Command {
	var (
		q      client.UserQuery
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List users, newest first", Args: noArguments,
		Example: "  keepsake users list --role admin",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&q.Workspace, "workspace", "", "only users of the workspace with this `ID` or name")
	cmd.Flags().StringVar(&q.Role, "role", "", "only users with this role: "+rolesHelp)
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			var err error
			if q.Workspace, err = workspaceID(cmd.Context(), c, q.Workspace); err != nil {
				return err
			}
			users := []client.User{}
			for u, err := range c.EachUser(cmd.Context(), q) {
				if err != nil {
					return fmt.Errorf("list users: %w", err)
				}
				users = append(users, u)
			}
			if asJSON {
				return st.printJSON(items[client.User]{users})
			}
			st.printUsers(users)
			return nil
		})
	}
	return cmd
}

func (st *stage) printUsers(users []client.User) {
	rows := make([]table.Row, 0, len(users))
	for _, u := range users {
		rows = append(rows, table.Row{u.ID, u.Email, u.Role, userState(&u), u.WorkspaceID, whenCell(u.LastLoginAt)})
	}
	st.printTable([]column{
		{title: "id"}, {title: "email", free: true}, {title: "role"}, {title: "state"}, {title: "workspace", extra: true}, {title: "last login (UTC)"},
	}, rows)
}

func userState(u *client.User) string {
	if u.Disabled {
		return "disabled"
	}
	return "active"
}

// printUser prints all of a user, or JSON.
func (st *stage) printUser(u *client.User, asJSON bool) error {
	if asJSON {
		return st.printJSON(u)
	}
	st.printRecord(
		field{"id", u.ID}, field{"email", u.Email}, field{"name", orNone(u.Name)}, field{"role", u.Role}, field{"state", userState(u)},
		field{"workspace", u.WorkspaceID}, field{"last login", when(u.LastLoginAt)}, field{"created", when(&u.CreatedAt)},
	)
	return nil
}

func usersGetCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get USER", Short: "Show a user", Args: oneArgument,
		Long:    "Shows a user. USER is an ID or an email address.",
		Example: "  keepsake users get ada@example.org",
	}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := userID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			u, err := c.User(cmd.Context(), id)
			if err != nil {
				return fmt.Errorf("get user %s: %w", id, err)
			}
			return st.printUser(u, asJSON)
		})
	}
	return cmd
}

func usersChangeCommand(st *stage) *cobra.Command {
	var (
		name, role, passwordFile string
		disabled, asJSON         bool
	)
	cmd := &cobra.Command{
		Use: "change USER", Short: "Change a user's name, role or password, or disable the user", Args: oneArgument,
		Long: "Changes the given fields and leaves the others unchanged. A new role takes effect at once. Disabling a user or setting\n" +
			"a password ends all of the user's sessions. The last admin of a workspace cannot lose that role. USER is an ID or an email\n" +
			"address.",
		Example: "  keepsake users change ada@example.org --role admin",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "display name; empty to remove it")
	flags.StringVar(&role, "role", "", rolesHelp)
	flags.BoolVar(&disabled, "disabled", false, "whether the user is disabled and cannot sign in")
	flags.StringVar(&passwordFile, "password-file", "", passwordFileHelp)
	cmd.MarkFlagsOneRequired("name", "role", "disabled", "password-file")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var change client.UserChange
		if flags.Changed("name") {
			change.Name = client.To(name)
			if name == "" {
				change.Name = client.Cleared[string]()
			}
		}
		if flags.Changed("role") {
			change.Role = client.To(role)
		}
		if flags.Changed("disabled") {
			change.Disabled = client.To(disabled)
		}
		if passwordFile != "" {
			password, err := readPassword(passwordFile)
			if err != nil {
				return err
			}
			change.Password = client.To(password)
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := userID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			u, err := c.ChangeUser(cmd.Context(), id, change, nil)
			if err != nil {
				return fmt.Errorf("change user %s: %w", id, err)
			}
			return st.printUser(u, asJSON)
		})
	}
	return cmd
}

func usersDeleteCommand(st *stage) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete USER", Short: "Delete a user", Args: oneArgument,
		Long: "Deletes a user and ends all of the user's sessions. The email address can be used again. USER is an ID or an\n" +
			"email address.",
		Example: "  keepsake users delete ada@example.org",
	}
	t := targetFlags(st, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := userID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := c.DeleteUser(cmd.Context(), id, nil); err != nil {
				return fmt.Errorf("delete user %s: %w", id, err)
			}
			fmt.Fprintf(st.out, "Deleted user %s.\n", id)
			return nil
		})
	}
	return cmd
}

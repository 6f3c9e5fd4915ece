package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func usersCommand(st *stage) *cobra.Command {
	return group("users", "Make, list, change and delete users",
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
		Use: "create", Short: "Make a user; a password that is made is shown this once", Args: cobra.NoArgs,
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&u.Email, "email", "", "what the user signs in with")
	cmd.Flags().StringVar(&u.Role, "role", "", rolesHelp+" (member)")
	cmd.Flags().StringVar(&u.Name, "name", "", "what people call the user")
	cmd.Flags().StringVar(&u.WorkspaceID, "workspace", "", "`ID` of the workspace; left out, the caller's")
	cmd.Flags().StringVar(&passwordFile, "password-file", "", passwordFileHelp+"; left out, one is made")
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
			made, err := c.CreateUser(cmd.Context(), u)
			if err != nil {
				return fmt.Errorf("create user: %w", err)
			}
			if asJSON {
				return st.printJSON(made)
			}
			fmt.Fprintf(st.out, "%s (%s) is in %s with the role %s.\n", made.ID, plain(made.Email), made.WorkspaceID, made.Role)
			if made.Password != nil {
				fmt.Fprintf(st.out, "password  %s\n\nIt is shown this once.\n", *made.Password)
			}
			return nil
		})
	}
	return cmd
}

// readPassword reads a password from a file, where no list of processes shows it.
func readPassword(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return "", usageError("the file of the password is empty")
	}
	return password, nil
}

func usersListCommand(st *stage) *cobra.Command {
	var (
		q      client.UserQuery
		asJSON bool
	)
	cmd := &cobra.Command{Use: "list", Short: "List users, newest first", Args: cobra.NoArgs}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&q.Workspace, "workspace", "", "only those of the workspace with this `ID`")
	cmd.Flags().StringVar(&q.Role, "role", "", "only those of this role: "+rolesHelp)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			users := []client.User{}
			for u, err := range c.EachUser(cmd.Context(), q) {
				if err != nil {
					return fmt.Errorf("list users: %w", err)
				}
				users = append(users, u)
			}
			return st.printUsers(users, asJSON, struct {
				Items []client.User `json:"items"`
			}{users})
		})
	}
	return cmd
}

// printUsers prints a table of users, or what they are as JSON.
func (st *stage) printUsers(users []client.User, asJSON bool, object any) error {
	if asJSON {
		return st.printJSON(object)
	}
	rows := make([]table.Row, 0, len(users))
	for _, u := range users {
		state := "active"
		if u.Disabled {
			state = "disabled"
		}
		rows = append(rows, table.Row{u.ID, u.Email, u.Role, state, u.WorkspaceID, when(u.LastLoginAt)})
	}
	st.printTable(table.Row{"id", "email", "role", "state", "workspace", "last login"}, rows)
	return nil
}

func usersGetCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "get ID", Short: "Show one user", Args: cobra.ExactArgs(1)}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			u, err := c.User(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("get user %s: %w", args[0], err)
			}
			return st.printUsers([]client.User{*u}, asJSON, u)
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
		Use: "change ID", Short: "Change a user's name, role or password, or disable it", Args: cobra.ExactArgs(1),
		Long: "Changes what is named and leaves the rest. A role holds at once; a user who is disabled, or whose password is set,\n" +
			"is signed out everywhere. A workspace's last admin stays one.",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "what people call the user; empty for no name")
	flags.StringVar(&role, "role", "", rolesHelp)
	flags.BoolVar(&disabled, "disabled", false, "whether the user is kept from signing in")
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
			u, err := c.ChangeUser(cmd.Context(), args[0], change, nil)
			if err != nil {
				return fmt.Errorf("change user %s: %w", args[0], err)
			}
			return st.printUsers([]client.User{*u}, asJSON, u)
		})
	}
	return cmd
}

func usersDeleteCommand(st *stage) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Forget a user; the email is free again", Args: cobra.ExactArgs(1),
	}
	t := targetFlags(st, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			if err := c.DeleteUser(cmd.Context(), args[0], nil); err != nil {
				return fmt.Errorf("delete user %s: %w", args[0], err)
			}
			fmt.Fprintf(st.out, "%s is deleted.\n", args[0])
			return nil
		})
	}
	return cmd
}

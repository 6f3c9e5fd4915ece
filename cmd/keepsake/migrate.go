package main

import (
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/store/move"
)

func migrateCommand(st *stage) *cobra.Command {
	var (
		from, keysFrom, to, keysTo string
		asJSON                     bool
	)
	cmd := &cobra.Command{
		Use: "migrate", Short: "Move an instance between a folder and PostgreSQL", Args: noArguments,
		Long: "Copies an instance from a data folder into an empty PostgreSQL database, or from a database into an empty folder, and then\n" +
			"compares the rows of both sides. A target that is not empty is refused (exit code 3). Stop all servers of the\n" +
			"instance first: a folder or database that is in use is refused. The source is not changed.\n\n" +
			"If the command is interrupted, run it again to continue. The target cannot be served until it has finished.\n\n" +
			"--from and --to are a folder or an address such as postgres://user@host/name. One of them can be left out; the settings\n" +
			"databaseUrl and keysUrl are used instead, which keeps a password off the command line (KEEPSAKE_DATABASE_URL_FILE).\n\n" +
			"Search indexes are rebuilt from the documents. No database contains the master key; the command prints which files to move\n" +
			"with the instance.",
		Example: "  keepsake migrate --from ./keepsake-data --to postgres://keepsake@db/keepsake",
	}
	s := &settings{st: st, cmd: cmd}
	flags := cmd.Flags()
	flags.StringVar(&s.file, "config", "", "`FILE` of settings, YAML")
	flags.StringVar(&from, "from", "", "`SOURCE`: a data folder or postgres://…")
	flags.StringVar(&keysFrom, "keys-from", "", "`URL` of the source's database of secrets, if it is a separate one")
	flags.StringVar(&to, "to", "", "empty `TARGET`: a data folder or postgres://…")
	flags.StringVar(&keysTo, "keys-to", "", "`URL` of the target's database of secrets, if it is a separate one")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if from == "" && to == "" {
			return usageError("--from or --to is required")
		}
		m := instance.MoveRequest{}
		var err error
		if m.From, err = s.place("--from", from, keysFrom); err != nil {
			return err
		}
		if m.To, err = s.place("--to", to, keysTo); err != nil {
			return err
		}
		bars := st.rowBars(!asJSON && st.errTTY)
		defer bars.end()
		m.Progress = bars.show
		log := slog.New(slog.NewTextHandler(st.err, &slog.HandlerOptions{Level: slog.LevelError}))
		done, err := instance.Move(cmd.Context(), instance.Options{Log: log}, m)
		if err != nil {
			return err
		}
		if asJSON {
			return st.printJSON(done)
		}
		bars.end()
		st.printMoved(done, m)
		return nil
	}
	return cmd
}

// place returns the place that a flag names: a folder or an address, or the database of the settings if the flag is empty.
func (s *settings) place(flag, text, keys string) (instance.Place, error) {
	isAddress := strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
	if _, port, err := net.SplitHostPort(text); err == nil && isNumber(port) {
		return instance.Place{}, usageError(flag + " looks like the address of a server: a database begins with postgres://")
	}
	if strings.Contains(text, "://") && !isAddress {
		return instance.Place{}, usageError(flag + " must be a folder or an address such as postgres://host/name")
	}
	if text != "" && !isAddress {
		if keys != "" {
			return instance.Place{}, usageError(flag + " is a folder, which contains the secrets; --keys-from and --keys-to are only for databases")
		}
		return instance.Place{Folder: text}, nil
	}
	var cfg config.Config
	var err error
	if isAddress {
		given := map[string]string{"databaseUrl": text}
		if keys != "" {
			given["keysUrl"] = keys
		}
		cfg, err = config.Load(config.Sources{Flags: given})
	} else if cfg, err = s.load(); err == nil && cfg.DatabaseURL == "" {
		err = usageError(flag + " must be a folder or a database, or the setting databaseUrl must be set")
	}
	return instance.Place{DatabaseURL: cfg.DatabaseURL, KeysURL: cfg.KeysURL}, err
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// rowBars draws the progress of a move, one bar after the other.
type rowBars struct {
	st   *stage
	draw bool
	what string
	bar  *progressbar.ProgressBar
}

func (st *stage) rowBars(draw bool) *rowBars { return &rowBars{st: st, draw: draw} }

func (b *rowBars) show(s move.Step) {
	what := "copying " + s.Table
	if s.Verifying {
		what = "comparing " + s.Table
	}
	if what != b.what {
		b.end()
		b.what = what
		b.bar = progressbar.NewOptions64(s.Total,
			progressbar.OptionSetWriter(b.st.err), progressbar.OptionSetDescription(what), progressbar.OptionSetVisibility(b.draw),
			progressbar.OptionShowCount(), progressbar.OptionSetRenderBlankState(true), progressbar.OptionClearOnFinish())
	}
	b.bar.ChangeMax64(max(s.Total, 1))
	_ = b.bar.Set64(min(s.Rows, s.Total)) // errors of drawing are ignored
}

func (b *rowBars) end() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
	b.bar, b.what = nil, ""
}

func (st *stage) printMoved(done *instance.MoveResult, m instance.MoveRequest) {
	again := ""
	if done.Resumed {
		again = " (continued after an interruption)"
	}
	fmt.Fprintf(st.out, "Copied %d rows of %d tables%s; both sides are equal:\n", done.Rows, len(done.Tables), again)
	for _, t := range done.Tables {
		if t.Rows > 0 {
			fmt.Fprintf(st.out, "  %-20s %d\n", t.Table, t.Rows)
		}
	}
	files := []string{"master.key", "audit.checkpoints", "journal.ndjson"}
	fmt.Fprintln(st.out, "\nNext steps:")
	if m.To.DatabaseURL == "" {
		fmt.Fprintf(st.out, "  - copy %s into %s\n    from the folder of a process that served the database; if there were several, concatenate their journals\n",
			strings.Join(files, ", "), m.To.Folder)
		fmt.Fprintf(st.out, "  - keepsake serve --data %s\n", m.To.Folder)
		fmt.Fprintln(st.out, "The database was not changed. Do not serve it again: later writes would stay there.")
		return
	}
	if m.From.DatabaseURL != "" {
		fmt.Fprintf(st.out, "  - each process keeps its folder with %s\n", strings.Join(files, ", "))
	} else {
		var there []string
		for _, name := range files {
			if path := filepath.Join(m.From.Folder, name); exists(path) {
				there = append(there, path)
			} else if name == "master.key" {
				fmt.Fprintln(st.out, "  - keep the setting masterKey as it is")
			}
		}
		fmt.Fprintf(st.out, "  - copy %s\n    into a new folder for the first process; other processes need only the master key\n", strings.Join(there, ", "))
	}
	fmt.Fprintln(st.out, "  - run keepsake serve --data NEW-FOLDER with the address in databaseUrl (KEEPSAKE_DATABASE_URL)")
	fmt.Fprintf(st.out, "%s was not changed. Do not serve it again: later writes would stay there.\n", m.From)
}

package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"keepsake/internal/app"
	"keepsake/internal/config"
	"keepsake/internal/store/move"
)

func migrateCommand(st *stage) *cobra.Command {
	var (
		from, keysFrom, to, keysTo string
		asJSON                     bool
	)
	cmd := &cobra.Command{
		Use: "migrate", Short: "Move an instance between a folder and PostgreSQL", Args: cobra.NoArgs,
		Long: "Copies all that an instance has into an empty PostgreSQL database, or out of one into an empty folder, and compares the\n" +
			"rows of both sides; the exit code is 3 where the target is not empty. Nobody may serve the instance meanwhile: a folder\n" +
			"that is in use, and a database that processes are on, are refused. The source stays as it is.\n\n" +
			"What was cut off is gone on with by the same command. Until it is done, the target cannot be served.\n\n" +
			"--from and --to are a folder or an address such as postgres://user@host/name. One of them may be left out: it is then the\n" +
			"database of the settings databaseUrl and keysUrl, which keeps a password off the command line (KEEPSAKE_DATABASE_URL_FILE).\n\n" +
			"Search indexes are made anew from the documents. The master key is in no database: the command says at the end which files go along.",
	}
	s := &settings{st: st, cmd: cmd}
	flags := cmd.Flags()
	flags.StringVar(&s.file, "config", "", "`FILE` of settings, YAML")
	flags.StringVar(&from, "from", "", "`PLACE` of the instance: a folder or postgres://…")
	flags.StringVar(&keysFrom, "keys-from", "", "`ADDRESS` of the database of its secrets, where that is another one")
	flags.StringVar(&to, "to", "", "empty `PLACE` to move to: a folder or postgres://…")
	flags.StringVar(&keysTo, "keys-to", "", "`ADDRESS` of the database for its secrets, where that is to be another one")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if from == "" && to == "" {
			return usageError("--from or --to must say where the instance is, or where it is to be")
		}
		m := app.Moving{}
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
		done, err := app.Move(cmd.Context(), app.Deps{Log: log}, m)
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

// place is what a flag names: a folder, an address, or, left out, what the settings say.
func (s *settings) place(flag, text, keys string) (app.Place, error) {
	isAddress := strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
	if text != "" && !isAddress {
		if keys != "" {
			return app.Place{}, usageError(flag + " is a folder, which holds the secrets as well: --keys-from and --keys-to are for databases")
		}
		return app.Place{Folder: text}, nil
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
		err = usageError(flag + " must name a folder or a database; left out, the setting databaseUrl must")
	}
	return app.Place{DatabaseURL: cfg.DatabaseURL, KeysURL: cfg.KeysURL}, err
}

// rowBars draw the progress of a move: one bar after the other.
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
	_ = b.bar.Set64(min(s.Rows, s.Total)) // a bar that cannot be drawn stops nothing
}

func (b *rowBars) end() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
	b.bar, b.what = nil, ""
}

func (st *stage) printMoved(done *app.Moved, m app.Moving) {
	again := ""
	if done.Resumed {
		again = ", going on with what was cut off"
	}
	fmt.Fprintf(st.out, "%d rows of %d tables were moved%s, and are the same on both sides:\n", done.Rows, len(done.Tables), again)
	for _, t := range done.Tables {
		if t.Rows > 0 {
			fmt.Fprintf(st.out, "  %-20s %d\n", t.Table, t.Rows)
		}
	}
	files := []string{"master.key", "audit.checkpoints", "journal.ndjson"}
	fmt.Fprintln(st.out, "\nWhat lies in no database goes along by hand:")
	if m.To.DatabaseURL == "" {
		fmt.Fprintf(st.out, "  - copy %s into %s\n    from the folder of a process that served the database; of several, put their journals together with cat\n",
			strings.Join(files, ", "), m.To.Folder)
		fmt.Fprintf(st.out, "  - keepsake serve --data %s\n", m.To.Folder)
		fmt.Fprintln(st.out, "The database is as it was. Do not serve it again: what is written there from now on stays there.")
		return
	}
	if m.From.DatabaseURL != "" {
		fmt.Fprintf(st.out, "  - each process keeps its folder, with %s\n", strings.Join(files, ", "))
	} else {
		var there []string
		for _, name := range files {
			if path := filepath.Join(m.From.Folder, name); exists(path) {
				there = append(there, path)
			} else if name == "master.key" {
				fmt.Fprintln(st.out, "  - the setting masterKey gives the master key; it stays the same")
			}
		}
		fmt.Fprintf(st.out, "  - copy %s\n    into a new folder, that of the first process on the database; the others need the master key alone\n", strings.Join(there, ", "))
	}
	fmt.Fprintln(st.out, "  - keepsake serve --data NEW-FOLDER, with the address in databaseUrl")
	fmt.Fprintf(st.out, "%s is as it was. Do not serve it again: what is written there from now on stays there.\n", m.From)
}

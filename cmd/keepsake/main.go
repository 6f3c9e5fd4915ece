// Command keepsake is the server and its administration tool.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/logqueue"
	"keepsake/internal/base/serverurl"
)

// The exit codes (docs/spec/commandline.md).
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2 // a wrong flag, argument or setting
	exitRefused = 3 // existing data would have been overwritten
)

func main() { os.Exit(run(os.Args[1:], terminal())) }

// stage is the environment of a command: its standard streams, variables and clock.
type stage struct {
	in       io.Reader
	out, err io.Writer
	env      []string
	now      func() time.Time
	tty      bool // out is a terminal
	errTTY   bool // err is a terminal, so progress is drawn
	wide     bool // tables are not limited in width

	queues []*logqueue.Writer // in front of out and err, after detach
	log    *slog.Logger       // of the program, after detach

	// scryptWork is the base-2 logarithm of the cost of a key from a passphrase; 0: age's default, about a second.
	scryptWork int
}

// run runs a command and returns the exit code.
func run(args []string, st *stage) int {
	started := false
	root := rootCommand(st)
	whenRun(root, func() { started = true })
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return commandFirst(cmd, args, err) })
	root.SetIn(st.in)
	root.SetOut(st.out)
	root.SetErr(st.err)

	ctx, stop := untilSignalled()
	defer stop()

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if !started {
		text = withHelp(cmd, text)
	}
	fmt.Fprintln(st.err, "keepsake: "+serverurl.Redact(text, slices.Concat(args, st.env)...))
	st.flush()
	var usage usageError
	var setting *config.Error
	switch {
	case !started, // cobra refused the flags or arguments
		errors.As(err, &usage), errors.As(err, &setting):
		return exitUsage
	case errors.Is(err, instance.ErrInitialised), errors.Is(err, instance.ErrNotEmpty), errors.Is(err, instance.ErrOccupied), errors.Is(err, errWouldOverwrite):
		return exitRefused
	default:
		return exitFailed
	}
}

// whenRun calls begin before any command runs, after cobra has checked flags and arguments.
func whenRun(c *cobra.Command, begin func()) {
	if work := c.RunE; work != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			begin()
			return work(cmd, args)
		}
	}
	for _, below := range c.Commands() {
		whenRun(below, begin)
	}
}

// usageError is a wrong flag or argument that only the command can detect.
type usageError string

func (e usageError) Error() string { return string(e) }

func rootCommand(st *stage) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "keepsake",
		Short: "Governed search and memory behind an API, in one binary",
		Long: "Keepsake gives applications and AI agents search and long-term memory behind a governed API.\n" +
			"Start with `keepsake serve`: it creates what it needs and prints the first API key.",
		Example:                    "  keepsake serve\n  keepsake keys create --name website --scopes read",
		Args:                       onlyCommands,
		SilenceErrors:              true, // run prints them, once
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				st.printVersion()
				return nil
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd.OutOrStderr(), cmd) })
	root.AddCommand(
		serveCommand(st), initCommand(st), keysCommand(st), documentsCommand(st), collectionsCommand(st), searchCommand(st), memoriesCommand(st),
		usersCommand(st), workspacesCommand(st), tiersCommand(st), versionsCommand(st), usageCommand(st), auditCommand(st), webhooksCommand(st), mcpCommand(st), vectorsCommand(st),
		backupCommand(st), restoreCommand(st), migrateCommand(st),
		doctorCommand(st), openapiCommand(st), conformanceCommand(st), benchCommand(st), manCommand(st), versionCommand(st),
		settingsTopic(),
	)
	addCompletion(st, root)
	return root
}

// group returns a command that only contains others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: onlyCommands, SuggestionsMinimumDistance: 2,
		Example: commands[0].Example,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(commands...)
	return c
}

// untilSignalled returns a context that the first signal cancels, for an orderly shutdown. The second signal ends the process
// at once. On Windows the signals are Ctrl-C, which Go calls SIGINT, and the end of the console or the session, which it
// calls SIGTERM.
func untilSignalled() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case again := <-signals:
			signal.Stop(signals)
			endBy(again)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func manCommand(st *stage) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "man", Short: "Write the manual pages", Args: noArguments,
		Long: "Writes a manual page for each command into a folder, where `man` finds them: keepsake.1, keepsake-serve.1, keepsake-keys-create.1\n" +
			"and so on. The folder is created if it is missing, and pages in it are replaced.",
		Example: "  keepsake man --out ~/.local/share/man/man1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			for name, page := range manPages(cmd.Root()) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(page), 0o644); err != nil {
					return fmt.Errorf("--out: %w", err)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "out", "", "`DIR` that gets the pages")
	if err := cmd.MarkFlagRequired("out"); err != nil {
		panic(err) // a flag of this command
	}
	return cmd
}

// manPages returns the manual pages of a command and of all below it, by file name. They contain what its help pages show,
// and no date, so the same build always has the same pages. cobra/doc would leave out help topics such as settings, mix the
// connection flags with the others, and make the program 0.6 MB larger.
func manPages(cmd *cobra.Command) map[string]string {
	pages := map[string]string{manName(cmd) + ".1": manPage(cmd)}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			for name, page := range manPages(c) {
				pages[name] = page
			}
		}
	}
	return pages
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s %s\n", roffArgument(strings.ToUpper(manName(cmd))), roffArgument("keepsake "+thisBuild().Version), roffArgument("Keepsake"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roffText(manName(cmd)), roffText(cmd.Short))
	if cmd.Runnable() {
		b.WriteString(".SH SYNOPSIS\n")
		if !isGroup(cmd) {
			b.WriteString(roffText(cmd.UseLine()) + "\n.br\n")
		}
		if cmd.HasAvailableSubCommands() {
			b.WriteString(roffText(cmd.CommandPath()+" COMMAND [flags]") + "\n")
		}
	}
	b.WriteString(".SH DESCRIPTION\n")
	for paragraph := range strings.SplitSeq(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short+".")), "\n\n") {
		b.WriteString(".PP\n")
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			roffBlock(&b, paragraph) // its lines are a table
		} else {
			b.WriteString(roffText(paragraph) + "\n")
		}
	}
	for _, group := range flagGroups(cmd) {
		fmt.Fprintf(&b, ".SH %s\n", roffArgument(strings.ToUpper(group.title)))
		roffBlock(&b, group.flags.FlagUsagesWrapped(76))
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		roffBlock(&b, cmd.Example)
	}
	b.WriteString(".SH \"SEE ALSO\"\n")
	var also []string
	if cmd.HasParent() {
		also = append(also, manName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			also = append(also, manName(c))
		}
	}
	for i, name := range also {
		also[i] = `\fB` + roffText(name) + `\fP(1)`
	}
	b.WriteString(strings.Join(also, ", ") + "\n")
	return b.String()
}

// roffBlock writes text whose lines and spaces stay as they are.
func roffBlock(b *strings.Builder, text string) {
	fmt.Fprintf(b, ".nf\n%s\n.fi\n", roffText(strings.TrimRight(text, "\n")))
}

// roffText returns text of which roff reads nothing as a command.
func roffText(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`, "`", `\(ga`, `'`, `\(aq`, `^`, `\(ha`, `~`, `\(ti`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// roffArgument returns text as one argument of a roff command.
func roffArgument(text string) string {
	return `"` + strings.ReplaceAll(roffText(text), `"`, `\(dq`) + `"`
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"keepsake/internal/base/problem"
)

// connectionFlags say which instance a command works on. Help pages list them apart from the flags of the command.
var connectionFlags = []string{"url", "key", "data", "database-url", "keys-url", "config", "ai-url", "backend-url", "backend-secret-file"}

// connection is the annotation of a connection flag.
const connection = "keepsake_connection"

// markConnectionFlags marks the connection flags of a command that has others as well. serve and doctor are about those
// settings, so they list them with all others.
func markConnectionFlags(cmd *cobra.Command) {
	for _, name := range connectionFlags {
		if cmd.Flags().Lookup(name) != nil {
			if err := cmd.Flags().SetAnnotation(name, connection, nil); err != nil {
				panic(err) // a flag of this command
			}
		}
	}
}

// printHelp writes the help page of a command.
func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s\n\n", wrapped(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short+"."))))
	_ = printUsage(w, cmd)
}

// helpWidth is the number of columns of a help page.
const helpWidth = 100

// wrapped breaks the lines of a help text that are longer than helpWidth. The lines of a paragraph are filled; in a paragraph
// with indented lines, each line stands for itself and keeps its indent.
func wrapped(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(p, "\n")
		if !slices.ContainsFunc(lines, func(l string) bool { return utf8.RuneCountInString(l) > helpWidth }) {
			continue
		}
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, " ") }) {
			lines = []string{strings.Join(lines, " ")}
		}
		for j, l := range lines {
			lines[j] = filled(l)
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// filled breaks a line between words, and indents what follows like the line.
func filled(line string) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(line) {
		width := utf8.RuneCountInString(word)
		switch {
		case column == 0:
			b.WriteString(indent)
			column = len(indent)
		case column+1+width > helpWidth:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String()
}

// printUsage writes the usage, the examples, the commands and the flags of a command. It is written out because cobra's
// templates would bring in text/template, with which the linker keeps every exported method.
func printUsage(w io.Writer, cmd *cobra.Command) error {
	fmt.Fprintln(w, "Usage:")
	if !isGroup(cmd) {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintln(w, "\nCommands:")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	for _, group := range flagGroups(cmd) {
		fmt.Fprintf(w, "\n%s:\n%s", group.title, group.flags.FlagUsagesWrapped(helpWidth))
	}
	if topics := topicsOf(cmd); len(topics) > 0 {
		fmt.Fprintln(w, "\nHelp topics:")
		for _, c := range topics {
			fmt.Fprintf(w, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun '%s COMMAND --help' for more about a command.\n", cmd.CommandPath())
	}
	return nil
}

// flagGroup is a part of the flags of a command, under a title.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups returns the visible flags of a command: its own, and those that say where it works.
func flagGroups(cmd *cobra.Command) []flagGroup {
	own, where := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Annotations[connection]; ok {
			where.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	})
	return slices.DeleteFunc([]flagGroup{{"Flags", own}, {"Connection flags", where}}, func(g flagGroup) bool { return !g.flags.HasAvailableFlags() })
}

// isGroup reports whether a command only contains others: its only flag is --help.
func isGroup(cmd *cobra.Command) bool {
	flags := 0
	cmd.Flags().VisitAll(func(*pflag.Flag) { flags++ })
	return cmd.HasAvailableSubCommands() && flags <= 1
}

func topicsOf(cmd *cobra.Command) []*cobra.Command {
	var topics []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			topics = append(topics, c)
		}
	}
	return topics
}

// onlyCommands refuses arguments of a command that only contains others, and suggests the commands that were probably meant.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(similar, " or "))
	} else {
		text += fmt.Sprintf("; run '%s --help'", cmd.CommandPath())
	}
	return usageError(text)
}

// noArguments refuses arguments of a command that takes none. cobra.NoArgs would call an argument an unknown command.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError(fmt.Sprintf("unexpected argument %q: '%[2]s' takes only flags; run '%[2]s --help'", args[0], cmd.CommandPath()))
}

// oneArgument requires the one argument that the usage of a command names.
func oneArgument(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return usageError(fmt.Sprintf("an argument is missing in '%s'", cmd.UseLine()))
	default:
		return usageError(fmt.Sprintf("there are %d arguments, but '%s' takes one; put an argument with blanks in quotes", len(args), cmd.UseLine()))
	}
}

// withHelp adds the help page to the error of a command that did not start, unless the error says what to do.
func withHelp(cmd *cobra.Command, text string) string {
	for _, advice := range []string{"--help'", "did you mean", "flags come after"} {
		if strings.Contains(text, advice) {
			return text
		}
	}
	return fmt.Sprintf("%s; run '%s --help'", text, cmd.CommandPath())
}

// flagMeant adds the flag that was probably meant to the error of an unknown one.
func flagMeant(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if similar := problem.Similar(unknown.GetSpecifiedName(), known); similar != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, similar)
	}
	return err
}

// commandFirst returns the error of a command line whose flags do not parse. Where a command is missing or unknown, that is the
// error: the flags belong to the command that was meant.
func commandFirst(cmd *cobra.Command, args []string, err error) error {
	if !cmd.HasAvailableSubCommands() {
		return flagMeant(cmd, err)
	}
	_, rest, findErr := cmd.Root().Find(args)
	if findErr != nil {
		return err
	}
	word := firstWord(cmd, rest)
	known := slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool { return word != "" && c.Name() == word })
	switch {
	case known:
		return usageError(fmt.Sprintf("flags come after the command: %s %s [flags]", cmd.CommandPath(), word))
	case word != "":
		return onlyCommands(cmd, []string{word})
	case isGroup(cmd):
		return usageError(fmt.Sprintf("%v: the command is missing; run '%s --help'", err, cmd.CommandPath()))
	default:
		return err
	}
}

// firstWord returns the first argument that is neither a flag nor the value of one, or "".
func firstWord(cmd *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		if !isFlag {
			return args[i]
		}
		if name = strings.TrimPrefix(name, "-"); !strings.Contains(name, "=") && !isSwitch(cmd, name) {
			i++
		}
	}
	return ""
}

// isSwitch reports whether a command below cmd has a flag of this name that takes no value.
func isSwitch(cmd *cobra.Command, name string) bool {
	return slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool {
		f := c.Flags().Lookup(name)
		return f != nil && f.NoOptDefVal != "" || isSwitch(c, name)
	})
}

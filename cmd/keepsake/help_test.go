package main

import (
	"bytes"
	"io"
	"net"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"keepsake/internal/app/config"
)

// eachCommand calls fn for every command that has a help page.
func eachCommand(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, below := range c.Commands() {
		eachCommand(below, fn)
	}
}

func TestExamplesOfHelpPagesParse(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile(`'[^']*'|\$\([^)]*\)`)
	st := &stage{out: io.Discard, err: io.Discard}
	eachCommand(rootCommand(st), func(c *cobra.Command) {
		if !c.Runnable() || c.Name() == "help" || c.Name() == "completion" || c.Parent() != nil && c.Parent().Name() == "completion" {
			return
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", "")) {
			if inner, ok := strings.CutPrefix(strings.TrimSpace(line), "KEEPSAKE_KEY=$("); ok {
				line = strings.TrimSuffix(inner, ")")
			}
			line, _, _ = strings.Cut(line, " > ")
			words := strings.Fields(quoted.ReplaceAllString(line, "x"))
			if len(words) == 0 || words[0] != "keepsake" {
				t.Errorf("%s: the example %q does not begin with keepsake", c.CommandPath(), line)
				continue
			}
			found, args, err := rootCommand(st).Find(words[1:])
			if err == nil {
				err = found.ParseFlags(args)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err == nil {
				err = found.ValidateRequiredFlags()
			}
			if err != nil {
				t.Errorf("%s: the example %q: %v", c.CommandPath(), line, err)
			}
		}
	})
}

func TestFlagsNameTheirValuesInCapitals(t *testing.T) {
	t.Parallel()
	eachCommand(rootCommand(&stage{out: io.Discard, err: io.Discard}), func(c *cobra.Command) {
		for line := range strings.Lines(c.LocalFlags().FlagUsages()) {
			if regexp.MustCompile(`--\S+ [^ ]* [^ ]`).MatchString(line) {
				t.Errorf("%s: %s", c.CommandPath(), line)
			}
		}
	})
}

func TestHelpListsConnectionFlagsApart(t *testing.T) {
	t.Parallel()
	for args, ofItsOwn := range map[string]string{"keys create": "--scopes", "bench": "--mix", "conformance": "--only"} {
		var out bytes.Buffer
		if code := run(append(strings.Fields(args), "--help"), &stage{out: &out, err: io.Discard}); code != exitOK {
			t.Fatalf("%s: the exit code is %d", args, code)
		}
		_, flags, _ := strings.Cut(out.String(), "\nFlags:\n")
		own, where, ok := strings.Cut(flags, "\nConnection flags:\n")
		if !ok || !strings.Contains(own, ofItsOwn) || strings.Contains(own, "--url") || !strings.Contains(where, "--url") {
			t.Errorf("the help page of %s is\n%s", args, out.String())
		}
	}
}

func TestHelpPagesAreNotTooWide(t *testing.T) {
	t.Parallel()
	eachCommand(rootCommand(&stage{out: io.Discard, err: io.Discard}), func(c *cobra.Command) {
		var page bytes.Buffer
		c.SetOut(&page)
		printHelp(c, nil)
		for line := range strings.Lines(page.String()) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > helpWidth {
				t.Errorf("%s: %s", c.CommandPath(), line)
			}
		}
	})
}

func TestLongHelpTextsAreBrokenBetweenWords(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("twelve_bytes ", 10))
	for text, want := range map[string]string{
		"short\nlines stay":        "short\nlines stay",
		long + "\nend":             strings.TrimSpace(long[:91-1]) + "\n" + long[91:] + " end",
		"a\n\n  name\n    " + long: "a\n\n  name\n    " + long[:90] + "\n    " + long[91:],
	} {
		if got := wrapped(text); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestMistypedCommandsGetASuggestion(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"serv":         `did you mean serve`,
		"keys creat":   `did you mean create?`,
		"keys nothing": `run 'keepsake keys --help'`,
	} {
		var text bytes.Buffer
		if code := run(strings.Fields(args), &stage{out: io.Discard, err: &text}); code != exitUsage || !strings.Contains(text.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, text.String())
		}
	}
}

func TestAMissingOrUnknownCommandIsNamedBeforeItsFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"keys rotat --grace 1h":            `unknown command "rotat" for "keepsake keys"; did you mean rotate`,
		"keys --grace 1h rotat":            `unknown command "rotat" for "keepsake keys"; did you mean rotate`,
		"keys --json lst":                  `unknown command "lst" for "keepsake keys"; did you mean `,
		"keys --json list":                 `flags come after the command: keepsake keys list [flags]`,
		"keys --name x":                    `unknown flag: --name: the command is missing; run 'keepsake keys --help'`,
		"serv --listen :9000":              `unknown command "serv" for "keepsake"; did you mean serve`,
		"versions relase --sunset-at 2027": `unknown command "relase" for "keepsake versions"; did you mean release?`,
		"versions --colour":                `unknown flag: --colour`,
		"keys list --colour":               `unknown flag: --colour; run 'keepsake keys list --help'`,
		"keys create --scope read":         `unknown flag: --scope; did you mean --scopes?`,
		"keys create --scopes read":        `required flag(s) "name" not set; run 'keepsake keys create --help'`,
		"documents search":                 `an argument is missing in 'keepsake documents search QUERY [flags]'; run 'keepsake documents search --help'`,
		"memories recall ada tea":          `there are 2 arguments, but 'keepsake memories recall QUERY [flags]' takes one; put`,
		"migrate --from a --to b:5432":     `--to looks like the address of a server: a database begins with postgres://`,
	} {
		var text bytes.Buffer
		if code := run(strings.Fields(args), &stage{out: io.Discard, err: &text}); code != exitUsage || !strings.HasPrefix(text.String(), "keepsake: "+want) {
			t.Errorf("%s: exit %d, %s", args, code, text.String())
		}
	}
}

func TestHelpShowsTheDefaultsOfSettings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	run([]string{"serve", "--help"}, &stage{out: &out, err: io.Discard})
	page := strings.Join(strings.Fields(out.String()), " ")
	if want := regexp.MustCompile(`--listen string .*\(default :8080\) \(KEEPSAKE_LISTEN\)`); !want.MatchString(page) {
		t.Errorf("the help page is\n%s", out.String())
	}
}

func TestArgumentsThatACommandDoesNotTakeAreNamed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"memories import -": `unexpected argument "-": 'keepsake memories import' takes only flags; run 'keepsake memories import --help'`,
		"serve extra":       `unexpected argument "extra": 'keepsake serve' takes only flags`,
		"restore journl":    `unknown command "journl" for "keepsake restore"; did you mean journal?`,
	} {
		var text bytes.Buffer
		if code := run(strings.Fields(args), &stage{out: io.Discard, err: &text}); code != exitUsage || !strings.Contains(text.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, text.String())
		}
	}
}

func TestAListenerNamesItsFlagIfThePortIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var text bytes.Buffer
	args := []string{"webhooks", "listen", "--listen", taken.Addr().String()}
	if code := run(args, &stage{out: io.Discard, err: &text}); code != exitFailed || !strings.Contains(text.String(), "--listen: ") {
		t.Errorf("exit %d, %s", code, text.String())
	}
}

func TestVersionIsAFlagAndACommand(t *testing.T) {
	t.Parallel()
	var flag, command bytes.Buffer
	run([]string{"--version"}, &stage{out: &flag, err: io.Discard})
	run([]string{"version"}, &stage{out: &command, err: io.Discard})
	if flag.String() != command.String() || !strings.HasPrefix(flag.String(), "keepsake ") {
		t.Errorf("--version prints %q, version %q", flag.String(), command.String())
	}
}

func TestHelpNamesEveryLimitOfATier(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	run([]string{"help", "settings"}, &stage{out: &out, err: io.Discard})
	_, limits, _ := strings.Cut(out.String(), "tiers.NAME")
	for f := range reflect.TypeFor[config.Tier]().Fields() {
		if name := "." + f.Tag.Get("setting"); !strings.Contains(limits, name) {
			t.Errorf("the limit %s is missing in\n%s", name, limits)
		}
	}
}

package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"keepsake/internal/config"
)

// settingsTopic is `keepsake help settings`: every setting with its names and what it is when nobody says.
func settingsTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Settings come from, the later ones stronger: defaults, the YAML file of --config, the environment, flags.\n" +
		"A path such as log.level is its place in the file and KEEPSAKE_LOG_LEVEL in the environment.\n")
	defaults := config.Default()
	for _, s := range config.Settings() {
		fmt.Fprintf(&b, "\n  %s", s.Path)
		if s.Flag != "" {
			fmt.Fprintf(&b, ", --%s", s.Flag)
		}
		fmt.Fprintf(&b, ", %s", s.Env())
		if s.Secret {
			fmt.Fprintf(&b, " (or from a file: %sFile, %s_FILE)", s.Path, s.Env())
		}
		fmt.Fprintf(&b, "\n      %s", s.Help)
		if v := s.In(&defaults); !reflect.ValueOf(v).IsZero() {
			fmt.Fprintf(&b, " (default %v)", v)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n  tiers.NAME.requestsPerMinute, .daily, .monthly, .keys, .users, .documents, .memories\n" +
		"      what a workspace of the tier may use; a count of 0 is no limit (defaults:")
	for _, t := range defaults.TierList() {
		b.WriteString(" " + t.Name)
	}
	b.WriteString(")\n")
	return &cobra.Command{Use: "settings", Short: "Every setting, its names and its default", Long: strings.TrimSpace(b.String())}
}

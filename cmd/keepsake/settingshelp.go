package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"keepsake/internal/app/config"
)

// settingsTopic is `keepsake help settings`: every setting with its names and its default.
func settingsTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Precedence, lowest to highest: defaults, --config file, environment, flags.\n" +
		"The setting log.level is `level` under `log` in the YAML file and KEEPSAKE_LOG_LEVEL in the environment.\n")
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
		fmt.Fprintf(&b, "\n      %s%s\n", s.Help, defaultText(s, &defaults))
	}
	b.WriteString("\n  tiers.NAME.requestsPerMinute, .daily, .monthly, .keys, .users, .documents, .memories, .storage\n" +
		"      limits of a tier; storage in bytes; of the last five, none means no limit and 0 means none at all\n" +
		"      (built-in tiers:")
	for _, t := range defaults.TierList() {
		b.WriteString(" " + t.Name)
	}
	b.WriteString(")\n")
	return &cobra.Command{Use: "settings", Short: "All settings with their names and defaults", Long: strings.TrimSpace(b.String())}
}

// defaultText names the default of a setting for a help page, or is empty if there is none.
func defaultText(s config.Setting, defaults *config.Config) string {
	v := s.In(defaults)
	if reflect.ValueOf(v).IsZero() {
		return ""
	}
	return fmt.Sprintf(" (default %v)", v)
}

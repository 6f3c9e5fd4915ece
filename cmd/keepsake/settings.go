package main

import (
	"slices"

	"github.com/spf13/cobra"

	"keepsake/internal/app/config"
)

// settings are the flags of a command that set settings.
type settings struct {
	st   *stage
	cmd  *cobra.Command
	file string
	text map[string]*string // setting path to the flag's text
}

// settingFlags adds --config and the flags of the settings with these paths; without paths, of all settings.
func settingFlags(st *stage, cmd *cobra.Command, paths ...string) *settings {
	s := &settings{st: st, cmd: cmd, text: map[string]*string{}}
	cmd.Flags().StringVar(&s.file, "config", "", "YAML `FILE` with settings")
	defaults := config.Default()
	for _, setting := range config.Settings() {
		if len(paths) > 0 && !slices.Contains(paths, setting.Path) {
			continue
		}
		if setting.Flag != "" {
			s.text[setting.Path] = cmd.Flags().String(setting.Flag, "", setting.Help+defaultText(setting, &defaults)+" ("+setting.Env()+")")
		}
		if setting.FileFlag != "" {
			s.text[setting.Path+"File"] = cmd.Flags().String(setting.FileFlag, "", "`FILE` with the setting "+setting.Path+" ("+setting.Env()+"_FILE)")
		}
	}
	return s
}

// load merges defaults, file, environment and flags.
func (s *settings) load() (config.Config, error) {
	given := map[string]string{}
	for _, setting := range config.Settings() {
		if text, ok := s.text[setting.Path]; ok && s.cmd.Flags().Changed(setting.Flag) {
			given[setting.Path] = *text
		}
		if text, ok := s.text[setting.Path+"File"]; ok && s.cmd.Flags().Changed(setting.FileFlag) {
			given[setting.Path+"File"] = *text
		}
	}
	return config.Load(config.Sources{File: s.file, Env: s.st.env, Flags: given})
}

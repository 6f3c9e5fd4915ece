package main

import "github.com/spf13/cobra"

// addCompletion adds cobra's command that prints scripts with which a shell completes commands and flags.
func addCompletion(st *stage, root *cobra.Command) {
	root.SetOut(st.out) // the scripts go where the output goes when the command is added
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = onlyCommands
			c.Example = "  source <(keepsake completion bash)\n  keepsake completion zsh > \"${fpath[1]}/_keepsake\"\n" +
				"  keepsake completion fish > ~/.config/fish/completions/keepsake.fish\n  keepsake completion powershell | Out-String | Invoke-Expression"
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

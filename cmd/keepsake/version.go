package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release names the build where the linker was told to (-X main.release=…): what is built without the repository's tags
// does not know its version.
var release string

// build is what this binary was made from.
type build struct {
	Version  string `json:"version"` // of the module; (devel) when built from a working tree without tags
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the working tree had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	if release != "" {
		b.Version = release
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func versionCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Say what this binary was built from", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if asJSON {
				return st.printJSON(b)
			}
			fmt.Fprintf(st.out, "keepsake %s (%s, %s)\n", b.Version, b.Go, b.Platform)
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

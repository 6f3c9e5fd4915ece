package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version that `make build` sets with -X main.release=…. It is empty in other builds.
var release string

// build describes the sources of this binary.
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

// agent is what the commands send as User-Agent.
func (b build) agent() string { return fmt.Sprintf("keepsake/%s", b.Version) }

func versionCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments,
		Example: "  keepsake version --json",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return st.printJSON(thisBuild())
			}
			st.printVersion()
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (st *stage) printVersion() {
	b := thisBuild()
	fmt.Fprintf(st.out, "keepsake %s (%s, %s)\n", b.Version, b.Go, b.Platform)
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"keepsake/conformance"
	"keepsake/internal/base/secretfile"
)

func conformanceCommand(st *stage) *cobra.Command {
	var (
		to         conformance.Target
		secretFile string
		asJSON     bool
	)
	cmd := &cobra.Command{
		Use: "conformance", Short: "Check a running deployment against the interface specification", Args: noArguments,
		Long: "Checks a running deployment against every promise of the interface specification. It creates keys, users, documents and\n" +
			"memories of its own, with names that begin with \"conformance\", and removes them again; a suspended workspace \"conformance\"\n" +
			"remains. It needs a key with all scopes. The exit code is 1 if a promise is broken.",
		Example: "  keepsake conformance --url https://keepsake.example.com",
	}
	cmd.Flags().StringVar(&to.URL, "url", "", "`URL` of the API (KEEPSAKE_URL; default "+localURL+")")
	cmd.Flags().StringVar(&to.AIURL, "ai-url", "", "`URL` of the AI services, if they have a listener of their own")
	cmd.Flags().StringVar(&to.BackendURL, "backend-url", "", "`URL` of the backend listener; without it, its checks are skipped")
	cmd.Flags().StringVar(&secretFile, "backend-secret-file", "", "`FILE` with the backend secret; without it, checks that need it are skipped")
	cmd.Flags().StringVar(&to.Key, "key", "", "API `KEY` with all scopes; prefer KEEPSAKE_KEY or KEEPSAKE_KEY_FILE")
	cmd.Flags().BoolVar(&to.Disposable, "disposable", false, "also change a tier and release, sunset and retire versions; only for a deployment created for this run,\nwith lifecycle.allowUndeclared and allowBackdating")
	cmd.Flags().StringVar(&to.Only, "only", "", "only checks whose section/name contains this `TEXT`")
	cmd.Flags().IntVar(&to.Parallel, "parallel", 0, "concurrent checks; 0 for 8, or for 1 if the tier is small or all requests come from one address")
	cmd.Flags().BoolVar(&to.Proxied, "proxied", false, "send client addresses in X-Forwarded-For; the deployment must trust this machine as a proxy")
	jsonFlag(cmd, &asJSON)
	markConnectionFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		for _, address := range []string{st.getenv("KEEPSAKE_URL"), localURL} {
			if to.URL == "" {
				to.URL = address
			}
		}
		if secretFile != "" {
			if to.BackendSecret, err = secretfile.ReadToken(secretFile); err != nil {
				return fmt.Errorf("read the backend secret: %w", err)
			}
		}
		if to.Key, err = st.apiKey(to.Key); err != nil {
			return err
		}
		if to.Key == "" {
			return usageError("conformance needs an API key with all scopes: --key or KEEPSAKE_KEY")
		}
		return st.conformance(cmd, to, asJSON)
	}
	return cmd
}

func (st *stage) conformance(cmd *cobra.Command, to conformance.Target, asJSON bool) error {
	report := &conformance.Report{URL: to.URL, StartedAt: st.now()}
	var each conformance.Reporter = report
	if st.errTTY && !asJSON {
		each = conformance.ReporterFunc(func(r conformance.Result) {
			fmt.Fprintf(st.err, "%-8s %s/%s\n", r.Outcome, r.Section, r.Name)
			report.Report(r)
		})
	}
	if err := conformance.Run(cmd.Context(), to, each); err != nil {
		return err
	}
	print := report.WriteTable
	if asJSON {
		print = report.WriteJSON
	}
	if err := print(st.out); err != nil {
		return err
	}
	switch {
	case report.Failed > 0:
		return fmt.Errorf("conformance: %d of %d checks failed", report.Failed, len(report.Results))
	case report.Passed == 0:
		return fmt.Errorf("conformance: no check ran")
	default:
		return nil
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"keepsake/client"
)

func memoriesEraseCommand(st *stage) *cobra.Command {
	var (
		subject, receipt string
		yes, asJSON      bool
	)
	cmd := &cobra.Command{
		Use: "erase [ID…]", Short: "Erase a subject, or single memories with their history",
		Long: "Erases the memories with these IDs, or with --subject all that is stored about a subject. Nothing can bring them back.\n" +
			"Without --yes it only says what it would erase. The erasure of a subject returns a signed receipt once: it is printed, or\n" +
			"written to the file of --receipt; `keepsake memories verify-receipt` verifies it.",
		Example: "  keepsake memories erase --subject p-4711 --yes --receipt receipt.json\n" +
			"  keepsake memories erase mem_01m7zq3v8ye2sbg5n6wkt9rdfc --yes",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&subject, "subject", "", "`ID` of the subject to erase")
	flags.StringVar(&receipt, "receipt", "", "`FILE` for the receipt, which must not exist (default: standard output)")
	flags.BoolVar(&yes, "yes", false, "erase")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case (subject == "") == (len(args) == 0):
			return usageError("give either IDs of memories or --subject")
		case receipt != "" && subject == "":
			return usageError("--receipt needs --subject: single memories have no receipt")
		case receipt != "" && exists(receipt):
			return fmt.Errorf("%s %w", receipt, errWouldOverwrite)
		}
		for _, id := range args {
			if !strings.HasPrefix(id, "mem_") {
				return usageError(fmt.Sprintf("%q is not the ID of a memory, which begins with mem_; --subject erases a subject", id))
			}
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			if subject != "" {
				return st.eraseSubject(cmd.Context(), c, subject, receipt, yes, asJSON)
			}
			return st.eraseMemories(cmd.Context(), c, args, yes, asJSON)
		})
	}
	return cmd
}

// erasure is what an erasure would remove or has removed, as JSON.
type erasure struct {
	Matched int64 `json:"matched"`
	Erased  int64 `json:"erased"`
}

func (st *stage) eraseSubject(ctx context.Context, c *client.Client, subject, file string, yes, asJSON bool) error {
	if !yes {
		s, err := c.Subject(ctx, subject)
		switch {
		case err != nil:
			return fmt.Errorf("erase subject %s: %w", subject, err)
		case asJSON:
			return st.printJSON(erasure{Matched: s.Memories})
		}
		fmt.Fprintf(st.out, "The subject has %s. Add --yes to erase everything about it.\n", memoriesText(s.Memories))
		return nil
	}
	r, err := c.EraseSubject(ctx, subject)
	if err != nil {
		return fmt.Errorf("erase subject %s: %w", subject, err)
	}
	if file != "" {
		if _, err := st.exportLines(file, func(w *lineCounter) error { return writeJSON(w, r) }); err != nil {
			// The server does not send it again.
			return errors.Join(fmt.Errorf("the subject is erased; its receipt is on standard output, because %w", err), st.printJSON(r))
		}
	} else if err := st.printJSON(r); err != nil {
		return err
	}
	where := "; the receipt is printed only once"
	if file != "" {
		where = "; the receipt is in " + file
	}
	fmt.Fprintf(st.err, "Erased the subject with %s%s.\n", memoriesText(r.Memories), where)
	return nil
}

func (st *stage) eraseMemories(ctx context.Context, c *client.Client, ids []string, yes, asJSON bool) error {
	done := erasure{}
	for _, id := range ids {
		var err error
		if yes {
			err = c.DeleteMemory(ctx, id, nil)
		} else {
			_, err = c.Memory(ctx, id)
		}
		if err != nil {
			return fmt.Errorf("erase memory %s, after %d others: %w", id, done.Erased, err)
		}
		done.Matched++
		if yes {
			done.Erased++
		}
	}
	switch {
	case asJSON:
		return st.printJSON(done)
	case yes:
		fmt.Fprintf(st.out, "Erased %s.\n", memoriesText(done.Erased))
	default:
		fmt.Fprintf(st.out, "Found %s. Add --yes to erase.\n", memoriesText(done.Matched))
	}
	return nil
}

func memoriesText(n int64) string {
	if n == 1 {
		return "1 memory"
	}
	return fmt.Sprintf("%d memories", n)
}

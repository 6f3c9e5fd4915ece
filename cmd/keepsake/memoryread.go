package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func memoriesListCommand(st *stage) *cobra.Command {
	var (
		q        client.MemoryQuery
		from, to string
		limit    int
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List memories, newest first", Args: noArguments,
		Long:    "Lists memories, of all subjects or of one. Former revisions are not among them.",
		Example: "  keepsake memories list --subject p-4711 --kind preference",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&q.SubjectID, "subject", "", "only memories of the subject with this `ID`")
	flags.StringVar(&q.AgentID, "agent", "", "only memories of the agent with this `ID`")
	flags.StringVar(&q.SessionID, "session", "", "only memories of the session with this `ID`")
	flags.StringVar(&q.Kind, "kind", "", "only memories of this `KIND`: "+kindsHelp)
	flags.StringArrayVar(&q.Tags, "tag", nil, "only memories with this `TAG` (repeatable; needs --subject)")
	flags.StringVar(&from, "from", "", "only memories from this `TIME` on, such as 2026-11-01")
	flags.StringVar(&to, "to", "", "only memories before this `TIME`")
	flags.IntVar(&limit, "limit", 50, "number of memories")
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if q.From, err = timeOrZero("from", from); err != nil {
			return err
		}
		if q.To, err = timeOrZero("to", to); err != nil {
			return err
		}
		q.Limit = max(1, min(limit, 200))
		return t.with(cmd.Context(), func(c *client.Client) error {
			memories, more, err := first(c.EachMemory(cmd.Context(), q), limit)
			if err != nil {
				return fmt.Errorf("list memories: %w", err)
			}
			if asJSON {
				return st.printJSON(items[client.Memory]{memories})
			}
			st.printMemories(memories)
			st.printMore(more, "memories")
			return nil
		})
	}
	return cmd
}

const kindsHelp = "fact, preference, event, instruction, summary, turn or note"

// timeOrZero is timeFlag with the zero time for an empty text.
func timeOrZero(flag, text string) (time.Time, error) {
	at, err := timeFlag(flag, text)
	if at == nil {
		return time.Time{}, err
	}
	return *at, err
}

func (st *stage) printMemories(memories []client.Memory) {
	rows := make([]table.Row, 0, len(memories))
	for i := range memories {
		m := &memories[i]
		rows = append(rows, table.Row{
			m.ID, m.SubjectID, m.Kind, oneLine(m.Text), memoryTime(m), orNone(m.Key), strings.Join(m.Tags, ","), orNone(m.AgentID), orNone(m.SessionID),
		})
	}
	st.printTable([]column{
		{title: "id"},
		{title: "subject", free: true},
		{title: "kind"},
		{title: "text", free: true},
		{title: "at (UTC)", extra: true},
		{title: "key", extra: true},
		{title: "tags", extra: true},
		{title: "agent", extra: true},
		{title: "session", extra: true},
	}, rows)
}

// memoryTime is the time when a memory occurred, else when it was stored.
func memoryTime(m *client.Memory) string {
	if m.OccurredAt != nil {
		return whenCell(m.OccurredAt)
	}
	return whenCell(&m.CreatedAt)
}

func memoriesRecallCommand(st *stage) *cobra.Command {
	var (
		q              client.RecallQuery
		from, to, asOf string
		asJSON         bool
	)
	cmd := &cobra.Command{
		Use: "recall QUERY", Short: "Recall the memories of a subject that answer a question", Args: oneArgument,
		Long: "Prints the memories that answer a question about a subject, best first. The access log of the subject records the recall,\n" +
			"as it does for every caller.",
		Example: "  keepsake memories recall 'what does Ada drink?' --subject demo-ada",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&q.SubjectID, "subject", "", "`ID` of the subject (not needed with a key that is bound to one)")
	flags.IntVar(&q.Limit, "limit", 10, "number of memories, up to 200")
	flags.StringVar(&q.AgentID, "agent", "", "only memories of the agent with this `ID`")
	flags.StringVar(&q.SessionID, "session", "", "only memories of the session with this `ID`")
	flags.StringSliceVar(&q.Kinds, "kinds", nil, "only memories of these comma-separated `KINDS`: "+kindsHelp)
	flags.StringArrayVar(&q.Tags, "tag", nil, "only memories with this `TAG` (repeatable)")
	flags.StringVar(&from, "from", "", "only memories from this `TIME` on, such as 2026-11-01")
	flags.StringVar(&to, "to", "", "only memories before this `TIME`")
	flags.StringVar(&asOf, "as-of", "", "recall what was known and valid at this `TIME`")
	flags.StringVar(&q.TimeZone, "time-zone", "", "`ZONE` of the days that the question names, such as Europe/Berlin (default UTC)")
	flags.BoolVar(&q.Explain, "explain", false, "print what each signal added to the score")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		q.Query = args[0]
		for _, f := range []struct {
			name, text string
			at         **time.Time
		}{{"from", from, &q.From}, {"to", to, &q.To}, {"as-of", asOf, &q.AsOf}} {
			if *f.at, err = timeFlag(f.name, f.text); err != nil {
				return err
			}
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			recalled, err := c.Recall(cmd.Context(), q)
			if err != nil {
				return fmt.Errorf("recall: %w", err)
			}
			if asJSON {
				return st.printJSON(recalled)
			}
			st.printRecalled(recalled)
			return nil
		})
	}
	return cmd
}

func (st *stage) printRecalled(recalled *client.Recalled) {
	for i := range recalled.Results {
		r := &recalled.Results[i]
		fmt.Fprintf(st.out, "%d. %s\n   score %.2f, %s of %s UTC, %s\n", r.Rank, oneLine(r.Memory.Text), r.Score, plain(r.Memory.Kind), memoryTime(&r.Memory), r.Memory.ID)
		if r.Why != nil {
			fmt.Fprintf(st.out, "   %s\n", whyText(r.Why))
		}
	}
	if len(recalled.Results) == 0 {
		fmt.Fprintln(st.out, "No memory answers that.")
	}
	if len(recalled.Degraded) > 0 {
		fmt.Fprintf(st.out, "The ranking had to do without: %s\n", strings.Join(recalled.Degraded, ", "))
	}
}

// whyText lists what the signals of a recall added to a score.
func whyText(w *client.RecallWhy) string {
	var list []string
	for _, signal := range []struct {
		name  string
		added float64
	}{
		{"words", w.Words},
		{"related", w.Related},
		{"neighbours", w.Neighbours},
		{"session", w.Session},
		{"speaker", w.Speaker},
		{"date", w.Date},
		{"answer", w.Answer},
		{"meaning", w.Meaning},
		{"worth", w.Worth},
	} {
		if signal.added != 0 {
			list = append(list, fmt.Sprintf("%s %+.2f", signal.name, signal.added))
		}
	}
	return listText(list)
}

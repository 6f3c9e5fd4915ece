package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/fairshare"
	"keepsake/internal/problem"
	"keepsake/internal/text"
)

// ContextQuery asks for a text that contains memories: the pinned ones, those that a recall of Query finds, and the newest.
type ContextQuery struct {
	RecallQuery       // Limit 0: 50; Fill is ignored
	MaxTokens     int // 0: 1000, unless MaxCharacters is set
	MaxCharacters int
}

// Packed is a text that contains memories, within the limits of its query.
type Packed struct {
	Text      string
	MemoryIDs []string // in the order of the text, which is that of Parts
	Tokens    int      // of the text, as estimated by Tokens
	Parts     ContextParts
	Degraded  bool // as in Recalled
}

// ContextParts are the IDs of memories by the reason why they are in a context.
type ContextParts struct {
	Pinned   []string
	Recalled []string // they answer the query
	Recent   []string
}

const (
	defaultContext = 50
	defaultTokens  = 1_000
)

// Context packs memories into a text for a prompt: those that fit of the pinned, the recalled and the newest ones. Each text
// occurs once, and each part is in the order of time.
func (r *Recaller) Context(ctx context.Context, p *auth.Principal, q ContextQuery) (*Packed, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := q.bind(p, defaultContext); err != nil {
		return nil, err
	}
	q.Fill = true
	if q.MaxTokens == 0 && q.MaxCharacters == 0 {
		q.MaxTokens = defaultTokens
	}
	task := r.shares.Start(ctx, p.WorkspaceID)
	defer task.End()
	asked := r.embeddings.ask(ctx, p.WorkspaceID, q.Query)
	recalled, err := r.rank(ctx, task, p, &q.RecallQuery, asked, r.now())
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	if recalled == nil {
		return &Packed{Degraded: asked.degraded()}, r.recordAsked(ctx, p, q.SubjectID, asked)
	}
	packed, err := pack(task, recalled.Results, &q)
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	task.Release()
	packed.Degraded = asked.degraded()
	return packed, r.record(ctx, p, audit.MemoryContext, q.SubjectID, packed.MemoryIDs, asked)
}

func (q *ContextQuery) check() error {
	if q.Query != "" {
		if err := checkQuery(q.Query); err != nil {
			return err
		}
	}
	switch {
	case q.MaxTokens < 0:
		return problem.Validation("maxTokens", problem.TooSmall, "maxTokens must be at least 1.")
	case q.MaxCharacters < 0:
		return problem.Validation("maxCharacters", problem.TooSmall, "maxCharacters must be at least 1.")
	case q.MaxTokens > 0 && q.MaxCharacters > 0:
		return problem.Validation("maxCharacters", problem.NotAllowed, "maxCharacters cannot be combined with maxTokens.")
	}
	return nil
}

// pack selects memories that fit, part by part, and writes them. A memory that is too long does not keep shorter ones after it
// from being selected.
func pack(task *fairshare.Task, ranked []RecallResult, q *ContextQuery) (*Packed, error) {
	var pinned, found, recent []*Memory
	for _, r := range ranked {
		switch {
		case r.Memory.Pinned:
			pinned = append(pinned, r.Memory)
		case r.Found:
			found = append(found, r.Memory)
		default:
			recent = append(recent, r.Memory)
		}
	}
	w := contextWriter{task: task, query: q, texts: map[string]bool{}}
	var err error
	for _, part := range []struct {
		memories []*Memory
		ids      *[]string
	}{{pinned, &w.packed.Parts.Pinned}, {found, &w.packed.Parts.Recalled}, {recent, &w.packed.Parts.Recent}} {
		if *part.ids, err = w.write(part.memories); err != nil {
			return nil, err
		}
		w.packed.MemoryIDs = append(w.packed.MemoryIDs, *part.ids...)
	}
	w.packed.Text = w.text.String()
	return &w.packed, nil
}

// contextWriter writes memories into the text of a context while they fit.
type contextWriter struct {
	task  *fairshare.Task
	query *ContextQuery

	texts              map[string]bool // of the selected memories
	tokens, characters int             // of the selected memories
	text               strings.Builder
	day                string // the heading of the last memory
	packed             Packed
}

// write writes those of the memories of a part that fit, and returns their IDs in the order of the text.
func (w *contextWriter) write(memories []*Memory) (ids []string, err error) {
	selected, err := w.selectFrom(memories)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(selected, func(a, b *Memory) int {
		return cmp.Or(a.At().Compare(b.At()), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, m := range selected {
		if err := w.task.Step(2 * len(m.Text)); err != nil {
			return nil, err
		}
		piece := line(m)
		if h := heading(m); h != w.day {
			piece = h + piece
			w.day = h
		}
		w.text.WriteString(piece)
		w.packed.Tokens += Tokens(piece)
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// selectFrom returns those of the memories that fit, best first.
func (w *contextWriter) selectFrom(memories []*Memory) (selected []*Memory, err error) {
	days := map[string]bool{}
	for _, m := range memories {
		if err := w.task.Step(4 * len(m.Text)); err != nil {
			return nil, err
		}
		said := m.Speaker + "\x00" + strings.Join(strings.Fields(text.Fold(m.Text)), " ")
		if w.texts[said] || len(w.texts) == w.query.Limit {
			continue
		}
		piece := line(m)
		if !days[heading(m)] {
			piece = heading(m) + piece
		}
		t, c := Tokens(piece), utf8.RuneCountInString(piece)
		if w.query.MaxTokens > 0 && w.tokens+t > w.query.MaxTokens || w.query.MaxCharacters > 0 && w.characters+c > w.query.MaxCharacters {
			continue
		}
		w.tokens, w.characters = w.tokens+t, w.characters+c
		days[heading(m)], w.texts[said] = true, true
		selected = append(selected, m)
	}
	return selected, nil
}

// heading is the line before the memories of a day.
func heading(m *Memory) string { return m.At().UTC().Format("2006-01-02 (Monday)") + "\n" }

// line formats a memory. Lines after a line break are indented, so that a text cannot look like another memory or a day.
func line(m *Memory) string {
	said := strings.ReplaceAll(lineBreaks.Replace(strings.TrimSpace(m.Text)), "\n", "\n  ")
	if m.Speaker == "" {
		return "- " + said + "\n"
	}
	return "- " + strings.Join(strings.Fields(m.Speaker), " ") + ": " + said + "\n"
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n")

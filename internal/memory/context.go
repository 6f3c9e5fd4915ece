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

// ContextQuery asks for a text that contains memories: those that a recall finds or, without Query, the pinned and the newest.
type ContextQuery struct {
	RecallQuery       // Limit 0: 50
	MaxTokens     int // either MaxTokens or MaxCharacters is required
	MaxCharacters int
}

// Packed is a text that contains memories, within the limits of its query.
type Packed struct {
	Text      string
	MemoryIDs []string // in the order of the text
	Tokens    int      // of the text, as estimated by Tokens
}

const defaultContext = 50

// Context packs memories into a text for a prompt: the best ones that fit, each text once, in the order of time.
func (r *Recaller) Context(ctx context.Context, p *auth.Principal, q ContextQuery) (*Packed, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := q.bind(p, defaultContext); err != nil {
		return nil, err
	}
	task := r.shares.Start(ctx, p.WorkspaceID)
	defer task.Release()
	recalled, err := r.rank(ctx, task, p, &q.RecallQuery, r.now())
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	if recalled == nil {
		return &Packed{MemoryIDs: []string{}}, nil
	}
	ranked := make([]*Memory, len(recalled.Results))
	for i, result := range recalled.Results {
		ranked[i] = result.Memory
	}
	packed, err := pack(task, ranked, q.MaxTokens, q.MaxCharacters)
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	task.Release()
	return packed, r.record(ctx, p, audit.MemoryContext, q.SubjectID, packed.MemoryIDs)
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
	case q.MaxTokens == 0 && q.MaxCharacters == 0:
		return problem.Validation("maxTokens", problem.Required, "maxTokens or maxCharacters is required.")
	}
	return nil
}

// pack selects ranked memories that fit and writes them in the order of time. A memory that is too long does not keep
// shorter ones after it from being selected.
func pack(task *fairshare.Task, ranked []*Memory, maxTokens, maxCharacters int) (*Packed, error) {
	var (
		selected           []*Memory
		tokens, characters int
		days               = map[string]bool{}
		texts              = map[string]bool{}
	)
	for _, m := range ranked {
		if err := task.Step(4 * len(m.Text)); err != nil {
			return nil, err
		}
		said := m.Speaker + "\x00" + strings.Join(strings.Fields(text.Fold(m.Text)), " ")
		if texts[said] {
			continue
		}
		piece := line(m)
		if !days[heading(m)] {
			piece = heading(m) + piece
		}
		t, c := Tokens(piece), utf8.RuneCountInString(piece)
		if maxTokens > 0 && tokens+t > maxTokens || maxCharacters > 0 && characters+c > maxCharacters {
			continue
		}
		tokens, characters = tokens+t, characters+c
		days[heading(m)], texts[said] = true, true
		selected = append(selected, m)
	}
	slices.SortStableFunc(selected, func(a, b *Memory) int {
		return cmp.Or(a.At().Compare(b.At()), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var b strings.Builder
	packed := &Packed{MemoryIDs: []string{}}
	day := ""
	for _, m := range selected {
		if err := task.Step(2 * len(m.Text)); err != nil {
			return nil, err
		}
		piece := line(m)
		if h := heading(m); h != day {
			piece = h + piece
			day = h
		}
		b.WriteString(piece)
		packed.Tokens += Tokens(piece)
		packed.MemoryIDs = append(packed.MemoryIDs, m.ID)
	}
	packed.Text = b.String()
	return packed, nil
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

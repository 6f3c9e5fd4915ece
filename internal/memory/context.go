package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/fairshare"
	"keepsake/internal/memory/recall"
	"keepsake/internal/problem"
	"keepsake/internal/text"
)

// ContextQuery asks for a text made of memories: of those that a recall finds or, without Query, of the pinned and the newest.
type ContextQuery struct {
	RecallQuery       // Limit 0: 50
	MaxTokens     int // one of the two is given
	MaxCharacters int
}

// Packed is such a text. It is within the bounds, and empty where nothing is.
type Packed struct {
	Text      string
	MemoryIDs []string // in the order of the text
	Tokens    int      // of the text, as Tokens estimates
}

const defaultContext = 50

// Context packs memories into a text for a prompt, in the order of time: the best as long as they fit, each text once.
func (s *Service) Context(ctx context.Context, p *auth.Principal, q ContextQuery) (*Packed, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := s.checkRecall(p, &q.RecallQuery, defaultContext); err != nil {
		return nil, err
	}
	task := s.o.Shares.Start(ctx, p.WorkspaceID)
	defer task.Release()
	index, err := s.index(ctx, task, p.WorkspaceID, q.SubjectID)
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	if index == nil {
		return &Packed{MemoryIDs: []string{}}, nil
	}
	now := s.o.Now()
	ids, err := found(task, index, &q, now)
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	memories, err := s.recalled(ctx, p, q.SubjectID, ids, now)
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	ranked := make([]*Memory, 0, len(ids))
	for _, id := range ids {
		if m := memories[id]; m != nil {
			ranked = append(ranked, m)
		}
	}
	packed, err := pack(task, ranked, q.MaxTokens, q.MaxCharacters)
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	task.Release()
	return packed, s.logRecall(ctx, p, audit.MemoryContext, q.SubjectID, packed.MemoryIDs)
}

// found are the ids of the memories that a context is made of, best first. The task's slot is free after that.
func found(task *fairshare.Task, index *recall.Index, q *ContextQuery, now time.Time) ([]string, error) {
	defer task.Release()
	if q.Query == "" {
		return index.Newest(task, q.ranked(now))
	}
	hits, err := index.Search(task, q.ranked(now))
	ids := make([]string, len(hits))
	for i := range hits {
		ids[i] = hits[i].ID
	}
	return ids, err
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
		return problem.Validation("maxCharacters", problem.NotAllowed, "maxCharacters is not allowed beside maxTokens.")
	case q.MaxTokens == 0 && q.MaxCharacters == 0:
		return problem.Validation("maxTokens", problem.Required, "maxTokens or maxCharacters is required.")
	}
	return nil
}

// pack takes memories, the best first, as long as they fit, and writes those in the order of time. One that is too long is
// left out, and shorter ones after it may still fit.
func pack(task *fairshare.Task, ranked []*Memory, maxTokens, maxCharacters int) (*Packed, error) {
	var (
		taken              []*Memory
		tokens, characters int
		days               = map[string]bool{}
		told               = map[string]bool{}
	)
	for _, m := range ranked {
		if err := task.Step(4 * len(m.Text)); err != nil {
			return nil, err
		}
		said := m.Speaker + "\x00" + strings.Join(strings.Fields(text.Fold(m.Text)), " ")
		if told[said] {
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
		days[heading(m)], told[said] = true, true
		taken = append(taken, m)
	}
	slices.SortStableFunc(taken, func(a, b *Memory) int {
		return cmp.Or(a.At().Compare(b.At()), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	var b strings.Builder
	packed := &Packed{MemoryIDs: []string{}}
	day := ""
	for _, m := range taken {
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

// heading begins a day.
func heading(m *Memory) string { return m.At().UTC().Format("2006-01-02 (Monday)") + "\n" }

// line is a memory as it stands below its day: what follows a line break is indented, so that no text can pass for another
// memory, or for a day.
func line(m *Memory) string {
	said := strings.ReplaceAll(lineBreaks.Replace(strings.TrimSpace(m.Text)), "\n", "\n  ")
	if m.Speaker == "" {
		return "- " + said + "\n"
	}
	return "- " + strings.Join(strings.Fields(m.Speaker), " ") + ": " + said + "\n"
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n")

// Tokens estimates how many tokens a language model reads in a text, rather too many than too few: a run of English letters
// is one for every five of them, of digits one for every three, of letters of other alphabets one for every two; each
// character of a script without spaces is one, each other sign one, each one that is not in the Basic Multilingual Plane
// three; a run of line breaks is one, other white space none. It is the same for a text as for its lines added up.
func Tokens(s string) int {
	var n, run int
	var last script
	end := func() {
		if per := lettersPerToken[last]; per > 0 {
			n += (run + per - 1) / per
		}
		run = 0
	}
	for i, r := range s {
		kind := scriptOf(s[i:], r)
		if kind != last {
			end()
			last = kind
		}
		run++
		switch kind {
		case sign, dense:
			n++
		case rare:
			n += 3
		}
	}
	end()
	return n
}

// script is what characters are to the estimate.
type script uint8

const (
	space script = iota
	english
	digit
	alphabet
	newline
	dense
	sign
	rare
)

// lettersPerToken of what is counted by runs.
var lettersPerToken = [...]int{english: 5, digit: 3, alphabet: 2, newline: 1 << 30, rare: 0}

func scriptOf(rest string, r rune) script {
	switch {
	case r == '\n':
		return newline
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return english
	case r >= '0' && r <= '9':
		return digit
	case r < 0x80 && r > ' ' && r != 0x7f:
		return sign
	case unicode.IsSpace(r):
		return space
	case r > 0xFFFF:
		return rare
	case text.Unspaced(rest):
		return dense
	case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r):
		return alphabet
	}
	return sign
}

// Package recall asks questions about conversations, whose evidence is known, and measures how much of it the recall engine
// finds.
package recall

import (
	"embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
	engine "keepsake/internal/memory/recall"
)

// scenes are what the conversations are written from: see README.md.
//
//go:embed scenes
var scenes embed.FS

type (
	turn struct {
		Conversation, ID, Session, Speaker, Text string
		At                                       time.Time
	}
	question struct {
		Conversation string
		Question     string
		Evidence     []string
		Aside        bool
		Neutral      bool // written without sight of the ranking
		Message      bool // a whole message in place of a question
		Foreign      bool // not in English
	}
)

// set contains the indexed conversations, and the questions about them.
type set struct {
	turns        int
	indexes      map[string]*engine.Index
	of           map[string]string // conversation of a turn
	tuned, aside []question
	now          time.Time
}

// today is when the questions are asked, so that the figures are the same on every day.
var today = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func load() (*set, error) {
	turns, questions, err := conversationsOf(scenes)
	if err != nil {
		return nil, err
	}
	more, asked, err := readNeutral()
	if err != nil {
		return nil, err
	}
	turns, questions = append(turns, more...), append(questions, asked...)
	s := &set{turns: len(turns), indexes: map[string]*engine.Index{}, of: map[string]string{}, now: today}
	analyzer := text.NewAnalyzer()
	for i, t := range turns {
		if s.indexes[t.Conversation] == nil {
			s.indexes[t.Conversation] = engine.New(analyzer, vectors.Builtin(), 0)
		}
		s.of[t.ID] = t.Conversation
		s.indexes[t.Conversation].Put(engine.Item{
			ID: t.ID, Text: t.Text, Speaker: t.Speaker, Kind: kindOf(t), SessionID: t.Session, OccurredAt: &t.At,
			CreatedAt: time.Unix(int64(i), 0),
		})
	}
	for _, q := range questions {
		if q.Aside {
			s.aside = append(s.aside, q)
		} else {
			s.tuned = append(s.tuned, q)
		}
	}
	return s, nil
}

func kindOf(t turn) string {
	if t.Speaker == "" {
		return "fact"
	}
	return "turn"
}

// ask asks questions with some weights.
func (s *set) ask(questions []question, w engine.Weights) quality {
	var q quality
	for _, one := range questions {
		hits, _ := s.indexes[one.Conversation].Search(nil, engine.Query{Text: one.Question, Limit: 50, Now: s.now, Weights: &w})
		q.add(hits, one.Evidence)
	}
	return q
}

// Measure asks questions with plain BM25, with the engine and with each signal. It prints how much of the evidence is among the
// first results. It asks the questions that are set aside only if aside is true.
func Measure(out io.Writer, aside bool) error {
	s, err := load()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "recall: %d turns of %d conversations; tuned on %d questions, %d set aside\n",
		s.turns, len(s.indexes), len(s.tuned), len(s.aside))
	questions, name := s.tuned, "tuned on"
	if aside {
		questions, name = s.aside, "set aside"
	}
	fmt.Fprintf(out, "%-28s %s\n", name+": recall@10, MRR", s.headings(questions))
	for _, v := range variants() {
		fmt.Fprintf(out, "%-28s %s\n", v.name, s.row(questions, v.weights))
	}
	fmt.Fprintf(out, "\nthe engine, by kind of conversation: recall@1, 5, 10, 25, 50, MRR\n")
	for _, kind := range slices.Sorted(maps.Keys(byKind(questions))) {
		list := byKind(questions)[kind]
		fmt.Fprintf(out, "%-20s %7d %s   BM25 %s\n", kind, len(list), s.ask(list, engine.Chosen()), s.ask(list, engine.Plain()))
	}
	return nil
}

// byKind groups questions by the name of their conversation without its number.
func byKind(questions []question) map[string][]question {
	kinds := map[string][]question{}
	for _, q := range questions {
		kind := q.Conversation[:strings.LastIndexByte(q.Conversation, '-')]
		if q.Message {
			kind = "neutral messages"
		}
		kinds[kind] = append(kinds[kind], q)
	}
	return kinds
}

// half is a part of the questions that a table shows beside the others. A signal or a weight must gain on one and lose on none.
type half struct {
	name string
	has  func(q *question) bool
}

var halves = []half{
	{"own", func(q *question) bool { return !q.Neutral && len(kindIn(q)) > 2 }},
	{"own, languages", func(q *question) bool { return !q.Neutral && len(kindIn(q)) == 2 }},
	{"neutral", func(q *question) bool { return q.Neutral && !q.Message && !q.Foreign }},
	{"messages", func(q *question) bool { return q.Message }},
	{"languages", func(q *question) bool { return q.Neutral && !q.Message && q.Foreign }},
}

// headings names the columns of row.
func (s *set) headings(questions []question) string {
	var b strings.Builder
	for _, h := range halves {
		fmt.Fprintf(&b, "  %-16s", fmt.Sprintf("%s (%d)", h.name, len(h.of(questions))))
	}
	return b.String()
}

// row returns recall@10 and MRR in each half of the questions.
func (s *set) row(questions []question, w engine.Weights) string {
	var b strings.Builder
	for _, h := range halves {
		q := s.ask(h.of(questions), w)
		fmt.Fprintf(&b, "  %.3f  %.3f    ", q.at10(), q.mrr())
	}
	return b.String()
}

func kindIn(q *question) string {
	kind, _, _ := strings.Cut(q.Conversation, "-")
	return kind
}

func (h half) of(questions []question) (list []question) {
	for i := range questions {
		if h.has(&questions[i]) {
			list = append(list, questions[i])
		}
	}
	return list
}

type variant struct {
	name    string
	weights engine.Weights
}

// variants are plain BM25, the engine, BM25 with each signal alone, and the engine without each.
func variants() []variant {
	signals := []struct {
		name string
		set  func(to *engine.Weights, from engine.Weights)
	}{
		{"weak words", func(to *engine.Weights, from engine.Weights) { to.Weak, to.DateWord = from.Weak, from.DateWord }},
		{"related words", func(to *engine.Weights, from engine.Weights) {
			to.Kin, to.FarKin, to.Spare = from.Kin, from.FarKin, from.Spare
		}},
		{"words that share a beginning", func(to *engine.Weights, from engine.Weights) { to.Begun = from.Begun }},
		{"similar words", func(to *engine.Weights, from engine.Weights) { to.Similar = from.Similar }},
		{"neighbours", func(to *engine.Weights, from engine.Weights) { to.Same, to.Reply = from.Same, from.Reply }},
		{"words together", func(to *engine.Weights, from engine.Weights) { to.Together = from.Together }},
		{"sentences that ask", func(to *engine.Weights, from engine.Weights) { to.Unasked = from.Unasked }},
		{"session", func(to *engine.Weights, from engine.Weights) { to.Session = from.Session }},
		{"speaker", func(to *engine.Weights, from engine.Weights) {
			to.Speaker, to.NameInText = from.Speaker, from.NameInText
		}},
		{"dates", func(to *engine.Weights, from engine.Weights) { to.Date = from.Date }},
		{"kind of answer", func(to *engine.Weights, from engine.Weights) { to.Answer, to.Time = from.Answer, from.Time }},
		{"meaning", func(to *engine.Weights, from engine.Weights) {
			to.Meaning, to.Beside, to.Around = from.Meaning, from.Beside, from.Around
		}},
		{"worth", func(to *engine.Weights, from engine.Weights) {
			to.Tells, to.Chats, to.Names, to.Number, to.Asks, to.Content = from.Tells, from.Chats, from.Names, from.Number, from.Asks, from.Content
		}},
	}
	list := []variant{{"BM25", engine.Plain()}, {"engine", engine.Chosen()}}
	for _, s := range signals {
		w := engine.Plain()
		s.set(&w, engine.Chosen())
		list = append(list, variant{"BM25 with " + s.name, w})
	}
	for _, s := range signals {
		w := engine.Chosen()
		s.set(&w, engine.Plain())
		list = append(list, variant{"engine less " + s.name, w})
	}
	return list
}

// quality sums how much of the evidence is among the first results, and how early the first of it is found.
type quality struct {
	questions int
	within    [5]float64
	rank      float64
}

var depths = [5]int{1, 5, 10, 25, 50}

func (q *quality) add(hits []engine.Hit, evidence []string) {
	q.questions++
	first := 0
	for i, h := range hits {
		if !slices.Contains(evidence, h.ID) {
			continue
		}
		if first == 0 {
			first = i + 1
			q.rank += 1 / float64(first)
		}
		for d, depth := range depths {
			if i < depth {
				q.within[d] += 1 / float64(len(evidence))
			}
		}
	}
}

func (q quality) at10() float64 { return q.within[2] / float64(max(q.questions, 1)) }

func (q quality) mrr() float64 { return q.rank / float64(max(q.questions, 1)) }

func (q quality) String() string {
	var b strings.Builder
	for _, sum := range q.within {
		fmt.Fprintf(&b, "%.3f  ", sum/float64(max(q.questions, 1)))
	}
	fmt.Fprintf(&b, "%.3f", q.rank/float64(max(q.questions, 1)))
	return b.String()
}

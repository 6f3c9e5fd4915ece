package recall

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	engine "keepsake/internal/memory/recall"
)

// parameter is a weight that Fit chooses, with the part of a score that is proportional to it.
type parameter struct {
	name string
	of   func(w *engine.Weights) *float64
	part func(w *engine.Why) float64
	less bool // the weight is subtracted
}

// passes group the parameters: those of a pass belong to different parts, so that one search measures all of them.
var passes = [][]parameter{
	{
		{"Same", func(w *engine.Weights) *float64 { return &w.Same }, func(w *engine.Why) float64 { return w.Neighbours }, false},
		{"Together", func(w *engine.Weights) *float64 { return &w.Together }, func(w *engine.Why) float64 { return w.Together }, false},
		{"Session", func(w *engine.Weights) *float64 { return &w.Session }, func(w *engine.Why) float64 { return w.Session }, false},
		{"Speaker", func(w *engine.Weights) *float64 { return &w.Speaker }, func(w *engine.Why) float64 { return w.Speaker }, false},
		{"Date", func(w *engine.Weights) *float64 { return &w.Date }, func(w *engine.Why) float64 { return w.Date }, false},
		{"Answer", func(w *engine.Weights) *float64 { return &w.Answer }, func(w *engine.Why) float64 { return w.Answer }, false},
		{"Meaning", func(w *engine.Weights) *float64 { return &w.Meaning }, func(w *engine.Why) float64 { return w.Meaning }, false},
		{"Tells", func(w *engine.Weights) *float64 { return &w.Tells }, worth, false},
	},
	{
		{"Reply", func(w *engine.Weights) *float64 { return &w.Reply }, func(w *engine.Why) float64 { return w.Neighbours }, false},
		{"Time", func(w *engine.Weights) *float64 { return &w.Time }, func(w *engine.Why) float64 { return w.Answer }, false},
		{"Beside", func(w *engine.Weights) *float64 { return &w.Beside }, func(w *engine.Why) float64 { return w.Meaning }, false},
		{"Chats", func(w *engine.Weights) *float64 { return &w.Chats }, worth, true},
	},
	{
		{"Around", func(w *engine.Weights) *float64 { return &w.Around }, func(w *engine.Why) float64 { return w.Meaning }, false},
		{"Names", func(w *engine.Weights) *float64 { return &w.Names }, worth, false},
	},
	{{"Number", func(w *engine.Weights) *float64 { return &w.Number }, worth, false}},
	{{"Asks", func(w *engine.Weights) *float64 { return &w.Asks }, worth, true}},
	{{"Content", func(w *engine.Weights) *float64 { return &w.Content }, worth, false}},
}

func worth(w *engine.Why) float64 { return w.Worth }

// candidate is a memory that a question finds: its score by words, and what it has of each parameter.
type candidate struct {
	words float64
	parts []float64
	right bool // it is evidence
}

// starting returns the weights from which Fit starts. They were measured on conversations that people had.
func starting() engine.Weights {
	w := engine.Chosen()
	w.Same, w.Reply, w.Together, w.Session, w.Speaker, w.Date, w.Answer, w.Time = 0.4, 0.6, 6, 1.2, 4, 4, 0.3, 2
	w.Meaning, w.Beside, w.Around = 1.2, 0.7, 0.35
	w.Tells, w.Chats, w.Names, w.Number, w.Asks, w.Content = 0.4, 0.5, 0.6, 0.6, 1.5, 1
	return w
}

// Fit searches the weights that make the evidence of the questions that are not set aside most likely, if the likelihood of a
// memory is the exponential of its score (a listwise loss). Neutral questions count as much together as all others. The weights to choose are
// half way between the start and these: the conversations are invented, and what fits them best fits those of people less well. Fit prints the weights and what they
// find. The result depends on nothing but the questions.
func Fit(out io.Writer) error {
	s, err := load()
	if err != nil {
		return err
	}
	var list []parameter
	for _, pass := range passes {
		list = append(list, pass...)
	}
	from := starting()
	start := make([]float64, len(list))
	for i, p := range list {
		start[i] = *p.of(&from)
	}
	var questions [][]candidate
	var neutral []bool
	for _, q := range s.tuned {
		if c := s.candidates(q); slices.ContainsFunc(c, func(c candidate) bool { return c.right }) {
			questions, neutral = append(questions, c), append(neutral, q.Neutral)
		}
	}
	weights := descend(questions, alike(neutral), start)
	fitted, chosen := from, from
	for i, p := range list {
		*p.of(&fitted) = weights[i]
		*p.of(&chosen) = math.Round((start[i]+weights[i])/2*100) / 100
		fmt.Fprintf(out, "%-8s %6.2f  from %6.2f fitted %6.2f\n", p.name, *p.of(&chosen), start[i], weights[i])
	}
	fmt.Fprintf(out, "%-8s %s\n", "", s.headings(s.tuned))
	for _, row := range []variant{{"start", from}, {"fitted", fitted}, {"chosen", chosen}, {"now", engine.Chosen()}} {
		fmt.Fprintf(out, "%-8s %s\n", row.name, s.row(s.tuned, row.weights))
	}
	return nil
}

// alike returns how much each question counts, so that those which are neutral count as much together as the others.
func alike(neutral []bool) []float64 {
	n := map[bool]float64{}
	for _, is := range neutral {
		n[is]++
	}
	counts := make([]float64, len(neutral))
	for i, is := range neutral {
		counts[i] = float64(len(neutral)) / 2 / n[is]
	}
	return counts
}

// kept are the parameters that decide what is found and which words count; they have their weight in all passes. The part of Beside
// and of Around is measured together with that of Meaning, which is the parameter with the number ofMeaning.
var kept = []string{"Session", "Speaker", "Date", "Meaning"}

const ofMeaning = 6

// candidates are the memories that a question finds.
func (s *set) candidates(q question) []candidate {
	found, n := map[string]*candidate{}, 0
	for _, pass := range passes {
		w := starting()
		for _, other := range passes {
			for _, p := range other {
				if !slices.Contains(kept, p.name) {
					*p.of(&w) = 0
				}
			}
		}
		for _, p := range pass {
			*p.of(&w) = 1
			if p.less {
				*p.of(&w) = -1
			}
		}
		hits, _ := s.indexes[q.Conversation].Search(nil, engine.Query{Text: q.Question, Limit: math.MaxInt32, Now: s.now, Explain: true, Weights: &w})
		for _, h := range hits {
			c := found[h.ID]
			if c == nil {
				c = &candidate{right: slices.Contains(q.Evidence, h.ID)}
				found[h.ID] = c
			}
			c.words = h.Why.Words + h.Why.Related
			c.parts = append(c.parts, make([]float64, n+len(pass)-len(c.parts))...)
			for i, p := range pass {
				c.parts[n+i] = p.part(h.Why)
				if p.less {
					c.parts[n+i] = -c.parts[n+i]
				}
				if p.name == "Beside" || p.name == "Around" {
					c.parts[n+i] -= w.Meaning * c.parts[ofMeaning]
				}
			}
		}
		n += len(pass)
	}
	list := make([]candidate, 0, len(found))
	for _, id := range slices.Sorted(maps.Keys(found)) {
		c := found[id]
		c.parts = append(c.parts, make([]float64, n-len(c.parts))...)
		list = append(list, *c)
	}
	return list
}

// The descent.
const (
	rounds   = 250
	step     = 0.02 // of a weight, as a share of its size at the start
	holding  = 0.002
	leastOne = 0.3 // the least size
)

// descend minimises the listwise loss by Adam. Every weight stays at least 0.
func descend(questions [][]candidate, counts, start []float64) []float64 {
	n := len(start)
	size := make([]float64, n+1)
	at := make([]float64, n+1) // the weights in their sizes; the last one is the sharpness of the likelihood
	for i, w := range start {
		size[i] = max(w, leastOne)
		at[i] = w / size[i]
	}
	size[n], at[n] = 0.5, 1
	first := slices.Clone(at)
	mean, square := make([]float64, n+1), make([]float64, n+1)
	weights := make([]float64, n+1)
	for round := 1; round <= rounds; round++ {
		for i := range at {
			weights[i] = at[i] * size[i]
		}
		slope := slopes(questions, counts, weights)
		for i := range at {
			g := slope[i]*size[i]/float64(len(questions)) + holding*(at[i]-first[i])
			mean[i] = 0.9*mean[i] + 0.1*g
			square[i] = 0.999*square[i] + 0.001*g*g
			m, v := mean[i]/(1-math.Pow(0.9, float64(round))), square[i]/(1-math.Pow(0.999, float64(round)))
			at[i] = max(0, at[i]-step*m/(math.Sqrt(v)+1e-8))
		}
	}
	return weights[:n]
}

// slopes returns the gradient of the loss, summed over the questions, of which each counts as much as counts says.
func slopes(questions [][]candidate, counts, weights []float64) []float64 {
	n := len(weights) - 1
	sharp := weights[n]
	sum := make([]float64, n+1)
	var scores []float64
	for q, list := range questions {
		scores = scores[:0]
		most := math.Inf(-1)
		for _, c := range list {
			score := c.words
			for i, part := range c.parts {
				score += weights[i] * part
			}
			scores = append(scores, score)
			most = max(most, score)
		}
		all, right := 0.0, 0.0
		for i, c := range list {
			likely := math.Exp(sharp * (scores[i] - most))
			all += likely
			if c.right {
				right += likely
			}
		}
		for i, c := range list {
			likely := math.Exp(sharp * (scores[i] - most))
			excess := likely / all
			if c.right {
				excess -= likely / max(right, 1e-300)
			}
			excess *= counts[q]
			for j, part := range c.parts {
				sum[j] += sharp * excess * part
			}
			sum[n] += excess * (scores[i] - most)
		}
	}
	return sum
}

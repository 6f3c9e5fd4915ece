package recall

import (
	"slices"
	"testing"
)

// A change that makes the engine find less is to be noticed; the figures themselves are for `go run ./bench recall`.
func TestTheEngineFindsMoreThanPlainBM25(t *testing.T) {
	t.Parallel()
	s, err := load()
	if err != nil {
		t.Fatal(err)
	}
	list := variants()
	for _, part := range []struct {
		name      string
		questions []question
		least     float64
	}{{"tuned on", s.tuned, 0.15}, {"set aside", s.aside, 0.15}} {
		plain, engine := s.ask(part.questions, list[0].weights), s.ask(part.questions, list[1].weights)
		n := float64(len(part.questions))
		if gain := (engine.within[2] - plain.within[2]) / n; gain < part.least {
			t.Errorf("%s: recall@10 is %.3f more than that of BM25, of at least %.2f", part.name, gain, part.least)
		}
	}
}

func TestTheQuestionsAreAnsweredByTurnsOfTheirConversation(t *testing.T) {
	t.Parallel()
	s, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.tuned) + len(s.aside); n < 2000 || len(s.indexes) < 40 {
		t.Errorf("%d questions about %d conversations", n, len(s.indexes))
	}
	aside := map[string]bool{}
	for _, q := range append(slices.Clone(s.tuned), s.aside...) {
		for _, id := range q.Evidence {
			if s.of[id] != q.Conversation {
				t.Errorf("%q is answered by %s, which is not of %s", q.Question, id, q.Conversation)
			}
		}
		if len(q.Evidence) == 0 {
			t.Errorf("%q has no answer", q.Question)
		}
		if q.Aside {
			aside[q.Conversation] = true
		}
	}
	for _, q := range s.tuned {
		if aside[q.Conversation] {
			t.Errorf("%s is set aside and tuned on", q.Conversation)
		}
	}
	if share := float64(len(s.aside)) / float64(len(s.tuned)+len(s.aside)); share < 0.3 {
		t.Errorf("only %.2f of the questions are set aside", share)
	}
}

func TestTheConversationsAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	turns, questions, err := conversationsOf(scenes)
	if err != nil {
		t.Fatal(err)
	}
	again, asked, err := conversationsOf(scenes)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(turns, again) || len(questions) != len(asked) {
		t.Error("writing the conversations again gave others")
	}
	for i, q := range questions {
		if q.Question != asked[i].Question || !slices.Equal(q.Evidence, asked[i].Evidence) {
			t.Errorf("question %d was %q, then %q", i, q.Question, asked[i].Question)
		}
	}
}

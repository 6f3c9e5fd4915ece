package app_test

import (
	"fmt"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

// chatMemories are what a support bot knows of a patient after one chat, and chatQuestions what a colleague asks a day later, with
// words of the memory that answers.
var (
	chatMemories = []client.NewMemory{
		{Kind: "fact", Text: "Mrs Okafor's next check-up with Dr Lindqvist is on Thursday 14 May at 10:20 in the Harbour Street clinic."},
		{Kind: "preference", Text: "She does not pick up unknown numbers; text her first, or write to her daughter Chidi."},
		{Kind: "fact", Text: "The blood pressure tablets make her dizzy, so she takes only half of the evening dose."},
		{Kind: "fact", Text: "She lives on the third floor without a lift since she moved to Quay 9 in March."},
		{Kind: "event", Text: "Her knee was operated on in January, and she still walks with a stick."},
		{Kind: "instruction", Text: "Explain letters from the insurer in simple words; her eyesight is poor and English is her second language."},
		{Kind: "fact", Text: "Penicillin gave her a rash as a child."},
	}
	chatQuestions = []struct{ question, answer string }{
		{"When is the appointment?", "14 May"},
		{"How should I contact her?", "text her first"},
		{"Any medication problems?", "dizzy"},
		{"Where does she live now?", "Quay 9"},
		{"Is she allergic to anything?", "Penicillin"},
		{"Can she manage stairs?", "third floor"},
		{"Which doctor is she seeing?", "Lindqvist"},
		{"Has she had surgery recently?", "knee"},
		{"Who in her family can help?", "Chidi"},
		{"What should I keep in mind when I write to her?", "simple words"},
	}
)

func TestASupportBotHasEveryAnswerInItsContext(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	items := make([]client.NewMemory, len(chatMemories))
	for i, m := range chatMemories {
		items[i] = m
		items[i].SubjectID, items[i].SessionID = "okafor", "chat-1"
	}
	if _, err := c.CreateMemories(t.Context(), items, true); err != nil {
		t.Fatal(err)
	}
	ask := func(question string, maxTokens int) string {
		packed, err := c.Context(t.Context(), client.ContextQuery{SubjectID: "okafor", Query: question, MaxTokens: maxTokens})
		if err != nil {
			t.Fatal(err)
		}
		return packed.Text
	}
	short := 0 // answers in a context that has room for about three of the seven memories
	for _, q := range chatQuestions {
		if text := ask(q.question, 0); !strings.Contains(text, q.answer) {
			t.Errorf("%q: the context lacks %q:\n%s", q.question, q.answer, text)
		}
		if text := ask(q.question, 120); strings.Contains(text, q.answer) {
			short++
		}
	}
	if short < len(chatQuestions)-2 { // lists that were written for such questions found nine
		t.Errorf("%d of %d answers are in a short context", short, len(chatQuestions))
	}
	for i := range 200 { // chats about something else
		if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "okafor", SessionID: fmt.Sprint("chat-", 2+i), Text: fmt.Sprintf("Ticket %d about the parcel was closed.", 1000+i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range chatQuestions {
		if text := ask(q.question, 0); !strings.Contains(text, q.answer) {
			t.Errorf("among many, %q: the context lacks %q", q.question, q.answer)
		}
	}
}

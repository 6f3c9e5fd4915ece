package recall_test

import (
	"testing"

	"keepsake/internal/memory/recall"
)

func TestOnlyTheQuestionLeavesWithoutNames(t *testing.T) {
	t.Parallel()
	speakers := []string{"", "Ada Lovelace", "ben", "田中", "Zoë"}
	for query, want := range map[string]string{
		"What does Ada like to drink?":                         "What does I like to drink?",
		"My password is hunter2. Where is Ada's bicycle? Bye.": "Where is my bicycle?",
		"what did ADA LOVELACE tell Ben?":                      "what did I  tell I?",
		"Tell me about Zoë.":                                   "Tell me about I.",
		"田中は何が好きですか？":                                          "は何が好きですか？",
		"أحب الشاي. هل تحب آدا الشاي؟":                         "هل تحب آدا الشاي؟",
		"Adam likes Benny?":                                    "Adam likes Benny?",
		"One thing? \"Another?\" No.":                          "One thing? \"Another?\"",
	} {
		if got := recall.Outgoing(query, speakers); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

package mcp

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTypingErrorsResembleAnArgument(t *testing.T) {
	t.Parallel()
	known := []string{"subjectId", "query", "from", "to", "tags", "limit", "id", "sessionId"}
	for name, want := range map[string]string{
		"subject": "subjectId", "subject_id": "subjectId", "SubjectID": "subjectId", "subjectIds": "subjectId", "subjectIdentifier": "subjectId",
		"q": "query", "queryText": "query", "Query": "query", "qvery": "query", "tag": "tags", "tagss": "tags", "tagsList": "tags", "limits": "limit", "ID": "id",
		"toDate": "to", "to_date": "to", "two": "to", "toolCallId": "", "tomorrow": "", "chatInput": "", "action": "", "_meta": "", "": "", "langauge": "",
		"session": "sessionId", "limti": "", "ids": "id", "identity": "",
	} {
		if got := resembled(name, known); got != want {
			t.Errorf("%q resembles %q, want %q", name, got, want)
		}
	}
}

func TestEveryTypingErrorOfOneLetterIsFound(t *testing.T) {
	t.Parallel()
	s := &server{}
	for _, tool := range newTools(s) {
		var known []string
		for i := range tool.params {
			known = append(known, tool.params[i].name)
		}
		rapid.Check(t, func(t *rapid.T) {
			letters := []rune(rapid.SampledFrom(known).Draw(t, "name"))
			at, letter := rapid.IntRange(0, len(letters)-1).Draw(t, "at"), rapid.RuneFrom([]rune("abcxyzABC_é")).Draw(t, "letter")
			var wrong string
			switch rapid.IntRange(0, 3).Draw(t, "edit") {
			case 0:
				wrong = string(letters[:at]) + string(letters[at+1:])
			case 1:
				wrong = string(letters[:at]) + string(letter) + string(letters[at:])
			case 2:
				wrong = string(letters[:at]) + string(letter) + string(letters[at+1:])
			default:
				wrong = strings.ToUpper(string(letters))
			}
			if wrong != "" && resembled(wrong, known) == "" {
				t.Fatalf("%s: %q resembles no argument", tool.name, wrong)
			}
		})
		if meant := resembled("toolCallId", known); meant != "" {
			t.Errorf("%s: toolCallId resembles %s", tool.name, meant)
		}
	}
}

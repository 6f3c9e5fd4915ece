package text

import (
	"slices"
	"strings"
	"testing"
)

func TestSentencesEndWhereAReaderEndsThem(t *testing.T) {
	t.Parallel()
	for _, want := range [][]string{
		{},
		{"One.", "Two?", "Three!", "four"},
		{"He met Dr. Smith at 5 p.m. in St. Ives.", "They talked."},
		{"J. S. Bach lived in the U.S. never.", "So what?"},
		{"Das kostet z. B. 3 Euro, d.h. wenig, s. Abs. 4 ff.", "Ende."},
		{"Am 3. Mai war es warm.", "Dann nicht."},
		{"See https://example.com/a?b=c.", "It has v1.2.3.", "Good!"},
		{"“Is it open?” she asked.", "“No.”", "He left."},
		{"今日は晴れです。", "明日は雨でしょう。", "「本当?」", "そう。"},
		{"你好!", "你是谁?"},
		{"สวัสดีครับ", "ผมชื่อสมชาย", "ผมชอบกินข้าว"},
		{"هل تحب الشاي؟", "نعم تحبه كثيرا."},
		{"यह एक वाक्य है।", "यह दूसरा है।"},
	} {
		check(t, strings.Join(want, " "), want)
	}
	for s, want := range map[string][]string{
		"": nil, " \n\t ": nil,
		"今日は晴れです。明日は雨でしょう。":                                                             {"今日は晴れです。", "明日は雨でしょう。"},
		"Opening hours\nWe open at nine.":                                               {"Opening hours", "We open at nine."},
		"A heading\n\nA text without a point\n\nMore":                                   {"A heading", "A text without a point", "More"},
		"This line was wrapped by an editor because it is long and\nThe Times goes on.": {"This line was wrapped by an editor because it is long and\nThe Times goes on."},
		"short but\nwrapped. Yes.":                                                      {"short but\nwrapped.", "Yes."},
		"- one\n- two\r\n- three":                                                       {"- one", "- two", "- three"},
	} {
		check(t, s, want)
	}
}

func check(t *testing.T, s string, want []string) {
	t.Helper()
	var got []string
	sentences(s, func(start, end int) bool {
		got = append(got, s[start:end])
		return true
	})
	if !slices.Equal(got, want) {
		t.Errorf("sentences of %q\n got %q\nwant %q", s, got, want)
	}
}

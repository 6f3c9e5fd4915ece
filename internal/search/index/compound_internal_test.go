package index

import (
	"strings"
	"testing"
	"unicode"

	"keepsake/internal/base/text"
)

func TestCompoundsOfATextAreItsCodesAndItsSignedPairs(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"write a follow-up, please":             "followup",
		"on 2024-05-03 and 03.05.2024":          "20240503 03052024",
		"2024-05-03 2024-05-04":                 "20240503 20240504",
		"DE89 3704 0044 0532 0130 00":           "de89370400440532013000 370400440532013000 00440532013000",
		"ISBN 978-3-16-148410-0.":               "9783161484100 3161484100 161484100",
		"phone +49 30 901820-17":                "90182017 493090182017 3090182017 90182017",
		"TX-4410B and 5/12":                     "tx4410b tx4410b",
		"1.000.000":                             "1000000",
		"3.14 3.14, 3.5-4.5":                    "",
		"state-of-the-art":                      "stateof ofthe theart",
		"one/two/three/four/five":               "",
		"in 20 days":                            "",
		"黒猫-2024-05-03":                         "20240503",
		"1 2 3 4 5 6 7 8 9":                     "",
		"line 555\n1234":                        "",
		"l'hôtel-restaurant, O’Neill-Smith":     "lhotelrestaurant oneillsmith",
		"a  b - c--d":                           "",
		"12345678901234567 12345678901234567 1": "123456789012345671",
	} {
		var got []string
		c := compounds{add: func(compound string) { got = append(got, compound) }}
		c.begin(s)
		analyzer.Scan(s, func(token text.Token) bool {
			sp := text.Spelling{Start: token.Start, End: token.End, Last: text.Unspaced(token.Word)}
			c.next(&sp, token.Word, strings.ContainsFunc(token.Word, unicode.IsDigit))
			return true
		})
		c.end()
		if strings.Join(got, " ") != want {
			t.Errorf("%q has the compounds %q, want %q", s, got, want)
		}
	}
}

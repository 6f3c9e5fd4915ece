package wire_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

// read returns the results of a stream: number and text, or number and a mark for a skipped line.
func read(t *testing.T, r io.Reader, most int) []string {
	t.Helper()
	var got []string
	lines := wire.NewLines(r, most)
	for {
		line, err := lines.Next()
		var long *wire.TooLong
		switch {
		case err == io.EOF:
			return got
		case errors.As(err, &long):
			if p, ok := problem.As(err); !ok || p.Details.Issue != problem.TooLong {
				t.Errorf("a long line is %v, want a 400", err)
			}
			got = append(got, fmt.Sprintf("%d too long", lines.Number()))
		case err != nil:
			t.Fatal(err)
		case len(line) > 100:
			got = append(got, fmt.Sprintf("%d %d bytes", lines.Number(), len(line)))
		default:
			got = append(got, fmt.Sprintf("%d %s", lines.Number(), line))
		}
	}
}

func TestLinesAreReadOneByOne(t *testing.T) {
	t.Parallel()
	big, huge := strings.Repeat("x", 100<<10), strings.Repeat("y", 300<<10)
	tests := map[string]struct {
		in   string
		want []string
	}{
		"Empty":                 {"", nil},
		"WithoutALastBreak":     {"a\nb", []string{"1 a", "2 b"}},
		"BlankLinesCountOnly":   {"a\r\n\n \t\nb\n", []string{"1 a", "4 b"}},
		"LargerThanTheBuffer":   {big + "\nb\n", []string{"1 102400 bytes", "2 b"}},
		"TooLongFailsAlone":     {"a\n" + huge + "\nb\n", []string{"1 a", "2 too long", "3 b"}},
		"TooLongAtTheEnd":       {"a\n" + huge, []string{"1 a", "2 too long"}},
		"ExactlyAsLongAsIsRead": {strings.Repeat("z", 200<<10) + "\r\nb", []string{"1 204800 bytes", "2 b"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, read(t, strings.NewReader(tc.in), 200<<10)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, read(t, iotest.HalfReader(strings.NewReader(tc.in)), 200<<10)); diff != "" {
				t.Errorf("lines of a slow reader (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABrokenStreamIsReported(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, length := range []int{3, 100 << 10} {
		lines := wire.NewLines(io.MultiReader(strings.NewReader("a\n"+strings.Repeat("b", length)), iotest.ErrReader(broken)), 1<<20)
		if line, err := lines.Next(); err != nil || string(line) != "a" {
			t.Fatalf("first line: %s, %v", line, err)
		}
		if line, err := lines.Next(); !errors.Is(err, broken) {
			t.Errorf("half a line of %d bytes was given as %.20q, %v", length, line, err)
		}
	}
}

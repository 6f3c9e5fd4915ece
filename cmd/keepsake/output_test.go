package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
)

func TestANameCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	st := &stage{out: &out}
	st.printTable(table.Row{"NAME", "KEYS"}, []table.Row{{"a\x1b[2J\x1b]0;owned\a\r\nb\u202ec \u00e9 \u9375", 7}})
	got := out.String()
	if strings.ContainsAny(got, "\x1b\a\r\u202e") || strings.Count(got, "\n") != 2 {
		t.Errorf("the table prints %q", got)
	}
	for _, kept := range []string{"é", "鍵", "7"} {
		if !strings.Contains(got, kept) {
			t.Errorf("the table lacks %q: %q", kept, got)
		}
	}
}

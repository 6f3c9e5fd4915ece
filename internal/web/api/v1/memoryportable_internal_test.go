package v1

import (
	"io"
	"strings"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/memory"
	"keepsake/internal/web/endpoint"
)

// linesOf reads all lines of a body.
func linesOf(t *testing.T, body io.Reader) []memory.ImportLine {
	t.Helper()
	next := memoryLines(body, endpoint.NewDecoder[portableMemory]())
	var list []memory.ImportLine
	for {
		line, ok, err := next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return list
		}
		list = append(list, line)
	}
}

func TestALongMemoryLineFailsAlone(t *testing.T) {
	t.Parallel()
	long := io.MultiReader(strings.NewReader(`{"text":"`), io.LimitReader(endless('x'), maxMemoryLine), strings.NewReader("\"}\n"))
	list := linesOf(t, io.MultiReader(strings.NewReader("{\"text\":\"one\"}\n\n"), long, strings.NewReader(`{"text":"two"}`)))
	if len(list) != 3 || list[0].Memory.Text != "one" || list[2].Memory.Text != "two" || list[2].Number != 4 {
		t.Fatalf("got %+v", list)
	}
	if p, ok := problem.As(list[1].Err); !ok || p.Details.Issue != problem.TooLong || list[1].Number != 3 {
		t.Errorf("the long line %d: %v", list[1].Number, list[1].Err)
	}
}

// endless is a text of one letter without an end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestALineCanLeaveOutItsPast(t *testing.T) {
	t.Parallel()
	list := linesOf(t, strings.NewReader(`{"subjectId":"a","text":"x"}
{"subjectId":"a","text":"x","createdAt":"2026-01-01T00:00:00Z","importedBy":"key_z"}
{"subjectId":"a","text":"x","createdBy":"key_x","updatedAt":"2026-01-02T00:00:00Z","updatedBy":"key_y","revision":2,"history":[{"text":"w"}]}
{"subjectId":"a","text":"x","revision":0}
{"subjectId":"a","text":"x","history":[{"text":"w","importance":2}]}
{"subjectId":"a","text":"x","metadata":{"a":{"b":1}}}
`))
	for i, field := range []string{"", "", "", "revision", "history[0].importance", "metadata.a"} {
		if p, ok := problem.As(list[i].Err); field == "" && list[i].Err != nil || field != "" && (!ok || p.Details.Field != field) {
			t.Errorf("line %d: %v, want %q", i+1, list[i].Err, field)
		}
	}
	if m := list[0].Memory; !m.CreatedAt.IsZero() || m.CreatedBy != "" || m.Revision != 0 {
		t.Errorf("got %+v", m)
	}
	if m := list[1].Memory; !m.CreatedAt.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || m.ImportedBy != "" {
		t.Errorf("got %+v", m)
	}
	if m, h := list[2].Memory, list[2].History; m.UpdatedBy != "key_y" || m.Revision != 2 || len(h) != 1 || h[0].Text != "w" {
		t.Errorf("got %+v and %+v", m, h)
	}
	if !strings.Contains(list[5].Err.Error(), "nested") {
		t.Errorf("the error does not say what is nested: %v", list[5].Err)
	}
}

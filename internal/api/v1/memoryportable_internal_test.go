package v1

import (
	"io"
	"strings"
	"testing"

	"keepsake/internal/endpoint"
	"keepsake/internal/memory"
	"keepsake/internal/problem"
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

func TestALineHasAllOfItsPastOrNone(t *testing.T) {
	t.Parallel()
	const past = `"text":"x","createdAt":"2026-01-01T00:00:00Z","createdBy":"key_x","updatedAt":"2026-01-02T00:00:00Z","updatedBy":"key_y","revision":2`
	list := linesOf(t, strings.NewReader(`{"subjectId":"a","text":"x"}
{"subjectId":"a",`+past+`}
{"subjectId":"a",`+past+`,"history":[{"text":"w","updatedAt":"2026-01-01T00:00:00Z","updatedBy":"key_x","revision":1}]}
`))
	if list[0].WithPast || !list[1].WithPast || list[1].Memory.UpdatedBy != "key_y" || list[1].Memory.Revision != 2 || list[0].Err != nil || list[1].Err != nil {
		t.Errorf("got %+v and %+v", list[0], list[1])
	}
	if h := list[2].History; list[2].Err != nil || len(h) != 1 || h[0].Text != "w" || h[0].UpdatedBy != "key_x" || h[0].Revision != 1 {
		t.Errorf("got %+v", list[2])
	}
	for field, line := range map[string]string{
		"createdAt":             strings.Replace(past, `"createdAt":"2026-01-01T00:00:00Z",`, "", 1),
		"createdBy":             strings.Replace(past, `"createdBy":"key_x",`, "", 1),
		"updatedAt":             strings.Replace(past, `"updatedAt":"2026-01-02T00:00:00Z",`, "", 1),
		"updatedBy":             strings.Replace(past, `"updatedBy":"key_y",`, "", 1),
		"revision":              strings.Replace(past, `,"revision":2`, "", 1),
		"history[0].revision":   past + `,"history":[{"text":"w","updatedAt":"2026-01-01T00:00:00Z","updatedBy":"key_x"}]`,
		"history[0].updatedAt":  past + `,"history":[{"text":"w","revision":1,"updatedBy":"key_x"}]`,
		"history[0].importance": past + `,"history":[{"text":"w","importance":2,"updatedAt":"2026-01-01T00:00:00Z","updatedBy":"key_x","revision":1}]`,
	} {
		got := linesOf(t, strings.NewReader("{"+line+"}"))
		if p, ok := problem.As(got[0].Err); !ok || p.Details.Field != field {
			t.Errorf("without %s: %v", field, got[0].Err)
		}
	}
}

package client_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

func TestMemoriesAreStoredRecalledAndErased(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	half := 0.5
	at := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	made, err := c.CreateMemory(ctx, client.NewMemory{
		SubjectID: "ada", Text: "Her bicycle is green.", Importance: &half, OccurredAt: &at, Metadata: map[string]any{"a": 1.0, "b": "x"}, Tags: []string{"bicycle"},
	})
	check(err)
	again, err := c.CreateMemory(ctx, client.NewMemory{
		SubjectID: "ada", Text: "Her bicycle is green.", OccurredAt: &at, Metadata: map[string]any{"a": 1.0, "b": "x"}, Tags: []string{"bicycle"},
	})
	if check(err); !again.Deduplicated || again.ID != made.ID || made.Deduplicated || !made.OccurredAt.Equal(at) || *made.Importance != half {
		t.Errorf("got %+v and %+v", made, again)
	}
	changed, err := c.ChangeMemory(ctx, made.ID, client.MemoryChange{
		Text: client.To("Her bicycle is red."), Importance: client.Cleared[float64](), Metadata: client.To(map[string]any{"a": nil}),
	}, &made.Revision)
	if check(err); changed.Revision != 2 || changed.Importance != nil || len(changed.Metadata) != 1 || changed.Tags[0] != "bicycle" {
		t.Errorf("got %+v", changed)
	}
	history, err := c.MemoryHistory(ctx, made.ID, 0, "")
	if check(err); len(history.Items) != 2 || history.Items[1].Text != "Her bicycle is green." || history.Items[0].UpdatedBy == "" {
		t.Errorf("got %+v", history)
	}
	results, err := c.CreateMemories(ctx, []client.NewMemory{{SubjectID: "ada", Text: "She drinks tea."}, {SubjectID: "ada"}}, false)
	if check(err); len(results) != 2 || results[0].Memory == nil || results[1].Error == nil || results[1].Error.Details["field"] != "items[1].text" {
		t.Errorf("got %+v", results)
	}
	var refused *client.Error
	if _, err := c.CreateMemories(ctx, []client.NewMemory{{SubjectID: "ada"}}, true); !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("an atomic batch with a bad item: %v", err)
	}

	var texts []string
	for m, err := range c.EachMemory(ctx, client.MemoryQuery{SubjectID: "ada", Limit: 1}) {
		check(err)
		texts = append(texts, m.Text)
	}
	if !slices.Equal(texts, []string{"She drinks tea.", "Her bicycle is red."}) {
		t.Errorf("listed are %v", texts)
	}
	found, err := c.Recall(ctx, client.RecallQuery{SubjectID: "ada", Query: "what colour is the bike?", Explain: true})
	if check(err); len(found.Results) == 0 || found.Results[0].Memory.ID != made.ID || found.Results[0].Rank != 1 || found.Results[0].Why == nil {
		t.Errorf("recalled is %+v", found)
	}
	packed, err := c.Context(ctx, client.ContextQuery{SubjectID: "ada", Query: "tea", MaxCharacters: 200})
	if check(err); !strings.Contains(packed.Text, "She drinks tea.") || len(packed.MemoryIDs) == 0 || packed.Tokens == 0 {
		t.Errorf("packed is %+v", packed)
	}

	var out bytes.Buffer
	check(c.ExportSubject(ctx, "ada", &out))
	imported, err := c.ImportMemories(ctx, bytes.NewReader(out.Bytes()), nil)
	if check(err); imported.Received != 2 || imported.Unchanged != 2 {
		t.Errorf("imported is %+v", imported)
	}

	plan, err := c.PlanForget(ctx, client.ForgetQuery{SubjectID: "ada", Query: "tea"})
	if check(err); len(plan.MemoryIDs) != 1 {
		t.Errorf("planned is %+v", plan)
	}
	if n, err := c.Forget(ctx, "ada", plan.PlanID); err != nil || n != 1 {
		t.Errorf("forgotten are %d, %v", n, err)
	}
	check(c.DeleteMemory(ctx, made.ID, nil))
	if imported, err = c.ImportMemories(ctx, &out, nil); err != nil || imported.Failed != 2 || imported.Errors[1].Issue != "not_allowed" {
		t.Errorf("what was erased came back: %+v, %v", imported, err)
	}

	_, err = c.CreateMemory(ctx, client.NewMemory{SubjectID: "ada", Text: "new"})
	check(err)
	var people []string
	for s, err := range c.EachSubject(ctx) {
		check(err)
		people = append(people, s.SubjectID)
	}
	if s, err := c.Subject(ctx, "ada"); err != nil || s.Memories != 1 || s.Bytes != 3 || !slices.Equal(people, []string{"ada"}) {
		t.Errorf("got %+v, %v, of %v", s, err, people)
	}
	log, err := c.AccessLog(ctx, "ada", 5, "")
	if check(err); len(log.Items) != 5 || log.NextCursor == nil || log.Items[0].Actor == nil {
		t.Errorf("the access log is %+v", log)
	}
	receipt, err := c.EraseSubject(ctx, "ada")
	if check(err); receipt.Memories != 1 || !receipt.LiveKeyDestroyed {
		t.Errorf("the receipt is %+v", receipt)
	}
	keys, err := c.SigningKeys(ctx)
	check(err)
	if by, err := receipt.Verify(keys); err != nil || by.WorkspaceID != p.Workspace {
		t.Errorf("the receipt is signed by %+v, %v", by, err)
	}
	if err := c.ExportSubject(ctx, "ada", &out); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("an export of an erased subject: %v", err)
	}
}

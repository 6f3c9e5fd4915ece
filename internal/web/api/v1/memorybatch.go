package v1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/web/endpoint"
)

// AddMemoryBatch declares the creation of many memories.
func AddMemoryBatch(r *endpoint.Registry, writer *memory.Writer, reader *memory.Reader) {
	batch := memoryOperation("createMemories", "POST", "/batch", "Create up to 1,000 memories", auth.MemoryWrite, problem.CodeLimitReached)
	batch.Description = "Items are stored one after the other, and the results have the same order. An item that is refused does not affect the" +
		" others. If atomic is true, it makes the whole request fail with 400, and nothing is stored."
	batch.Class, batch.Idempotent, batch.Again = endpoint.Batch, true, showAgain(reader)
	endpoint.AddPrepared(r, batch, func(ctx context.Context, in *createMemories) (err error) {
		in.prepared, err = writer.PrepareBatch(ctx, auth.From(ctx), in.items(), in.Body.Atomic)
		return err
	}, func(ctx context.Context, in *createMemories) (*memoryResults, error) {
		results, err := writer.Batch(ctx, in.prepared)
		if err != nil {
			return nil, err
		}
		for i := range results {
			if _, ok := problem.As(results[i].Err); results[i].Err != nil && !ok {
				return nil, fmt.Errorf("item %d of a batch: %w", i, results[i].Err)
			}
		}
		return answerResults(ctx, results), nil
	})
}

// showAgain logs which memories a stored response shows: one, or those of a batch.
func showAgain(reader *memory.Reader) func(ctx context.Context, body []byte) error {
	type shown struct {
		ID        string `json:"id"`
		SubjectID string `json:"subjectId"`
	}
	return func(ctx context.Context, body []byte) error {
		var answer struct {
			shown
			Results []struct {
				Memory *shown `json:"memory"`
			} `json:"results"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return errors.New("decode a kept answer") // the cause would quote it
		}
		var list []*memory.Memory
		add := func(m *shown) {
			if m != nil && m.ID != "" {
				list = append(list, &memory.Memory{ID: m.ID, SubjectID: m.SubjectID})
			}
		}
		add(&answer.shown)
		for _, r := range answer.Results {
			add(r.Memory)
		}
		return reader.RecordShownAgain(ctx, auth.From(ctx), list)
	}
}

type createMemories struct {
	Body struct {
		Items  []endpoint.Loose[newMemory] `json:"items" minItems:"1" maxItems:"1000" doc:"The memories to store, each in the format of createMemory."`
		Atomic bool                        `json:"atomic" required:"false" doc:"Whether all items are stored or none."`
	}
	prepared *memory.Prepared
}

// items converts the items. An invalid item only affects itself.
func (in *createMemories) items() []memory.Item {
	items := make([]memory.Item, len(in.Body.Items))
	for i := range items {
		sent := &in.Body.Items[i]
		if items[i].Err = sent.Err; sent.Err == nil {
			items[i] = sent.Value.item()
		}
	}
	return items
}

type memoryResults struct {
	Body struct {
		Results endpoint.Sequence[memoryResult] `json:"results" doc:"The results of the items, in the order of the items."`
	}
}

// answerResults creates each view when it is sent, which cannot fail.
func answerResults(ctx context.Context, results []memory.Result) *memoryResults {
	out := &memoryResults{}
	out.Body.Results = func(yield func(*memoryResult, error) bool) {
		for i := range results {
			if view := viewOfBatchResult(ctx, i, &results[i]); !yield(&view, nil) {
				return
			}
		}
	}
	return out
}

type memoryResult struct {
	Index        int         `json:"index" doc:"The position of the item in the request, starting at 0."`
	Status       int         `json:"status" doc:"The status that a request with this item alone would have: 201, 200 or that of its error."`
	Memory       *memoryView `json:"memory,omitempty" doc:"The memory that the item created, replaced or repeats. It is absent if the item was refused."`
	Error        *itemError  `json:"error,omitempty" doc:"The reason why the item was refused. It is absent if the item was stored."`
	Deduplicated bool        `json:"deduplicated,omitzero" doc:"Whether an equal memory existed, which is returned here."`
}

type itemError struct {
	Error   string            `json:"error" doc:"The machine-readable code of the error."`
	Message string            `json:"message"`
	Details *itemErrorDetails `json:"details,omitempty" doc:"What exactly is wrong with the item. Each member is there only if it says something."`
}

type itemErrorDetails struct {
	Field string `json:"field,omitempty" doc:"The field with the problem, such as items[3].text."`
	Issue string `json:"issue,omitempty"`
	Limit string `json:"limit,omitempty" doc:"The limit of the tier that is reached."`
}

// viewOfBatchResult returns the view of the result of item i.
func viewOfBatchResult(ctx context.Context, i int, r *memory.Result) memoryResult {
	out := memoryResult{Index: i, Status: 200, Deduplicated: r.Deduplicated}
	if p, ok := problem.As(r.Err); ok {
		out.Status = endpoint.StatusOf(p.Code)
		out.Error = &itemError{Error: p.Code, Message: p.Message}
		if d := p.Details; d.Field != "" || d.Limit != "" {
			out.Error.Details = &itemErrorDetails{Field: ofItem(i, d.Field), Issue: string(d.Issue), Limit: d.Limit}
		}
		return out
	}
	view := viewOfMemory(ctx, r.Memory)
	out.Memory = &view
	if r.Created {
		out.Status = 201
	}
	return out
}

// ofItem names a field of item i: items[3].text.
func ofItem(i int, field string) string {
	whole := item("items", i)
	switch {
	case field == "" || strings.HasPrefix(field, whole):
		return field
	case field == "body":
		return whole
	default:
		return whole + "." + field
	}
}

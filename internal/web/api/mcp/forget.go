package mcp

import (
	"context"
	"fmt"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/web/endpoint"
)

// deleteMemory erases a memory. The operation returns nothing, and a tool always returns something.
func deleteMemory(_ context.Context, c *call) (wire.Value, error) {
	if _, err := c.operate(); err != nil {
		return nil, err
	}
	name, err := c.text("id")
	if err != nil {
		return nil, err
	}
	return wire.Encode(map[string]any{"id": name, "deleted": true})
}

// forgotten is the result of both calls of forget_subject.
type forgotten struct {
	Erased    bool   `json:"erased"`
	Memories  int64  `json:"memories"`
	PlanID    string `json:"planId,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
	ReceiptID string `json:"receiptId,omitempty"`
	Message   string `json:"message"`
}

// forgetSubject plans, or erases what a plan lists and then the subject, whose data key is destroyed with it.
//
// The subject remains if it has memories that the plan does not list: they were added later, and the user has not agreed to
// erase them. Only one that is added while this runs is erased with the rest. A key that is bound to an agent only sees that
// agent's memories, so for it the subject always remains.
func forgetSubject(ctx context.Context, c *call) (wire.Value, error) {
	subjectID, err := c.text("subjectId")
	if err != nil {
		return nil, err
	}
	planID, err := c.text("planId")
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	if subjectID != "" {
		body["subjectId"] = subjectID
	} else {
		subjectID = c.caller.SubjectID
	}
	if planID == "" {
		return c.planToForget(body)
	}
	body["planId"], body["dryRun"] = planID, false
	var done struct {
		Forgotten int64 `json:"forgotten"`
	}
	if err := c.post("forgetMemories", body, &done); err != nil {
		return nil, err
	}
	out := forgotten{Memories: done.Forgotten, Erased: true, Message: "Erased " + memories(done.Forgotten) + "."}
	if c.caller.AgentID != "" {
		return wire.Encode(out)
	}
	left, err := c.memoriesOf(subjectID)
	switch {
	case err != nil:
		return nil, err
	case left > 0:
		out.Erased = false
		out.Message += " After the plan, " + memories(left) + " arrived and will remain unless you make a new plan."
		return wire.Encode(out)
	}
	var receipt struct {
		ReceiptID string `json:"receiptId"`
	}
	switch err := c.subjectCall("eraseSubject", subjectID, &receipt); {
	case err == nil:
		out.ReceiptID = receipt.ReceiptID
		out.Message = "Erased " + memories(done.Forgotten) + " and the key that encrypted the person's memories."
	case !isMissing(err):
		return nil, err
	}
	return wire.Encode(out)
}

func (c *call) planToForget(body map[string]any) (wire.Value, error) {
	body["filter"] = map[string]any{}
	var plan struct {
		MemoryIDs []string `json:"memoryIds"`
		PlanID    string   `json:"planId"`
		ExpiresAt string   `json:"expiresAt"`
	}
	if err := c.post("forgetMemories", body, &plan); err != nil {
		return nil, err
	}
	n := int64(len(plan.MemoryIDs))
	return wire.Encode(forgotten{
		Memories: n, PlanID: plan.PlanID, ExpiresAt: plan.ExpiresAt,
		Message: "Nothing is erased yet. The plan erases " + memories(n) + ". If the user agrees, call forget_subject again with this planId.",
	})
}

// memories says how many memories there are.
func memories(n int64) string {
	if n == 1 {
		return "1 memory"
	}
	return fmt.Sprintf("%d memories", n)
}

// memoriesOf counts the memories of a subject. A subject that does not exist has none.
func (c *call) memoriesOf(subjectID string) (int64, error) {
	var person struct {
		Memories int64 `json:"memories"`
	}
	err := c.subjectCall("getSubject", subjectID, &person)
	if isMissing(err) {
		return 0, nil
	}
	return person.Memories, err
}

func (c *call) subjectCall(operation, subjectID string, out any) error {
	resp, err := c.request.Call(&endpoint.Call{Operation: operation, Path: map[string]string{"subjectId": subjectID}})
	if err != nil {
		return err
	}
	return decodeAnswer(resp, out)
}

func isMissing(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.NotFound
}

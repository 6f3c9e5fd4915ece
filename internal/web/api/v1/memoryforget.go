package v1

import (
	"context"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/web/endpoint"
)

// AddForgetting declares how memories are forgotten: a dry run creates a plan, and a second request erases what it lists.
func AddForgetting(r *endpoint.Registry, memories *memory.Forgetter) {
	forget := memoryOperation("forgetMemories", "POST", "/forget", "Forget memories of a subject", auth.MemoryWrite)
	forget.Description = "The default is a dry run: it lists the memories that ids, filter or query select, erases nothing and returns a plan " +
		"that is valid for an hour. A request with the plan and with dryRun false erases exactly these memories. A plan can be " +
		"used once, by the caller that created it. A dry run ignores Idempotency-Key."
	forget.Idempotent = true
	endpoint.Add(r, forget, func(ctx context.Context, in *forgetMemories) (*forgottenMemories, error) {
		if in.Body.DryRun {
			return in.plan(ctx, memories)
		}
		return in.forget(ctx, memories)
	})
}

type forgetMemories struct {
	Body struct {
		SubjectID *string       `json:"subjectId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The ID of the subject. It is required unless the API key is bound to a subject."`
		IDs       []string      `json:"ids" required:"false" minItems:"1" maxItems:"1000" maxLength:"64" doc:"The IDs of the memories to forget. IDs that do not exist are ignored."`
		Filter    *forgetFilter `json:"filter" doc:"The filter that selects memories. A memory must match all of its conditions."`
		Query     *string       `json:"query" maxLength:"1024" doc:"The words that select memories. A memory must contain all of them."`
		DryRun    bool          `json:"dryRun" default:"true" doc:"Whether the memories are only listed in a plan, and none is erased."`
		PlanID    *string       `json:"planId" maxLength:"64" doc:"The ID of the plan from a dry run. It is accepted only if dryRun is false."`
	}
}

type forgetFilter struct {
	Kinds     []string   `json:"kinds" required:"false" maxItems:"7" enum:"fact,preference,event,instruction,summary,turn,note" doc:"The kinds to include. A memory must have one of them."`
	Tags      []string   `json:"tags" required:"false" maxItems:"32" minLength:"1" maxLength:"64" doc:"The tags to match. A memory must have all of them."`
	SessionID *string    `json:"sessionId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"Include only memories of this conversation."`
	AgentID   *string    `json:"agentId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"Include only memories of this agent."`
	From      *wire.Time `json:"from" doc:"Include only memories at or after this time."`
	To        *wire.Time `json:"to" doc:"Include only memories before this time."`
}

// Harmless reports a dry run. It erases nothing, so a repeated one gets a new response.
func (in *forgetMemories) Harmless() bool { return in.Body.DryRun }

// chosen lists which of ids, filter and query are set.
func (in *forgetMemories) chosen() []string {
	b := &in.Body
	var ways []string
	for _, way := range []struct {
		name  string
		there bool
	}{{"ids", b.IDs != nil}, {"filter", b.Filter != nil}, {"query", b.Query != nil}} {
		if way.there {
			ways = append(ways, way.name)
		}
	}
	return ways
}

func (in *forgetMemories) plan(ctx context.Context, memories *memory.Forgetter) (*forgottenMemories, error) {
	b, ways := &in.Body, in.chosen()
	switch {
	case b.PlanID != nil:
		return nil, problem.Validation("planId", problem.NotAllowed, "planId requires dryRun false.")
	case len(ways) == 0:
		return nil, problem.Validation("ids", problem.Required, "One of ids, filter and query is required.")
	case len(ways) > 1:
		return nil, problem.Validation(ways[1], problem.NotAllowed, "Only one of ids, filter and query can be given.")
	}
	f := memory.Forget{SubjectID: textOrEmpty(b.SubjectID), IDs: b.IDs, Query: spaced(textOrEmpty(b.Query))}
	if ways[0] == "query" && isBlank(f.Query) {
		return nil, problem.Validation("query", problem.Required, "query is required.")
	}
	if b.Filter != nil {
		f.Filter = &memory.ForgetFilter{
			Kinds: kindsOf(b.Filter.Kinds), Tags: b.Filter.Tags, SessionID: textOrEmpty(b.Filter.SessionID),
			AgentID: textOrEmpty(b.Filter.AgentID), From: b.Filter.From.Moment(), To: b.Filter.To.Moment(),
		}
	}
	plan, err := memories.Plan(ctx, auth.From(ctx), f)
	if err != nil {
		return nil, err
	}
	out := &forgottenMemories{}
	out.Body.MemoryIDs, out.Body.PlanID, out.Body.ExpiresAt = append([]string{}, plan.MemoryIDs...), &plan.ID, wire.AtOrNull(&plan.ExpiresAt)
	return out, nil
}

func (in *forgetMemories) forget(ctx context.Context, memories *memory.Forgetter) (*forgottenMemories, error) {
	b := &in.Body
	if b.PlanID == nil || isBlank(*b.PlanID) {
		return nil, problem.Validation("planId", problem.Required, "planId is required: make a plan with a dry run first.")
	}
	if ways := in.chosen(); len(ways) > 0 {
		return nil, problem.Validation(ways[0], problem.NotAllowed, "A plan determines what is forgotten. Send nothing else with planId.")
	}
	forgotten, err := memories.Forget(ctx, auth.From(ctx), textOrEmpty(b.SubjectID), *b.PlanID)
	if err != nil {
		return nil, err
	}
	out := &forgottenMemories{}
	n := int64(forgotten)
	out.Body.Forgotten = &n
	return out, nil
}

// spaced returns a query with blanks for U+0000, which no text contains.
func spaced(query string) string { return strings.ReplaceAll(query, "\x00", " ") }

func isBlank(s string) bool { return strings.TrimSpace(spaced(s)) == "" }

func kindsOf(names []string) []memory.Kind {
	kinds := make([]memory.Kind, len(names))
	for i, name := range names {
		kinds[i] = memory.Kind(name)
	}
	return kinds
}

type forgottenMemories struct {
	Body struct {
		MemoryIDs []string   `json:"memoryIds,omitzero" doc:"The IDs of the memories that the plan erases. Only a dry run returns them."`
		PlanID    *string    `json:"planId,omitempty" doc:"The ID of the plan, for a request with dryRun false. Only a dry run returns it."`
		ExpiresAt *wire.Time `json:"expiresAt,omitempty" doc:"The time at which the plan becomes invalid, an hour after the dry run. Only a dry run returns it."`
		Forgotten *int64     `json:"forgotten,omitempty" doc:"The number of memories that were erased. It is absent after a dry run."`
	}
}

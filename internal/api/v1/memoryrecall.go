package v1

import (
	"context"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/memory"
	"keepsake/internal/memory/recall"
	"keepsake/internal/problem"
	"keepsake/internal/wire"
)

// AddRecall declares how memories are found again: ranked, and packed for a prompt.
func AddRecall(r *endpoint.Registry, memories *memory.Service) {
	find := memoryOperation("recall", "POST", "/recall", "Recall what answers a question about a subject", auth.MemoryRead)
	find.Description = "Ranks the memories of one subject, the best first; filters come before ranking. Without asOf it is what is valid now. Of a " +
		"subject that nobody knows nothing is recalled."
	endpoint.Add(r, find, func(ctx context.Context, in *recallMemories) (*recalledMemories, error) {
		found, err := memories.Recall(ctx, auth.From(ctx), in.Body.query())
		if err != nil {
			return nil, err
		}
		out := &recalledMemories{}
		out.Body.TookMs = float64(found.Took) / float64(time.Millisecond)
		out.Body.Results = make([]recallResult, len(found.Results))
		for i := range found.Results {
			out.Body.Results[i] = viewOfRecalled(ctx, i, &found.Results[i])
		}
		return out, nil
	})

	pack := memoryOperation("recallContext", "POST", "/context", "Pack what is known of a subject into a text for a prompt", auth.MemoryRead)
	pack.Description = "As recall, but one text in the order of time, with dates and speakers, none twice, that keeps to maxTokens or " +
		"maxCharacters. Without a query it is what is pinned and what is newest."
	endpoint.Add(r, pack, func(ctx context.Context, in *packContext) (*packedContext, error) {
		query, err := in.query()
		if err != nil {
			return nil, err
		}
		packed, err := memories.Context(ctx, auth.From(ctx), query)
		if err != nil {
			return nil, err
		}
		out := &packedContext{}
		out.Body.Text, out.Body.MemoryIDs, out.Body.Tokens = packed.Text, packed.MemoryIDs, packed.Tokens
		return out, nil
	})
}

// recallFilter is what a recall and a context are narrowed by.
type recallFilter struct {
	SubjectID *string    `json:"subjectId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"Required unless the API key is bound to one."`
	AgentID   *string    `json:"agentId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$"`
	SessionID *string    `json:"sessionId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$"`
	Kinds     []string   `json:"kinds" required:"false" maxItems:"7" enum:"fact,preference,event,instruction,summary,turn,note" doc:"Any of them."`
	Tags      []string   `json:"tags" required:"false" maxItems:"32" minLength:"1" maxLength:"64" doc:"All must match."`
	From      *wire.Time `json:"from" doc:"Only from this time on: occurredAt, else createdAt."`
	To        *wire.Time `json:"to" doc:"Only before this time."`
	AsOf      *wire.Time `json:"asOf" doc:"What was stored and valid then; now, where it is left out."`
	MinScore  *float64   `json:"minScore" doc:"Leaves out what scores less."`
}

func (f *recallFilter) query(text string) memory.RecallQuery {
	q := memory.RecallQuery{
		SubjectID: textOrEmpty(f.SubjectID), Query: text, AgentID: textOrEmpty(f.AgentID), SessionID: textOrEmpty(f.SessionID),
		Kinds: kindsOf(f.Kinds), Tags: f.Tags, From: f.From.Moment(), To: f.To.Moment(), AsOf: f.AsOf.Moment(),
	}
	if f.MinScore != nil {
		q.MinScore = *f.MinScore
	}
	return q
}

type recallMemories struct {
	Body recallBody
}

type recallBody struct {
	recallFilter
	Query   string `json:"query" maxBytes:"65536" example:"What does she like to drink?"`
	Limit   int    `json:"limit" default:"10" minimum:"1" maximum:"200"`
	Explain bool   `json:"explain" required:"false" doc:"Say what each signal added to a score."`
}

func (b *recallBody) query() memory.RecallQuery {
	q := b.recallFilter.query(b.Query)
	q.Limit, q.Explain = b.Limit, b.Explain
	return q
}

type recalledMemories struct {
	Body struct {
		Results []recallResult `json:"results"`
		TookMs  float64        `json:"tookMs" doc:"Of the ranking alone."`
	}
}

type recallResult struct {
	Memory  memoryView `json:"memory"`
	Score   float64    `json:"score"`
	Rank    int        `json:"rank" doc:"From 1."`
	Matched []string   `json:"matched" doc:"The words of the query that it holds."`
	Why     *recallWhy `json:"why,omitempty" doc:"What each signal added to the score, where explain asked for it."`
}

type recallWhy struct {
	Words      float64 `json:"words" doc:"Words of the query, by their stems."`
	Related    float64 `json:"related" doc:"Words that mean or look nearly the same."`
	Neighbours float64 `json:"neighbours" doc:"Turns just before and after in the session."`
	Session    float64 `json:"session" doc:"How much of the query the whole session is about."`
	Speaker    float64 `json:"speaker" doc:"The query names who speaks."`
	Date       float64 `json:"date" doc:"The query names the time."`
	Answer     float64 `json:"answer" doc:"The kind of answer that is asked for: a time, a number."`
}

func viewOfRecalled(ctx context.Context, i int, r *memory.RecallResult) recallResult {
	return recallResult{Memory: viewOfMemory(ctx, r.Memory), Score: r.Score, Rank: i + 1, Matched: r.Matched, Why: viewOfWhy(r.Why)}
}

func viewOfWhy(w *recall.Why) *recallWhy {
	if w == nil {
		return nil
	}
	return &recallWhy{
		Words: w.Words, Related: w.Related, Neighbours: w.Neighbours, Session: w.Session, Speaker: w.Speaker, Date: w.Date, Answer: w.Answer,
	}
}

type packContext struct {
	Body struct {
		recallFilter
		Query         *string `json:"query" maxBytes:"65536"`
		Limit         *int    `json:"limit" minimum:"1" maximum:"200" doc:"At most so many memories; 50, where it is left out."`
		MaxTokens     *int    `json:"maxTokens" minimum:"1" maximum:"1000000" doc:"Of the text, as they are estimated. This or maxCharacters is required."`
		MaxCharacters *int    `json:"maxCharacters" minimum:"1" maximum:"4000000" doc:"Of the text, in code points."`
	}
}

func (in *packContext) query() (memory.ContextQuery, error) {
	b := &in.Body
	if b.Query != nil && isBlank(*b.Query) {
		return memory.ContextQuery{}, problem.Validation("query", problem.Required, "query is required, or left out.")
	}
	q := memory.ContextQuery{RecallQuery: b.recallFilter.query(textOrEmpty(b.Query))}
	for target, given := range map[*int]*int{&q.Limit: b.Limit, &q.MaxTokens: b.MaxTokens, &q.MaxCharacters: b.MaxCharacters} {
		if given != nil {
			*target = *given
		}
	}
	return q, nil
}

type packedContext struct {
	Body struct {
		Text      string   `json:"text"`
		MemoryIDs []string `json:"memoryIds" doc:"In the order of the text."`
		Tokens    int      `json:"tokens" doc:"Of the text, estimated: rather too many than too few."`
	}
}

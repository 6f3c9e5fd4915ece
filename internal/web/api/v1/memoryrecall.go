package v1

import (
	"context"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/memory/recall"
	"keepsake/internal/web/endpoint"
)

// AddRecall declares recall, and the context that packs memories for a prompt.
func AddRecall(r *endpoint.Registry, memories *memory.Recaller) {
	find := memoryOperation("recall", "POST", "/recall", "Recall memories of a subject", auth.MemoryRead)
	find.Description = "The response contains the memories of one subject that answer the query, best first. Filters apply before ranking. " +
		"With fill, pinned memories and then the newest ones follow until there are limit results; their score is 0. " +
		"Without asOf, only memories that are valid now are recalled. For an unknown subject the list is empty."
	endpoint.Add(r, find, func(ctx context.Context, in *recallMemories) (*recalledMemories, error) {
		found, err := memories.Recall(ctx, auth.From(ctx), in.Body.query())
		if err != nil {
			return nil, err
		}
		out := &recalledMemories{}
		out.Body.TookMs = float64(found.Took) / float64(time.Millisecond)
		out.Body.Degraded = degradedParts(found.Degraded)
		out.Body.Results = make([]recallResult, len(found.Results))
		for i := range found.Results {
			out.Body.Results[i] = viewOfRecalled(ctx, i, &found.Results[i])
		}
		return out, nil
	})

	pack := memoryOperation("recallContext", "POST", "/context", "Build a text for a prompt from memories", auth.MemoryRead)
	pack.Description = "The operation puts memories into one text with dates and speakers and without repetition: pinned ones first, then those that " +
		"answer the query, then the newest ones until the text is full. The text has at most maxTokens or maxCharacters; " +
		"without both, at most 1,000 tokens. A pinned memory or the best answer that does not fit is cut and marked with its ID."
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
		out.Body.Parts, out.Body.Degraded = contextParts(packed.Parts), degradedParts(packed.Degraded)
		out.Body.Cut, out.Body.Omitted = packed.Cut, contextOmitted(packed.Omitted)
		return out, nil
	})
}

// degradedParts names what a ranking had to do without.
func degradedParts(embeddings bool) []string {
	if !embeddings {
		return nil
	}
	return []string{"embeddings"}
}

// recallFilter is the filter of a recall or a context.
type recallFilter struct {
	SubjectID *string    `json:"subjectId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The ID of the subject. It is required unless the API key is bound to a subject."`
	AgentID   *string    `json:"agentId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"Include only memories of this agent."`
	SessionID *string    `json:"sessionId" pattern:"^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"Include only memories of this conversation."`
	Kinds     []string   `json:"kinds" required:"false" maxItems:"7" enum:"fact,preference,event,instruction,summary,turn,note" doc:"The kinds to include. A memory must have one of them."`
	Tags      []string   `json:"tags" required:"false" maxItems:"32" minLength:"1" maxLength:"64" doc:"The tags to match. All of them must match."`
	From      *wire.Time `json:"from" doc:"Include only memories at or after this time. The time of a memory is occurredAt or, without it, createdAt."`
	To        *wire.Time `json:"to" doc:"Include only memories before this time."`
	AsOf      *wire.Time `json:"asOf" doc:"Recall what was stored and valid at this time. The default is the current time."`
	MinScore  *float64   `json:"minScore" doc:"The lowest score to include. The default is every score above 0."`
	TimeZone  *string    `json:"timeZone" example:"Europe/Berlin" doc:"The IANA name of the time zone of the days that the query names, such as yesterday, and of the days in a context. The default is UTC."`
}

func (f *recallFilter) query(text string) memory.RecallQuery {
	q := memory.RecallQuery{
		SubjectID: textOrEmpty(f.SubjectID), Query: spaced(text), AgentID: textOrEmpty(f.AgentID), SessionID: textOrEmpty(f.SessionID),
		Kinds: kindsOf(f.Kinds), Tags: f.Tags, From: f.From.Moment(), To: f.To.Moment(), AsOf: f.AsOf.Moment(),
		TimeZone: f.TimeZone,
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
	Query   string `json:"query" maxBytes:"65536" doc:"The question or message that the memories should answer." example:"What does she like to drink?"`
	Limit   int    `json:"limit" default:"10" minimum:"1" maximum:"200" doc:"The maximum number of results in the response."`
	Fill    string `json:"fill" default:"none" enum:"none,recent" doc:"What follows the memories that answer the query until there are limit results: nothing, or pinned memories and then the newest ones."`
	Explain bool   `json:"explain" required:"false" doc:"Whether the response says what each signal added to the score."`
}

func (b *recallBody) query() memory.RecallQuery {
	q := b.recallFilter.query(b.Query)
	q.Limit, q.Fill, q.Explain = b.Limit, b.Fill == "recent", b.Explain
	return q
}

type recalledMemories struct {
	Body struct {
		Results  []recallResult `json:"results" doc:"The memories that answer the query, best first. The list is empty if none does."`
		TookMs   float64        `json:"tookMs" doc:"The duration of the ranking in milliseconds."`
		Degraded []string       `json:"degraded,omitempty" enum:"embeddings" doc:"What the ranking had to do without; absent if nothing. It contains embeddings if the embeddings endpoint did not answer in time."`
	}
}

type recallResult struct {
	Memory  memoryView `json:"memory" doc:"The memory, as it is stored now."`
	Score   float64    `json:"score" doc:"The score of the memory, which is the sum of what each signal adds. It is 0 for memories that only fill the list."`
	Rank    int        `json:"rank" doc:"The rank of the memory, starting at 1."`
	Matched []string   `json:"matched" doc:"The words of the query that the memory contains."`
	Why     *recallWhy `json:"why,omitempty" doc:"What each signal added to the score. It is present only if explain is true."`
}

type recallWhy struct {
	Words      float64 `json:"words" doc:"The score of words of the query, compared by their stems."`
	Related    float64 `json:"related" doc:"The score of words with a similar meaning."`
	Together   float64 `json:"together" doc:"The score of the whole query: the share of it that the memory and the two turns before and after it contain."`
	Neighbours float64 `json:"neighbours" doc:"The score of the two turns before it in the session: the last one of the same speaker, and the last question of another one."`
	Session    float64 `json:"session" doc:"The score of the whole session for this query."`
	Speaker    float64 `json:"speaker" doc:"The score for a speaker whom the query names."`
	Date       float64 `json:"date" doc:"The score for a time that the query names."`
	Answer     float64 `json:"answer" doc:"The score for the kind of answer that the query asks for, such as a time or a number."`
	Meaning    float64 `json:"meaning" doc:"The score of words that are not the same but occur in similar texts, in the memory and in the turns around it. Vectors of an embeddings endpoint take the place of those of words, if the workspace uses one."`
	Worth      float64 `json:"worth" doc:"The score of the text itself, whatever the query asks. Statements with names and numbers score more than questions and small talk."`
}

func viewOfRecalled(ctx context.Context, i int, r *memory.RecallResult) recallResult {
	return recallResult{Memory: viewOfMemory(ctx, r.Memory), Score: r.Score, Rank: i + 1, Matched: r.Matched, Why: viewOfWhy(r.Why)}
}

func viewOfWhy(w *recall.Why) *recallWhy {
	if w == nil {
		return nil
	}
	return &recallWhy{
		Words: w.Words, Related: w.Related, Together: w.Together, Neighbours: w.Neighbours, Session: w.Session, Speaker: w.Speaker, Date: w.Date, Answer: w.Answer,
		Meaning: w.Meaning, Worth: w.Worth,
	}
}

type packContext struct {
	Body struct {
		recallFilter
		Query         *string `json:"query" maxBytes:"65536" doc:"The question or message that the memories should answer. Without it, the text has only pinned memories and the newest ones."`
		Limit         *int    `json:"limit" minimum:"1" maximum:"200" doc:"The maximum number of memories. The default is 50."`
		MaxTokens     *int    `json:"maxTokens" minimum:"1" maximum:"1000000" doc:"The maximum number of tokens in the text, as estimated. The default is 1,000 unless maxCharacters is given."`
		MaxCharacters *int    `json:"maxCharacters" minimum:"1" maximum:"4000000" doc:"The maximum length of the text in code points."`
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
		Text      string         `json:"text" doc:"The text for the prompt. It is empty if there is no memory to show, or no room for one."`
		MemoryIDs []string       `json:"memoryIds" doc:"The IDs of the memories in the order in which they appear in the text."`
		Tokens    int            `json:"tokens" doc:"The estimated number of tokens in the text. The estimate is usually higher than what a model counts."`
		Parts     contextParts   `json:"parts" doc:"The IDs of the memories in the text, by the reason why they are in it."`
		Cut       []string       `json:"cut" doc:"The IDs of those memories of which the text has only the beginning. GET /memories/{id} returns them whole."`
		Omitted   contextOmitted `json:"omitted" doc:"The numbers of memories that had no room in the text."`
		Degraded  []string       `json:"degraded,omitempty" enum:"embeddings" doc:"What the ranking had to do without; absent if nothing. It contains embeddings if the embeddings endpoint did not answer in time."`
	}
}

// contextParts are the IDs of the memories of a context by the reason why they are in it.
type contextParts struct {
	Pinned   []string `json:"pinned" doc:"The IDs of the pinned memories."`
	Recalled []string `json:"recalled" doc:"The IDs of the memories that answer the query."`
	Recent   []string `json:"recent" doc:"The IDs of the newest memories, which fill the rest of the text."`
}

// contextOmitted counts the memories that had no room in a context.
type contextOmitted struct {
	Pinned   int `json:"pinned" doc:"The number of pinned memories that had no room."`
	Recalled int `json:"recalled" doc:"The number of memories that answer the query and had no room."`
	Recent   int `json:"recent" doc:"The number of other memories that had no room, among the newest ones up to limit."`
}

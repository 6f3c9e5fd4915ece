// Package recall ranks the memories of one subject by a query.
//
// The ranking is lexical, in memory and deterministic. It does not depend on the order in which memories were added, and
// memories that a filter excludes affect no score. Weights lists the signals; docs/decisions/0023-recall-ranking.md says how
// they were chosen.
//
// Read index.go (what is stored), query.go (how a query is analyzed), search.go (how a search scores), then the signals:
// words.go, english.go and date.go.
package recall

import "time"

// Item contains what the ranking needs of a memory.
type Item struct {
	ID         string
	Text       string
	Speaker    string
	Kind       string
	AgentID    string
	SessionID  string
	Tags       []string
	Importance *float64
	Pinned     bool
	OccurredAt *time.Time
	CreatedAt  time.Time
	ValidFrom  *time.Time
	ValidTo    *time.Time
	ExpiresAt  *time.Time
	Revision   int64
}

// Query asks for memories. Filters and times exclude memories before anything is counted.
type Query struct {
	Text  string
	Limit int // the maximum number of hits

	AgentID   string
	SessionID string
	Kinds     []string   // any of them
	Tags      []string   // all of them
	From      *time.Time // of occurredAt or, without it, createdAt; inclusive
	To        *time.Time // exclusive

	// AsOf excludes memories that were created later or were not valid then. Zero is Now, and then the time of creation, which
	// can come from another clock, is not compared.
	AsOf time.Time
	// Now decides what has expired.
	Now time.Time

	MinScore float64 // of a hit; a score of 0 is never a hit
	Explain  bool

	// Extra, if not nil, is a second signal, such as vectors. Its ranked list is combined with the lexical one by reciprocal
	// rank fusion.
	Extra Signal
	// Weights replaces Chosen, for measurements.
	Weights *Weights
}

// Signal returns the IDs of at most limit memories, best first. Only IDs that eligible accepts count. A Signal must not call
// the Index.
type Signal func(limit int, eligible func(id string) bool) []string

// Hit is a memory that matches a query.
type Hit struct {
	ID    string
	Score float64
	// Matched contains the words of the query that the memory contains, folded, in the order of the query. It is empty for a
	// memory that only its neighbours, session, speaker or date match.
	Matched []string
	Why     *Why // with Query.Explain
}

// Why says what each signal added to a score. The sum of the parts is the score, except for rounding. With Query.Extra, the
// score is that of the fusion, and the parts are those of the lexical score.
type Why struct {
	Words      float64 // words of the query, by their stems
	Related    float64 // words that mean or look nearly the same
	Neighbours float64 // turns just before and after in the session
	Session    float64 // how much of the query the whole session is about
	Speaker    float64 // the query names who speaks
	Date       float64 // the query names the time
	Answer     float64 // the kind of answer asked for: a time, a number
	Fused      float64 // the rank in Query.Extra
}

// Weights are the weights of the signals. A weight of zero disables its signal.
type Weights struct {
	K1 float64 // how much repetitions of a word count
	B  float64 // how much the length of a memory lowers its score

	Weak       float64 // a word of many questions and few answers, such as "kind" or "happen"
	NameInText float64 // a speaker's name in a text, which usually addresses the speaker
	Grams      float64 // a word of similar spelling
	Kin        float64 // a word of nearly the same meaning
	DateWord   float64 // a word of a relative date ("last week"), found in a text

	Near    float64 // the score of an adjacent turn
	NearTwo float64 // the score of a turn two away
	Reply   float64 // more from the turn before, if it is a question

	Session float64 // the score of the session
	Speaker float64 // share added if the query names the speaker
	Spoke   float64 // the named speaker, like a word, if anything else matches
	Date    float64 // the named time, like a word
	Answer  float64 // share added if the query asks for a time or a number that the memory contains
}

// Chosen are the weights that Search uses.
func Chosen() Weights { return chosen }

var chosen = Weights{
	K1: 0.9, B: 0.3,
	Weak: 0.5, NameInText: 0.2, Grams: 0.35, Kin: 0.4, DateWord: 0.4,
	Near: 0.4, NearTwo: 0.2, Reply: 0.25,
	Session: 0.6, Speaker: 0.2, Spoke: 0.8, Date: 1.2, Answer: 0.15,
}

// Plain are the weights of BM25 alone, for comparison.
func Plain() Weights { return Weights{K1: 0.9, B: 0.35, Weak: 1, NameInText: 1, DateWord: 1} }

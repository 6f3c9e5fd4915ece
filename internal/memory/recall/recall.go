// Package recall ranks the memories of one subject by a query.
//
// Everything is lexical, in memory and deterministic: the same memories give the same ranking whatever the order in which
// they came, and what a filter leaves out has no part in any score, as if it were not there. See Weights for the signals
// and docs/decisions/0023-recall-ranking.md for how they were chosen.
package recall

import "time"

// Item is what the ranking needs to know of a memory.
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

// Query asks for memories. What the filters, the range and the times leave out is left out before anything is counted.
type Query struct {
	Text  string
	Limit int // at most so many; none below 1

	AgentID   string
	SessionID string
	Kinds     []string   // any of them
	Tags      []string   // all of them
	From      *time.Time // of occurredAt, else createdAt; inclusive
	To        *time.Time // exclusive

	// AsOf leaves out what was created later or was not valid then; zero is Now, without asking when something was created,
	// which another clock may have said.
	AsOf time.Time
	// Now decides what has expired.
	Now time.Time

	MinScore float64 // of the hits; nothing with a score of 0 is one
	Explain  bool

	// Extra is the place of a second signal, vectors for one: where it is given, its ranked list and the lexical one are
	// joined by reciprocal rank fusion.
	Extra Signal
	// Weights other than the chosen ones, for measuring them.
	Weights *Weights
}

// Signal gives the ids of memories that another way of looking finds, best first, at most limit. Only ids that eligible
// accepts count; it must not call back into the Index.
type Signal func(limit int, eligible func(id string) bool) []string

// Hit is a memory that was found.
type Hit struct {
	ID    string
	Score float64
	// Matched are the words of the query that the memory holds, folded, in the query's order. It is empty where only its
	// neighbours, its session, its speaker or its date speak for it.
	Matched []string
	Why     *Why // with Query.Explain
}

// Why is what each signal contributed to a score; the parts add up to it, but for rounding. With Query.Extra the score is
// that of the fusion, and the parts are those of the lexical score that went into it.
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

// Weights say how much each signal tells. A weight of zero leaves its signal out.
type Weights struct {
	K1 float64 // how much a word's repetition in a memory counts
	B  float64 // how much a memory's length counts against it

	Weak       float64 // a word that is in many questions and few answers: kind, name, happen
	NameInText float64 // a speaker's name found in a text, beside other words: mostly the other one addressing them
	Grams      float64 // a word of similar spelling
	Kin        float64 // a word of nearly the same meaning
	DateWord   float64 // a word of a relative date ("last week"), found in a text

	Near    float64 // the score of an adjacent turn
	NearTwo float64 // the score of a turn two away
	Reply   float64 // more from the turn before, where that asks something

	Session float64 // the score of the session
	Speaker float64 // share added where the query names the speaker
	Spoke   float64 // the speaker named, as if it were a word, where anything else speaks for the memory
	Date    float64 // the time named, as if it were a word
	Answer  float64 // share added where a time or a number is asked for and there is one
}

// Chosen are the weights that Search uses.
func Chosen() Weights { return chosen }

var chosen = Weights{
	K1: 0.9, B: 0.3,
	Weak: 0.5, NameInText: 0.2, Grams: 0.35, Kin: 0.4, DateWord: 0.4,
	Near: 0.4, NearTwo: 0.2, Reply: 0.25,
	Session: 0.6, Speaker: 0.2, Spoke: 0.8, Date: 1.2, Answer: 0.15,
}

// Plain are weights that leave nothing but BM25, to compare with.
func Plain() Weights { return Weights{K1: 0.9, B: 0.35, Weak: 1, NameInText: 1, DateWord: 1} }

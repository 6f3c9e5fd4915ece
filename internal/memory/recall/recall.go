// Package recall ranks the memories of one subject by a query.
//
// The ranking is in memory and deterministic. It compares words, and vectors of words that are in the program. It does not
// depend on the order in which memories were added, and memories that a filter excludes affect no score. Weights lists the
// signals; docs/decisions/0023-recall-ranking.md says how they were chosen.
//
// Read adder.go (how a text is analyzed), index.go (what is stored), query.go (how a query is analyzed), search.go and score.go (how
// a search scores), then the signals: words.go, english.go, related.go, lexicon.go (other languages), worth.go, meaning.go and date.go.
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

	// Replaced contains what earlier revisions of a memory with a key said, and UpdatedAt is when the current one was written.
	Replaced  []string
	UpdatedAt time.Time
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
	// Zone is the time zone of the days that the text names; nil: UTC.
	Zone *time.Location

	MinScore float64 // of a hit; a score of 0 is never a hit
	Explain  bool

	// Embedding is the vector of the text, by the model of Embeddings; both are nil without an embeddings endpoint.
	Embedding  []int8
	Embeddings *Embeddings
	Baseline   *Baseline // of the model; nil: unknown

	// Weights replaces Chosen, for measurements.
	Weights *Weights
}

// Hit is a memory that matches a query.
type Hit struct {
	ID    string
	Score float64
	// Matched contains the words of the query that the memory contains, folded, in the order of the query. It is empty for a
	// memory that only its neighbours, session, speaker or date match.
	Matched []string
	Why     *Why // with Query.Explain
}

// Why says what each signal added to a score. The sum of the parts is the score, except for rounding.
type Why struct {
	Words      float64 // words of the query, by their stems
	Related    float64 // words that mean nearly the same
	Together   float64 // words of the query in this memory and in the turns around it
	Neighbours float64 // the two turns before it in the session
	Session    float64 // how much of the query the whole session is about
	Speaker    float64 // the query names who speaks
	Date       float64 // the query names the time
	Answer     float64 // the kind of answer asked for: a time, a number
	Meaning    float64 // words that occur in similar texts, by their vectors
	Worth      float64 // how much the text tells, whatever is asked
}

// scale multiplies all parts by a factor.
func (w *Why) scale(factor float64) {
	for _, part := range []*float64{&w.Words, &w.Related, &w.Together, &w.Neighbours, &w.Session, &w.Speaker, &w.Date, &w.Answer, &w.Meaning, &w.Worth} {
		*part *= factor
	}
}

// Weights are the weights of the signals. A weight of zero disables its signal.
type Weights struct {
	K1 float64 // how much repetitions of a word count
	B  float64 // how much the length of a memory lowers its score

	Weak       float64 // a word of many questions and few answers, such as "kind" or "happen"
	NameInText float64 // a speaker's name in a text, which usually addresses the speaker
	Kin        float64 // a word of nearly the same meaning
	FarKin     float64 // a word that is related to a related word
	Spare      float64 // share of a related word's weight if memories contain the word itself
	Begun      float64 // a word that shares the beginning of one that no memory contains
	Similar    float64 // a word near to one that no memory contains, by its vector: at most this share
	DateWord   float64 // a word of a relative date ("last week"), found in a text
	Unasked    float64 // a word outside the sentences that ask, if the query has such sentences

	// Neighbours: of the two turns before, the last one of the same speaker, and the last question of another one.
	Same  float64 // share of the words of the first
	Reply float64 // share of the words of the second

	Together float64 // the whole query, in a memory and the two turns before and after it

	Session float64 // the score of the session
	Speaker float64 // the query names the speaker, if anything else matches
	Date    float64 // the time is the one that the query names, like a word
	Answer  float64 // share added if the query asks for a time or a number that the memory contains
	Time    float64 // the query asks for a time, and the memory contains one

	// Meaning: by how many standard deviations more than meaningFloor the text is nearer to the query than the average memory.
	Meaning float64
	Beside  float64 // that of the turn before and that of the turn after
	Around  float64 // that of the turns two away

	// The worth of a text: what it is like, whatever is asked.
	Tells   float64 // words that tell what is the case, such as "bought", by the logarithm of their number
	Chats   float64 // subtracted for words of small talk, such as "thanks", by the logarithm of their number
	Names   float64 // each name, up to three
	Number  float64 // a number
	Asks    float64 // subtracted for a question
	Content float64 // words that are not stop words, by the logarithm of their number
}

// Chosen are the weights that Search uses. `go run ./bench -fit recall` computes those from Same on.
func Chosen() Weights { return chosen }

var chosen = Weights{
	K1: 0.9, B: 0.3,
	Weak: 0.5, NameInText: 0.2, Kin: 0.5, FarKin: 0.25, Spare: 0.3, Begun: 0.35, Similar: 0.1, DateWord: 0.4, Unasked: 0.5,
	Same: 0.42, Reply: 0.67, Together: 5.73,
	Session: 1.44, Speaker: 3.83, Date: 4.13, Answer: 0.31, Time: 2.19,
	Meaning: 1.4, Beside: 0.76, Around: 0.4,
	Tells: 0.33, Chats: 0.34, Names: 0.46, Number: 0.93, Asks: 1.9, Content: 2.05,
}

// Plain are the weights of BM25 alone, for comparison.
func Plain() Weights {
	return Weights{K1: 0.9, B: 0.35, Weak: 1, NameInText: 1, DateWord: 1, Unasked: 1}
}

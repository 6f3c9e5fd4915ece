package faulttest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// load is clients that write through both processes and remember the responses. A request without a response or with a 503
// is undecided: it happened once or not at all.
type load struct {
	f     *fleet
	round int
	kills bool // a process is killed: connections to it may be lost

	mu      sync.Mutex
	written map[string]*written // by text
	keys    map[string]*made    // by name
	samples []sample
	wrong   []string // responses that must not happen
	cut     int      // requests without an answer
	early   int      // requests that were refused by a limit of which nearly all is left
}

// written is a document that was sent.
type written struct {
	id     string // as acknowledged
	repeat string // its Idempotency-Key
	state  state
}

// made is a key that was asked for.
type made struct {
	text  string // empty where the answer that showed it was lost
	acked bool
}

type state uint8

const (
	undecided state = iota
	acked
	refused
)

// sample is how long a request took.
type sample struct {
	began  time.Time
	took   time.Duration
	member int
	status int
}

func newLoad(f *fleet, round int, kills bool) *load {
	return &load{f: f, round: round, kills: kills, written: map[string]*written{}, keys: map[string]*made{}}
}

// pace is how long a client rests between two requests.
const pace = 20 * time.Millisecond

// run writes through both processes until ctx ends, and what is under way is then answered.
func (l *load) run(ctx context.Context) {
	var all sync.WaitGroup
	for member := range 2 {
		for kind, do := range []func(member int, name string){l.put, l.put, l.post, l.postRepeatably, l.conflict, l.createKey} {
			all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					do(member, fmt.Sprintf("round%d-m%d-w%d-%d", l.round, member, kind, i))
					rest(ctx, pace)
				}
			})
		}
	}
	all.Wait()
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// send sends a request of the load to a process, and looks at what no answer may be.
func (l *load) send(member int, key, method, path string, body any, may []int, headers ...string) *answer {
	began := time.Now()
	a := l.f.member(member).ask(context.Background(), key, method, path, body, headers...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples = append(l.samples, sample{began, a.took, member, a.status})
	switch {
	case a.status == 0:
		l.cut++
		if !l.kills {
			l.note("%s %s: no answer within %s", method, path, a.took)
		}
	case a.status == http.StatusServiceUnavailable:
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 || a.code() != "unavailable" {
			l.note("%s %s: a 503 that does not say when to come again: %s", method, path, a.text)
		}
	case a.status == http.StatusTooManyRequests:
		// A process that the others may not count, and that reaches no Redis at the same time, takes nothing it does not
		// know to be left. It is a refusal like any other.
		l.early++
	case !slices.Contains(may, a.status):
		l.note("%s %s: %d %s", method, path, a.status, a.text)
	}
	return a
}

// note keeps the first of what went wrong. The caller holds the lock.
func (l *load) note(format string, args ...any) {
	if len(l.wrong) < 10 {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

func (l *load) begin(name, repeat string) (text string, w *written) {
	text = textOf(l.round, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	w = &written{repeat: repeat}
	l.written[text] = w
	return text, w
}

func (l *load) decide(w *written, s state, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.state == acked && w.id != id {
		l.note("the document %s was acknowledged as %s, and then as %s", w.repeat, w.id, id)
	}
	w.state, w.id = s, id
}

func (l *load) put(member int, name string) {
	text, w := l.begin(name, "")
	a := l.send(member, l.f.key, http.MethodPut, "/api/v1/documents/"+name, document(l.round, text), []int{http.StatusCreated})
	l.decideBy(a, w, name)
}

func (l *load) post(member int, name string) {
	text, w := l.begin(name, "")
	a := l.send(member, l.f.key, http.MethodPost, "/api/v1/documents", document(l.round, text), []int{http.StatusCreated})
	l.decideBy(a, w, idIn(a))
}

// decideBy notes what the only answer to a write says.
func (l *load) decideBy(a *answer, w *written, id string) {
	switch a.status {
	case http.StatusCreated:
		l.decide(w, acked, id)
	case http.StatusTooManyRequests:
		l.decide(w, refused, "")
	}
}

func idIn(a *answer) string {
	var made struct{ ID string }
	_ = json.Unmarshal(a.text, &made)
	return made.ID
}

// postRepeatably sends a document with an Idempotency-Key, and again, to either process, until it was acknowledged; then
// once more.
func (l *load) postRepeatably(member int, name string) {
	text, w := l.begin(name, "ledger-"+name)
	for try, done := 0, 0; try < 8 && done < 2; try++ {
		a := l.send((member+try)%2, l.f.key, http.MethodPost, "/api/v1/documents", document(l.round, text),
			[]int{http.StatusCreated, http.StatusConflict}, "Idempotency-Key", w.repeat)
		switch {
		case a.status == http.StatusCreated:
			l.decide(w, acked, idIn(a))
			done++
		case a.status == http.StatusConflict && a.code() != "idempotency_in_progress":
			l.mu.Lock()
			l.note("a repeated document: %s", a.text)
			l.mu.Unlock()
		default:
			time.Sleep(5 * pace)
		}
	}
}

// conflict sends documents under an id that is taken: none of them may be there.
func (l *load) conflict(member int, name string) {
	text, w := l.begin(name, "")
	l.decide(w, refused, "")
	body := document(l.round, text)
	body["id"] = l.taken()
	l.send(member, l.f.key, http.MethodPost, "/api/v1/documents", body, []int{http.StatusConflict})
}

// taken is the id of a document that is there from the beginning of the round.
func (l *load) taken() string { return fmt.Sprintf("round%d-taken", l.round) }

// createKey makes a key, until that was acknowledged, and uses it at the other process at once.
func (l *load) createKey(member int, name string) {
	l.mu.Lock()
	l.keys[name] = &made{}
	l.mu.Unlock()
	for try := range 8 {
		a := l.send((member+try)%2, l.f.key, http.MethodPost, "/api/v1/developer/api-keys",
			map[string]any{"name": name, "scopes": []string{"read"}}, []int{http.StatusCreated, http.StatusConflict}, "Idempotency-Key", "ledger-"+name)
		if a.status != http.StatusCreated {
			time.Sleep(5 * pace)
			continue
		}
		var body struct{ Key string }
		_ = json.Unmarshal(a.text, &body)
		l.mu.Lock()
		l.keys[name].acked, l.keys[name].text = true, body.Key
		l.mu.Unlock()
		if body.Key != "" {
			l.send((member+try+1)%2, body.Key, http.MethodGet, "/api/v1/developer/whoami", nil, []int{http.StatusOK})
		}
		time.Sleep(5 * pace) // keys are rarer than documents
		return
	}
}

// account is what a load comes to.
type account struct {
	acked, undecided, lost, twice, early int
}

// check compares both processes with what was said. Undecided writes that may be repeated are: then they are there once.
func (l *load) check(t *testing.T) account {
	t.Helper()
	sum := account{early: l.early}
	for _, wrong := range l.wrong {
		t.Errorf("round %d: %s", l.round, wrong)
	}
	for text, w := range l.written {
		if w.repeat != "" && w.state == undecided {
			sum.undecided++
			a := l.f.member(0).ask(t.Context(), l.f.key, http.MethodPost, "/api/v1/documents", document(l.round, text), "Idempotency-Key", w.repeat)
			if a.status != http.StatusCreated {
				t.Errorf("an undecided document, repeated: %d %s", a.status, a.text)
				continue
			}
			w.state, w.id = acked, idIn(a)
		}
	}
	for i, s := range l.f.both() {
		stored := s.stored(fmt.Sprintf("round%d", l.round))
		total := 0
		for text, w := range l.written {
			there := stored[text]
			total += len(there)
			switch {
			case w.state == acked && len(there) == 0:
				sum.lost++
				t.Errorf("process %d: %q was acknowledged and is lost", i, text)
			case len(there) > 1:
				sum.twice++
				t.Errorf("process %d: %q is there %d times", i, text, len(there))
			case w.state == acked && there[0].ID != w.id, len(there) == 1 && there[0].Revision != 1:
				sum.twice++
				t.Errorf("process %d: %q was acknowledged as %s and is %+v", i, text, w.id, there)
			case w.state == refused && len(there) > 0:
				t.Errorf("process %d: %q was refused and is there", i, text)
			}
			if i == 0 {
				sum.acked += count(w.state == acked)
				sum.undecided += count(w.state == undecided)
			}
		}
		all := 0
		for _, list := range stored {
			all += len(list)
		}
		if all != total+1 { // and the one whose id is taken
			t.Errorf("process %d has %d documents that nobody sent", i, all-total-1)
		}
		found := s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?limit=1&q="+url.QueryEscape(fmt.Sprintf("wordof%d", l.round)), nil)
		if n, _ := found["total"].(float64); int(n) != all {
			t.Errorf("the index of process %d finds %v of %d documents", i, found["total"], all)
		}
	}
	l.checkKeys(t, &sum)
	return sum
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// checkKeys tries every key at both processes, and repeats what is undecided: then there is one key of every name.
func (l *load) checkKeys(t *testing.T, sum *account) {
	t.Helper()
	for name, k := range l.keys {
		if k.acked {
			sum.acked++
		} else if status, text, _, err := l.f.member(1).newKey(t.Context(), name); err != nil || status != http.StatusCreated {
			t.Errorf("repeating the creation of key %s: %d %v", name, status, err)
		} else {
			sum.undecided++
			k.text = text
		}
		for i, s := range l.f.both() {
			if k.text == "" {
				continue
			}
			if a := s.ask(t.Context(), k.text, http.MethodGet, "/api/v1/developer/whoami", nil); a.status != http.StatusOK {
				sum.lost++
				t.Errorf("process %d answers key %s: %d %s", i, name, a.status, a.text)
			}
		}
	}
	names := map[string]int{}
	for _, name := range l.f.member(0).keyNames() {
		names[name]++
	}
	for name := range l.keys {
		switch n := names[name]; {
		case n == 0:
			sum.lost++
			t.Errorf("no key has the name %s", name)
		case n > 1:
			sum.twice++
			t.Errorf("%d keys have the name %s", n, name)
		}
	}
}

// storedDocument is a document as a process lists it.
type storedDocument struct {
	ID       string
	Text     string
	Revision int64
}

// stored lists a collection, by text.
func (s *server) stored(collection string) map[string][]storedDocument {
	s.t.Helper()
	all := map[string][]storedDocument{}
	list(s, "/api/v1/documents?limit=200&collection="+collection, func(d storedDocument) { all[d.Text] = append(all[d.Text], d) })
	return all
}

func (s *server) keyNames() []string {
	s.t.Helper()
	var names []string
	list(s, "/api/v1/developer/api-keys?limit=200", func(k struct{ Name string }) { names = append(names, k.Name) })
	return names
}

// list reads all pages of a list.
func list[T any](s *server, path string, each func(T)) {
	s.t.Helper()
	for cursor := ""; ; {
		status, text, err := s.Do(context.Background(), http.MethodGet, path+cursor, nil)
		var page struct {
			Items      []T
			NextCursor string
		}
		if err == nil {
			err = json.Unmarshal(text, &page)
		}
		if err != nil || status != http.StatusOK {
			s.t.Fatalf("GET %s: %d %v %s", path, status, err, text)
		}
		for _, item := range page.Items {
			each(item)
		}
		if page.NextCursor == "" {
			return
		}
		cursor = "&cursor=" + url.QueryEscape(page.NextCursor)
	}
}

// longest is how long the longest request took that began in an interval.
func longest(samples []sample, from, to time.Time) time.Duration {
	worst := time.Duration(0)
	for _, s := range samples {
		if !s.began.Before(from) && s.began.Before(to) {
			worst = max(worst, s.took)
		}
	}
	return worst
}

// statuses counts the answers to requests that began in an interval.
func statuses(samples []sample, from, to time.Time) string {
	counts := map[int]int{}
	for _, s := range samples {
		if !s.began.Before(from) && s.began.Before(to) {
			counts[s.status]++
		}
	}
	return strings.TrimPrefix(fmt.Sprint(counts), "map")
}

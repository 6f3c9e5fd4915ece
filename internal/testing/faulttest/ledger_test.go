package faulttest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// ledger is the test's own memory of what the server said. What was sent and never answered is undecided: it may have
// happened or not, but it may not have happened by half or twice.
type ledger struct {
	mu        sync.Mutex
	acked     map[string]string // document id → its text, empty when its deletion was acknowledged
	undecided map[string]bool
	keys      map[string]keyEntry // by idempotency key
	refused   []string            // unexpected responses
}

// keyEntry is one creation of an API key.
type keyEntry struct {
	text    string // empty while undecided
	revoked bool   // acknowledged
	unsure  bool   // a revocation was sent and not answered
}

func newLedger() *ledger {
	return &ledger{acked: map[string]string{}, undecided: map[string]bool{}, keys: map[string]keyEntry{}}
}

// TestNothingAcknowledgedIsLostByKill kills the server again and again in the middle of imports, single writes,
// deletions, creations and revocations of keys, and also while it starts.
func TestNothingAcknowledgedIsLostByKill(t *testing.T) {
	t.Parallel()
	rounds := testtier.Rounds(2, 6)
	if text := os.Getenv("FAULTTEST_KILL_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("FAULTTEST_KILL_ROUNDS: %v", err)
		}
		rounds = n
	}
	dir := t.TempDir()
	key := start(t, dir, "").stopped()
	// Every revoked key is tried after each kill, and every 401 spends the small budget of this machine's address.
	patient := programtest.Env("KEEPSAKE_TIERS_ANONYMOUS_REQUESTS_PER_MINUTE=1000000", "KEEPSAKE_TIERS_ANONYMOUS_DAILY=1000000")
	random := rand.New(rand.NewPCG(uint64(rounds), 0))
	all := newLedger()
	for round := range rounds {
		if round%3 == 2 { // a kill while it starts, before anything can be asked of it
			s := launch(t, dir, patient)
			time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
			s.Kill()
		}
		s := start(t, dir, key, patient)
		of := newLedger()
		ctx, cancel := context.WithCancel(context.Background())
		var workers sync.WaitGroup
		for w := range 6 {
			workers.Go(func() { of.work(ctx, s, round, w) })
		}
		enough := 5 + random.IntN(150)
		await.Until(t, "writes are acknowledged", func() bool { return of.acknowledged() >= enough })
		s.Kill()
		cancel()
		workers.Wait()

		s = start(t, dir, key, patient)
		of.check(t, s, round)
		all.add(of)
		if round == rounds-1 {
			all.check(t, s, -1)
		}
		if t.Failed() {
			t.Fatalf("round %d of %d, data in %s\n%s", round, rounds, dir, s.Log.Tail())
		}
		s.Kill()
		if code, out := programtest.Run(t, "audit", "verify", "--data", dir); code != 0 {
			t.Fatalf("round %d: the audit log after a kill: exit code %d, %s", round, code, out)
		}
	}
	t.Logf("%d rounds: %d documents and %d keys acknowledged, %d writes undecided",
		rounds, len(all.acked), len(all.keys), len(all.undecided))
}

// acknowledged is how many documents the server has acknowledged.
func (l *ledger) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// stopped ends a server in order and gives its key.
func (s *server) stopped() string {
	s.t.Helper()
	s.Stop()
	return s.Key
}

// work writes until the server is gone. Every worker has its own ids, so that the order of two writes is known.
func (l *ledger) work(ctx context.Context, s *server, round, worker int) {
	for i := 0; ; i++ {
		var alive bool
		name := fmt.Sprintf("round%d-w%d-%d", round, worker, i)
		switch worker {
		case 0, 1:
			alive = l.importLines(ctx, s, round, name)
		case 2:
			alive = l.createKey(ctx, s, name)
		default:
			alive = l.put(ctx, s, round, name)
			if alive && i%4 == 3 {
				alive = l.remove(ctx, s, fmt.Sprintf("round%d-w%d-%d", round, worker, i-1))
			}
		}
		if !alive {
			return
		}
	}
}

func document(round int, text string) map[string]any {
	return map[string]any{"collection": fmt.Sprintf("round%d", round), "text": text}
}

// textOf is what a document says: a word of the round for the index, and its own name for the ledger.
func textOf(round int, name string) string { return fmt.Sprintf("ledger wordof%d of %s", round, name) }

func (l *ledger) put(ctx context.Context, s *server, round int, id string) bool {
	text := textOf(round, id)
	l.begin(id)
	status, _, err := s.Do(ctx, http.MethodPut, "/api/v1/documents/"+id, document(round, text))
	return l.end(id, text, status, err, http.StatusCreated)
}

func (l *ledger) remove(ctx context.Context, s *server, id string) bool {
	l.begin(id)
	status, _, err := s.Do(ctx, http.MethodDelete, "/api/v1/documents/"+id, nil)
	return l.end(id, "", status, err, http.StatusNoContent)
}

func (l *ledger) importLines(ctx context.Context, s *server, round int, name string) bool {
	const lines = 40
	var body strings.Builder
	for i := range lines {
		id := fmt.Sprintf("%s-%d", name, i)
		d := document(round, textOf(round, id))
		d["id"] = id
		line, err := json.Marshal(d)
		if err != nil {
			panic(err) // strings and numbers
		}
		body.Write(append(line, '\n'))
		l.begin(id)
	}
	status, answer, err := s.Send(ctx, s.Key, http.MethodPost, "/api/v1/documents/import", "application/x-ndjson", []byte(body.String()))
	var counts struct{ Received, Created, Failed int }
	if err == nil && status == http.StatusOK && (json.Unmarshal(answer, &counts) != nil || counts.Created != lines) {
		s.t.Errorf("an import of %d lines answered %s", lines, answer)
	}
	alive := true
	for i := range lines {
		id := fmt.Sprintf("%s-%d", name, i)
		alive = l.end(id, textOf(round, id), status, err, http.StatusOK)
	}
	return alive
}

func (l *ledger) createKey(ctx context.Context, s *server, name string) bool {
	l.mu.Lock()
	l.keys[name] = keyEntry{}
	l.mu.Unlock()
	status, text, id, err := s.newKey(ctx, name)
	if err != nil || status != http.StatusCreated {
		return err == nil
	}
	l.mu.Lock()
	l.keys[name] = keyEntry{text: text}
	l.mu.Unlock()
	if rand.IntN(3) > 0 {
		return true
	}
	status, _, err = s.Do(ctx, http.MethodPost, "/api/v1/developer/api-keys/"+id+"/revoke", map[string]any{})
	l.mu.Lock()
	l.keys[name] = keyEntry{text: text, revoked: err == nil && status == http.StatusOK, unsure: err != nil}
	l.mu.Unlock()
	return err == nil
}

// newKey makes a key under an idempotency key.
func (s *server) newKey(ctx context.Context, name string) (status int, text, id string, err error) {
	body, err := json.Marshal(map[string]any{"name": name, "scopes": []string{"read"}})
	if err != nil {
		return 0, "", "", err
	}
	status, answer, err := s.Send(ctx, s.Key, http.MethodPost, "/api/v1/developer/api-keys", "application/json", body, "Idempotency-Key", "ledger-"+name)
	if err != nil {
		return status, "", "", err
	}
	var made struct{ ID, Key string }
	if status == http.StatusCreated {
		err = json.Unmarshal(answer, &made)
	}
	return status, made.Key, made.ID, err
}

func (l *ledger) begin(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.undecided[id] = true
}

// end writes down what was answered and says whether the server is still there.
func (l *ledger) end(id, text string, status int, err error, good int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil: // the server is gone
	case status == good:
		l.acked[id] = text
		delete(l.undecided, id)
	case len(l.refused) < 5:
		l.refused = append(l.refused, fmt.Sprintf("%s: %d", id, status))
	}
	return err == nil
}

func (l *ledger) add(other *ledger) {
	for id, text := range other.acked {
		l.acked[id] = text
	}
	for id := range other.undecided {
		l.undecided[id] = true
	}
	for name, entry := range other.keys {
		l.keys[name] = entry
	}
}

// check compares the server with the ledger: of one round, or of all when round is negative.
func (l *ledger) check(t *testing.T, s *server, round int) {
	t.Helper()
	for _, refusal := range l.refused {
		t.Errorf("refused: %s", refusal)
	}
	stored := s.documents(round)
	for id, text := range l.acked {
		if got, ok := stored[id]; !l.undecided[id] && (ok != (text != "") || got != text) {
			t.Errorf("document %s: acknowledged %q, stored %q (%v)", id, text, got, ok)
		}
	}
	for id, text := range stored {
		if _, known := l.acked[id]; !known && !l.undecided[id] {
			t.Errorf("document %s is there and was never sent", id)
		}
		if !strings.HasSuffix(text, id) {
			t.Errorf("document %s is there by half: %q", id, text)
		}
	}
	// The index agrees with the store.
	word := "ledger"
	if round >= 0 {
		word = fmt.Sprintf("wordof%d", round)
	}
	found := s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?limit=1&q="+url.QueryEscape(word), nil)
	if total, ok := found["total"].(float64); !ok || int(total) != len(stored) {
		t.Errorf("the index finds %v of %d documents", found["total"], len(stored))
	}
	if round >= 0 {
		l.checkKeys(t, s)
	}
}

// documents lists what the server has of a round, by id.
func (s *server) documents(round int) map[string]string {
	s.t.Helper()
	stored, path := map[string]string{}, "/api/v1/documents?limit=200"
	if round >= 0 {
		path += fmt.Sprintf("&collection=round%d", round)
	}
	for cursor := ""; ; {
		page := s.Must(http.StatusOK, http.MethodGet, path+cursor, nil)
		items, _ := page["items"].([]any)
		for _, item := range items {
			d, _ := item.(map[string]any)
			id, _ := d["id"].(string)
			if _, twice := stored[id]; twice {
				s.t.Errorf("document %s is listed twice", id)
			}
			stored[id], _ = d["text"].(string)
		}
		next, _ := page["nextCursor"].(string)
		if next == "" {
			return stored
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}

// checkKeys tries every key, and repeats the creations that had no answer: afterwards there is one key of every name.
func (l *ledger) checkKeys(t *testing.T, s *server) {
	t.Helper()
	ctx := context.Background()
	for name, entry := range l.keys {
		if entry.text == "" {
			if status, _, id, err := s.newKey(ctx, name); err != nil || status != http.StatusCreated || id == "" {
				t.Errorf("repeating the creation of key %s: %d %v", name, status, err)
			}
			continue
		}
		status, answer, err := s.Send(ctx, entry.text, http.MethodGet, "/api/v1/health", "", nil)
		switch {
		case err != nil:
			t.Errorf("key %s: %v", name, err)
		case entry.revoked && (status != http.StatusUnauthorized || !strings.Contains(string(answer), "api_key_revoked")):
			t.Errorf("key %s was revoked before the kill and now answers %d %s", name, status, answer)
		case !entry.revoked && !entry.unsure && status != http.StatusOK:
			t.Errorf("key %s was acknowledged and now answers %d %s", name, status, answer)
		}
	}
	names := map[string]int{}
	for cursor := ""; ; {
		page := s.Must(http.StatusOK, http.MethodGet, "/api/v1/developer/api-keys?limit=200"+cursor, nil)
		items, _ := page["items"].([]any)
		for _, item := range items {
			k, _ := item.(map[string]any)
			name, _ := k["name"].(string)
			names[name]++
		}
		next, _ := page["nextCursor"].(string)
		if next == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	for name := range l.keys {
		if names[name] != 1 {
			t.Errorf("%d keys have the name %s, want one", names[name], name)
		}
	}
}

// TestStoredQuotaSurvivesAKill kills the server once it says that what was used is stored: the next one knows all of it.
func TestStoredQuotaSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, "")
	const requests = 50
	made := s.Must(http.StatusCreated, http.MethodPost, "/api/v1/developer/api-keys",
		map[string]any{"name": "counted", "scopes": []string{"read"}, "quota": map[string]any{"daily": 2 * requests}})
	text, id := made["key"].(string), made["id"].(string)
	day := time.Now().UTC().Format(time.DateOnly)
	for range requests {
		if status, answer, err := s.Send(t.Context(), text, http.MethodGet, "/api/v1/health", "", nil); err != nil || status != http.StatusOK {
			t.Fatalf("a request: %d %s %v", status, answer, err)
		}
	}
	await.Until(t, "what was used is stored", func() bool { return s.charged(id) == requests })
	s.Kill()
	s = start(t, dir, s.Key)
	if n := s.charged(id); n != requests {
		t.Errorf("%d requests were stored before the kill, and %d after it", requests, n)
	}
	limits := s.Must(http.StatusOK, http.MethodGet, "/api/v1/developer/api-keys/"+id+"/limits", nil)
	quota, _ := limits["quota"].(map[string]any)
	daily, _ := quota["daily"].(map[string]any)
	if daily["used"] != float64(requests) && day == time.Now().UTC().Format(time.DateOnly) {
		t.Errorf("%d requests were stored before the kill, and the quota of the day counts %v", requests, daily["used"])
	}
}

// charged is how many requests are stored for an API key.
func (s *server) charged(id string) (sum int64) {
	s.t.Helper()
	usage := s.Must(http.StatusOK, http.MethodGet, "/api/v1/developer/api-keys/"+id+"/usage", nil)
	points, _ := usage["points"].([]any)
	for _, p := range points {
		point, _ := p.(map[string]any)
		n, _ := point["charged"].(float64)
		sum += int64(n)
	}
	return sum
}

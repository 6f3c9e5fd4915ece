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

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// memoryLedger is what the server has said about memories. Each subject is one worker's, so that the order of what happened
// to it is known.
type memoryLedger struct {
	mu       sync.Mutex
	subjects map[string]*subjectLedger
	refused  []string
}

// subjectLedger is what is known of one subject.
type subjectLedger struct {
	texts  map[string]string // id → text, empty once it was erased
	unsure map[string]bool   // ids whose change or erasure was not answered
	open   bool              // an erasure or a forgetting of all was not answered: everything of before may be gone
	sent   map[string]bool   // texts that were sent and not answered
	logged map[string]string // id → the action that the log must have of it
}

func (l *memoryLedger) of(subject string) *subjectLedger {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.subjects[subject]
	if s == nil {
		s = &subjectLedger{texts: map[string]string{}, unsure: map[string]bool{}, sent: map[string]bool{}, logged: map[string]string{}}
		l.subjects[subject] = s
	}
	return s
}

// ask sends a request and reports whether the server is there, and whether it did what it was asked.
func (l *memoryLedger) ask(ctx context.Context, s *server, status int, method, path string, body, into any) (alive, done bool) {
	got, answer, err := s.Do(ctx, method, path, body)
	if err != nil {
		return false, false
	}
	if got != status {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.refused) < 5 {
			l.refused = append(l.refused, fmt.Sprintf("%s %s: %d %s", method, path, got, answer))
		}
		return true, false
	}
	if into != nil && json.Unmarshal(answer, into) != nil {
		s.t.Errorf("%s %s: %s", method, path, answer)
	}
	return true, true
}

// work remembers, changes, forgets and erases until the server is gone.
func (l *memoryLedger) work(ctx context.Context, s *server, round, worker int) {
	subject := fmt.Sprintf("subject-%d-%d", round, worker)
	of := l.of(subject)
	for i := 0; ; i++ {
		alive := true
		switch {
		case i%11 == 10 && worker%2 == 0:
			alive = l.eraseAll(ctx, s, of, subject)
		case i%5 == 4:
			alive = l.takeOne(ctx, s, of, subject, i)
		case i%3 == 2:
			alive = l.batch(ctx, s, of, subject, i)
		default:
			alive = l.one(ctx, s, of, subject, i)
		}
		if !alive {
			return
		}
	}
}

func (l *memoryLedger) one(ctx context.Context, s *server, of *subjectLedger, subject string, i int) bool {
	text := fmt.Sprintf("ledger of %s, entry %d", subject, i)
	of.sent[text] = true
	var made struct{ ID string }
	alive, done := l.ask(ctx, s, http.StatusCreated, http.MethodPost, memories, map[string]any{"subjectId": subject, "text": text}, &made)
	if !done {
		return alive
	}
	delete(of.sent, text)
	of.texts[made.ID], of.logged[made.ID] = text, "memory.created"
	if i%2 == 0 {
		return true
	}
	changed := text + ", changed"
	of.unsure[made.ID] = true
	of.sent[changed] = true
	alive, done = l.ask(ctx, s, http.StatusOK, http.MethodPatch, memories+"/"+made.ID, map[string]any{"text": changed}, nil)
	if done {
		delete(of.unsure, made.ID)
		delete(of.sent, changed)
		of.texts[made.ID], of.logged[made.ID] = changed, "memory.updated"
	}
	return alive
}

func (l *memoryLedger) batch(ctx context.Context, s *server, of *subjectLedger, subject string, i int) bool {
	const items = 40
	var list []map[string]any
	for n := range items {
		text := fmt.Sprintf("ledger of %s, item %d of batch %d", subject, n, i)
		of.sent[text] = true
		list = append(list, map[string]any{"subjectId": subject, "text": text})
	}
	var made struct {
		Results []struct {
			Status int
			Memory struct{ ID, Text string }
		}
	}
	alive, done := l.ask(ctx, s, http.StatusOK, http.MethodPost, memories+"/batch", map[string]any{"items": list, "atomic": i%2 == 0}, &made)
	if !done {
		return alive
	}
	for _, r := range made.Results {
		if r.Status != http.StatusCreated {
			s.t.Errorf("an item of a batch: %d", r.Status)
		}
		delete(of.sent, r.Memory.Text)
		of.texts[r.Memory.ID], of.logged[r.Memory.ID] = r.Memory.Text, "memory.created"
	}
	return true
}

// takeOne erases one memory, or forgets one by a plan.
func (l *memoryLedger) takeOne(ctx context.Context, s *server, of *subjectLedger, subject string, i int) bool {
	for id, text := range of.texts {
		if text == "" || of.unsure[id] {
			continue
		}
		of.unsure[id] = true
		if i%2 == 0 {
			alive, done := l.ask(ctx, s, http.StatusNoContent, http.MethodDelete, memories+"/"+id, nil, nil)
			if done {
				of.gone(id, "memory.erased_one")
			}
			return alive
		}
		var plan struct{ PlanID string }
		if alive, done := l.ask(ctx, s, http.StatusOK, http.MethodPost, memories+"/forget", map[string]any{"subjectId": subject, "ids": []string{id}}, &plan); !done {
			return alive
		}
		alive, done := l.ask(ctx, s, http.StatusOK, http.MethodPost, memories+"/forget",
			map[string]any{"subjectId": subject, "planId": plan.PlanID, "dryRun": false}, nil)
		if done {
			of.gone(id, "memory.forgotten")
		}
		return alive
	}
	return true
}

func (of *subjectLedger) gone(id, action string) {
	delete(of.unsure, id)
	of.texts[id], of.logged[id] = "", action
}

func (l *memoryLedger) eraseAll(ctx context.Context, s *server, of *subjectLedger, subject string) bool {
	of.open = true
	alive, done := l.ask(ctx, s, http.StatusOK, http.MethodDelete, memories+"/subjects/"+subject, nil, nil)
	if done {
		of.open = false
		for id := range of.texts {
			of.texts[id] = ""
		}
		clear(of.unsure)
	}
	return alive
}

// check compares the server with the ledger.
func (l *memoryLedger) check(t *testing.T, s *server) (acknowledged int) {
	t.Helper()
	for _, refusal := range l.refused {
		t.Errorf("refused: %s", refusal)
	}
	for subject, of := range l.subjects {
		stored := s.memoriesOf(subject)
		if n := len(s.recalled(subject, "ledger changed")); n != min(len(stored), 200) {
			t.Errorf("%s: %d are recalled of %d", subject, n, len(stored))
		}
		erasedNow := of.open && len(stored) == 0
		for id, text := range of.texts {
			acknowledged++
			got, there := stored[id]
			switch {
			case text == "" && there:
				t.Errorf("%s: %s was erased and is there", subject, id)
			case text != "" && !there && !of.unsure[id] && !of.open:
				t.Errorf("%s: %s, %q, was acknowledged and is lost", subject, id, text)
			case text != "" && there && got != text && (!of.unsure[id] || !of.sent[got]):
				t.Errorf("%s: %s says %q, acknowledged was %q", subject, id, got, text)
			}
		}
		if of.open && !erasedNow { // an erasure is whole or none
			for id, text := range of.texts {
				if _, there := stored[id]; text != "" && !there && !of.unsure[id] {
					t.Errorf("%s: an erasure that was cut off has taken %s and left %d others", subject, id, len(stored))
				}
			}
		}
		for id, text := range stored {
			if _, known := of.texts[id]; !known && !of.sent[text] {
				t.Errorf("%s: %q is there and was never sent", subject, text)
			}
		}
		s.checkLogged(t, subject, of)
	}
	return acknowledged
}

// checkLogged looks for a row of the access log of everything that was acknowledged.
func (s *server) checkLogged(t *testing.T, subject string, of *subjectLedger) {
	t.Helper()
	if len(of.logged) == 0 {
		return
	}
	rows := map[string]bool{} // "id action"
	for cursor := ""; ; {
		page := s.Must(http.StatusOK, http.MethodGet, memories+"/subjects/"+subject+"/access-log?limit=200"+cursor, nil)
		for _, item := range page["items"].([]any) {
			row := item.(map[string]any)
			ids, _ := row["memoryIds"].([]any)
			for _, id := range ids {
				rows[fmt.Sprint(id, " ", row["action"])] = true
			}
		}
		next, _ := page["nextCursor"].(string)
		if next == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	for id, action := range of.logged {
		if !rows[id+" "+action] {
			t.Errorf("%s: %s of %s was acknowledged and is not in the access log", subject, action, id)
		}
	}
}

// TestNoAcknowledgedMemoryIsLostByKill kills the server while it remembers, changes, forgets and erases: what was
// acknowledged is there and in the access log, what was erased stays erased, and an erasure that was cut off is carried on
// with. FAULTTEST_KILL_ROUNDS says how often.
func TestNoAcknowledgedMemoryIsLostByKill(t *testing.T) {
	t.Parallel()
	rounds := testtier.Rounds(1, 3)
	if text := os.Getenv("FAULTTEST_KILL_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("FAULTTEST_KILL_ROUNDS: %v", err)
		}
		rounds = n
	}
	dir := t.TempDir()
	s := start(t, dir, "")
	key, acknowledged := s.Key, 0
	for round := range rounds {
		of := &memoryLedger{subjects: map[string]*subjectLedger{}}
		ctx, cancel := context.WithCancel(context.Background())
		var workers sync.WaitGroup
		for w := range 6 {
			workers.Go(func() { of.work(ctx, s, round, w) })
		}
		time.Sleep(time.Duration(100+rand.IntN(500)) * time.Millisecond)
		s.Kill()
		cancel()
		workers.Wait()
		s = start(t, dir, key)
		acknowledged += of.check(t, s)
		s.nothingStranded()
		if t.Failed() {
			t.Fatalf("round %d of %d\n%s", round, rounds, s.Log.Tail())
		}
	}
	s.Stop()
	if code, out := programtest.Run(t, "audit", "verify", "--data", dir); code != 0 {
		t.Errorf("the log: exit code %d, %s", code, out)
	}
	t.Logf("%d rounds: %d memories acknowledged", rounds, acknowledged)
}

// nothingStranded waits until every erasure has come to its end.
func (s *server) nothingStranded() {
	s.t.Helper()
	await.Until(s.t, "every erasure has come to its end", func() bool {
		return len(apptest.Stranded(s.t, s.Dir, apptest.DatabaseURL(s.t, s.Dir))) == 0
	})
}

// TestAFullDiskLosesNoMemory fills the disk: nothing is acknowledged that is not there later, nothing is shown that cannot be
// logged, and an erasure is whole or none.
func TestAFullDiskLosesNoMemory(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files are on the disk that is full")
	testtier.Long(t, "fills a disk")
	disk := smallDisk(t, "12m")
	dir := disk + "/data"
	s := start(t, dir, "")
	const kept, erased = "kept@example.com", "erased@example.com"
	acked := map[string]string{s.remember(kept, "kept before", nil): "kept before"}
	leaving := s.remember(erased, "to be erased", nil)
	fill(t, disk+"/ballast")
	text := strings.Repeat("full disk ", 2000)
	refused, hidden := 0, 0
	for i := 0; (refused < 5 || hidden < 5) && i < 2000; i++ {
		text := fmt.Sprint(i, " ", text)
		status, answer, err := s.Do(context.Background(), http.MethodPost, memories, map[string]any{"subjectId": kept, "text": text})
		switch {
		case err == nil && status == http.StatusCreated:
			var made struct{ ID string }
			if err := json.Unmarshal(answer, &made); err != nil {
				t.Fatal(err)
			}
			acked[made.ID] = text
		case err == nil && status == http.StatusServiceUnavailable:
			refused++
		default:
			t.Fatalf("a memory on a full disk: %d %.200s %v", status, answer, err)
		}
		status, answer, err = s.Do(context.Background(), http.MethodPost, memories+"/recall", map[string]any{"subjectId": erased, "query": "erased"})
		switch {
		case err == nil && status == http.StatusOK:
		case err == nil && status == http.StatusServiceUnavailable && !strings.Contains(string(answer), "to be erased"):
			hidden++
		default:
			t.Fatalf("a recall that cannot be logged: %d %s %v", status, answer, err)
		}
	}
	if refused < 5 || hidden < 5 {
		t.Fatalf("%d writes and %d reads were refused: the disk is not full", refused, hidden)
	}
	s.MustLive()
	status, answer, err := s.Do(context.Background(), http.MethodDelete, memories+"/subjects/"+erased, nil)
	if err != nil || status != http.StatusServiceUnavailable && status != http.StatusOK {
		t.Errorf("an erasure on a full disk: %d %s %v", status, answer, err)
	}
	if err := os.Remove(disk + "/ballast"); err != nil {
		t.Fatal(err)
	}
	s.writesAgain()
	if status, answer, err := s.Do(context.Background(), http.MethodDelete, memories+"/subjects/"+erased, nil); err != nil || status != http.StatusOK && status != http.StatusNotFound {
		t.Errorf("the erasure, once more: %d %s %v", status, answer, err)
	}
	for _, when := range []string{"with room again", "after a kill"} {
		s.isGone(erased, "erased", leaving)
		stored := s.memoriesOf(kept)
		for id, text := range acked {
			if stored[id] != text {
				t.Errorf("%s: %s was acknowledged and reads %.20q", when, id, stored[id])
			}
		}
		for id := range stored {
			if acked[id] == "" {
				t.Errorf("%s: %s is there and was refused", when, id)
			}
		}
		s.nothingStranded()
		key := s.Key
		s.Kill()
		if code, out := programtest.Run(t, "audit", "verify", "--data", dir); code != 0 {
			t.Errorf("%s: the log: exit code %d, %s", when, code, out)
		}
		s = start(t, dir, key)
	}
}

// TestReadIsLoggedDurablyBeforeTheResponse looks at the system calls around reads: the row of the log is synchronised
// before the answer leaves, and one synchronisation is what a lone reader waits for.
func TestReadIsLoggedDurablyBeforeTheResponse(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "this process syncs its files; elsewhere the server does")
	needStrace(t)
	trace := t.TempDir() + "/trace"
	s := start(t, t.TempDir(), "")
	id := s.remember("person-1", "traced", nil)
	reads := []struct{ line, method, path string }{
		{"GET /api/v1/memories/" + id[:12], http.MethodGet, memories + "/" + id},
		{"GET /api/v1/memories?subjectId=", http.MethodGet, memories + "?subjectId=person-1"},
		{"GET /api/v1/memories/subjects/person-1", http.MethodGet, memories + "/subjects/person-1"},
		{"POST /api/v1/memories/recall", http.MethodPost, memories + "/recall"},
	}
	traced(t, s, func() {
		for _, r := range reads {
			var body any
			if r.method == http.MethodPost {
				body = map[string]any{"subjectId": "person-1", "query": "traced"}
			}
			if status, answer, err := s.Do(context.Background(), r.method, r.path, body); err != nil || status != http.StatusOK {
				t.Errorf("%s: %d %s %v", r.line, status, answer, err)
			}
		}
	}, "-y", "-s", "48", "-e", "trace=read,write,fsync,fdatasync", "-o", trace)
	for _, r := range reads {
		syncs, err := syncsBetween(trace, r.line)
		if err != nil || syncs == 0 {
			t.Errorf("%s was answered without an fdatasync of main.db's log in between (%v)", r.line, err)
		}
		t.Logf("%s: %d fdatasync", r.line, syncs)
	}
}

// TestManyReadersShareTheirSyncs counts what 64 clients wait for together that each read memories, one read after the other.
func TestManyReadersShareTheirSyncs(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "this process syncs its files; elsewhere the server does")
	needStrace(t)
	trace := t.TempDir() + "/trace"
	s := start(t, t.TempDir(), "")
	clients, each := 64, testtier.Rounds(2, 8)
	s.remember("person-1", "traced", nil)
	traced(t, s, func() {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range each {
					status, answer, err := s.Do(context.Background(), http.MethodPost, memories+"/recall", map[string]any{"subjectId": "person-1", "query": "traced"})
					if err != nil || status != http.StatusOK {
						t.Errorf("a recall: %d %s %v", status, answer, err)
					}
				}
			})
		}
		all.Wait()
	}, "-y", "-e", "trace=fsync,fdatasync", "-o", trace)
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	syncs := 0
	for line := range strings.Lines(string(text)) {
		if syncCall.MatchString(strings.TrimSuffix(line, "\n")) {
			syncs++
		}
	}
	t.Logf("%d reads of %d clients: %d fdatasync, %.2f for as many reads as there are clients", clients*each, clients, syncs, float64(syncs)/float64(each))
	if syncs == 0 || syncs > clients*each/2 {
		t.Errorf("%d reads of %d clients made %d fdatasync: they share none", clients*each, clients, syncs)
	}
}

// TestRelaxedReadsAreLoggedAtAStop reads and stops at once: what was shown is in the log.
func TestRelaxedReadsAreLoggedAtAStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	relaxed := programtest.Env("KEEPSAKE_AUDIT_READS=relaxed")
	s := start(t, dir, "", relaxed)
	s.remember("person-1", "shown", nil)
	const reads = 30
	for range reads {
		s.recalled("person-1", "shown")
	}
	s = start(t, dir, s.stopped(), relaxed)
	logged := 0
	for _, action := range s.accesses("person-1") {
		if action == "memory.recalled" {
			logged++
		}
	}
	if logged != reads {
		t.Errorf("%d reads before the stop, and %d are in the log", reads, logged)
	}
	s.Stop()
	if code, out := programtest.Run(t, "audit", "verify", "--data", dir); code != 0 {
		t.Errorf("the log: %d %s", code, out)
	}
}

// TestAnErasureIsCutOffAnywhere kills the server while it erases, each time a little later, until past the time that an
// erasure takes: after the next start the person is there whole, or gone, and nothing is stranded.
func TestAnErasureIsCutOffAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, "")
	const ofOne = 1200 // more than are erased at once
	steps := testtier.Rounds(2, 10)
	store := func(subject string) {
		var items []map[string]any
		for i := range ofOne {
			items = append(items, map[string]any{"subjectId": subject, "text": fmt.Sprintf("remark %d", i)})
		}
		for _, some := range [][]map[string]any{items[:ofOne/2], items[ofOne/2:]} {
			s.Must(http.StatusOK, http.MethodPost, memories+"/batch", map[string]any{"items": some})
		}
	}
	store("first")
	began := time.Now()
	s.erase("first")
	takes := time.Since(began)
	outcomes := map[string]int{}
	for step := range steps {
		subject := fmt.Sprintf("person-%d", step)
		store(subject)
		timer := time.AfterFunc(takes*time.Duration(step+1)/time.Duration(steps-1), s.Kill)
		status, answer, err := s.Do(context.Background(), http.MethodDelete, memories+"/subjects/"+subject, nil)
		if err == nil && status != http.StatusOK {
			t.Errorf("an erasure: %d %s", status, answer)
		}
		timer.Stop()
		key := s.Key
		s.Kill()
		s = start(t, dir, key)
		s.nothingStranded()
		stored := len(s.memoriesOf(subject))
		switch {
		case stored == 0 && err == nil:
			outcomes["answered"]++
		case stored == 0:
			outcomes["carried on with"]++
		case stored == ofOne && err != nil:
			outcomes["not begun"]++
		default:
			t.Errorf("cut off at step %d: %d of %d memories are left, answered: %v", step, stored, ofOne, err == nil)
		}
		if stored == 0 {
			s.isGone(subject, "remark")
		}
	}
	t.Logf("an erasure took %s; cut off within that time %d were %v", takes.Round(time.Millisecond), steps, outcomes)
	s.Stop()
	if code, out := programtest.Run(t, "audit", "verify", "--data", dir); code != 0 {
		t.Errorf("the log: %d %s", code, out)
	}
}

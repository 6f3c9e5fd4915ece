package app_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"

	"keepsake/internal/app/apptest"
)

// raceRounds is how often writers meet an erasure: KEEPSAKE_RACE_ROUNDS=1000 measures.
func raceRounds(t *testing.T) int {
	text := os.Getenv("KEEPSAKE_RACE_ROUNDS")
	if text == "" {
		return 25
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KEEPSAKE_RACE_ROUNDS: %v", err)
	}
	return n
}

// remembering are the programs that a test of memories talks to: two on one database where the engine lets them.
func remembering(t *testing.T) []*tenant {
	t.Helper()
	var all []*apptest.Running
	if apptest.OnPostgres(t) {
		two := twoMembers(t)
		all = two[:]
	} else {
		all = append(all, apptest.Start(t))
	}
	var list []*tenant
	for _, p := range all {
		list = append(list, &tenant{t: t, base: p.URL, workspace: p.Workspace, key: p.Key})
		if p == all[0] {
			t.Cleanup(func() {
				for _, bad := range apptest.Stranded(t, p.Config.Data, p.Config.DatabaseURL) {
					t.Error(bad)
				}
			})
		}
	}
	return list
}

// remember stores a text and gives the status and the id.
func (n *tenant) remember(subject, text string) (int, string) {
	n.t.Helper()
	body, err := json.Marshal(map[string]any{"subjectId": subject, "text": text, "allowDuplicate": true})
	if err != nil {
		n.t.Fatal(err)
	}
	status, _, answer := n.send("POST", "/api/v1/memories", string(body), false)
	var made struct{ ID string }
	if status == 201 {
		if err := json.Unmarshal(answer, &made); err != nil {
			n.t.Error(err)
		}
	}
	return status, made.ID
}

// memoriesOf reads all memories of a subject.
func (n *tenant) memoriesOf(subject string) map[string]string {
	n.t.Helper()
	list := map[string]string{}
	for cursor := ""; ; {
		answer := n.make("GET", "/api/v1/memories?limit=200&subjectId="+subject+cursor, "")
		for _, item := range answer["items"].([]any) {
			m := item.(map[string]any)
			list[m["id"].(string)] = m["text"].(string)
		}
		next, _ := answer["nextCursor"].(string)
		if next == "" {
			return list
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}

// Writers of all processes race an erasure, again and again: afterwards nothing of before is readable, whatever was
// acknowledged later is, and every row has a living key.
func TestWritersRaceAnErasure(t *testing.T) {
	t.Parallel()
	members := remembering(t)
	rounds := raceRounds(t)
	outcomes := map[string]int{}
	for round := range rounds {
		subject := fmt.Sprintf("racer-%d", round%5) // erased again and again
		before := map[string]bool{}
		for i := range 3 {
			status, id := members[i%len(members)].remember(subject, fmt.Sprintf("before %d in round %d", i, round))
			if status != 201 {
				t.Fatalf("round %d: a write answers %d", round, status)
			}
			before[id] = true
		}
		var mu sync.Mutex
		during := map[string]string{}
		erased := make(chan struct{})
		var all sync.WaitGroup
		for w := range 4 {
			m := members[w%len(members)]
			all.Go(func() {
				for i := 0; ; i++ {
					text := fmt.Sprintf("during %d of %d in round %d", i, w, round)
					var status int
					var id string
					if w == 3 && len(before) > 0 && i%2 == 0 {
						for old := range before { // a change of what is being erased
							status, _, _ = m.send("PATCH", "/api/v1/memories/"+old, `{"text":"changed while it is erased"}`, false)
							break
						}
						if status == 200 || status == 404 {
							id, status = "", 201
						}
					} else {
						status, id = m.remember(subject, text)
					}
					mu.Lock()
					if id != "" {
						during[id] = text
					}
					if status != 201 {
						t.Errorf("round %d: a write beside an erasure answers %d", round, status)
					}
					mu.Unlock()
					select {
					case <-erased:
						return
					default:
					}
				}
			})
		}
		all.Go(func() {
			defer close(erased)
			m := members[rand.IntN(len(members))]
			if status, _, answer := m.send("DELETE", "/api/v1/memories/subjects/"+subject, "", false); status != 200 {
				t.Errorf("round %d: the erasure answers %d %s", round, status, answer)
			}
		})
		all.Wait()
		later := map[string]string{}
		for i, m := range members {
			text := fmt.Sprintf("after, by %d, in round %d", i, round)
			status, id := m.remember(subject, text)
			if status != 201 {
				t.Fatalf("round %d: a write after the erasure answers %d", round, status)
			}
			later[id] = text
		}
		for i, m := range members {
			found := m.memoriesOf(subject)
			for id := range before {
				if status, _, answer := m.send("GET", "/api/v1/memories/"+id, "", false); status != 404 || found[id] != "" {
					t.Errorf("round %d, member %d: what was erased answers %d %s", round, i, status, answer)
				}
			}
			for id, text := range later {
				if found[id] != text {
					t.Errorf("round %d, member %d: %q, acknowledged after the erasure, reads %q", round, i, text, found[id])
				}
			}
			survived := 0
			for id, text := range found {
				if later[id] == text {
					continue
				}
				survived++
				if during[id] != text {
					t.Errorf("round %d, member %d: %s says %q and was sent as %q", round, i, id, text, during[id])
				}
			}
			if i == 0 {
				outcomes["written beside it and erased"] += len(during) - survived
				outcomes["written beside it and kept"] += survived
			}
			recalled := m.make("POST", "/api/v1/memories/recall", `{"subjectId":"`+subject+`","query":"before during after round changed","limit":200}`)
			if n := len(recalled["results"].([]any)); n != min(len(found), 200) {
				t.Errorf("round %d, member %d: %d are recalled of %d", round, i, n, len(found))
			}
			about := m.make("GET", "/api/v1/memories/subjects/"+subject, "")
			if n := about["memories"]; n != float64(len(found)) {
				t.Errorf("round %d, member %d: the subject counts %v memories and has %d", round, i, n, len(found))
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d rounds, %d processes: %v", rounds, len(members), outcomes)
}

// TestReceiptMeansNoMemberHasTheKey erases a person whose data key and whose words another process has in memory.
func TestReceiptMeansNoMemberHasTheKey(t *testing.T) {
	t.Parallel()
	two := twoMembers(t)
	a, b := &tenant{t: t, base: two[0].URL, key: two[0].Key}, &tenant{t: t, base: two[1].URL, key: two[1].Key}
	held := func(n *tenant) (keys, indexes float64) {
		t.Helper()
		for _, item := range n.make("GET", "/api/v1/admin/cache-stats", "")["caches"].([]any) {
			switch cache := item.(map[string]any); cache["name"] {
			case "subjectKeys":
				keys = cache["entries"].(float64)
			case "recallIndexes":
				indexes = cache["entries"].(float64)
			}
		}
		return keys, indexes
	}
	for round := range 5 {
		subject := fmt.Sprintf("person-%d", round)
		if status, _ := a.remember(subject, "the brakes squeak"); status != 201 {
			t.Fatalf("a write answers %d", status)
		}
		found := b.make("POST", "/api/v1/memories/recall", fmt.Sprintf(`{"subjectId":%q,"query":"brakes"}`, subject))["results"].([]any)
		if keys, indexes := held(b); len(found) != 1 || keys != 1 || indexes != 1 {
			t.Fatalf("the other process finds %d memories and holds %v keys and %v indexes", len(found), keys, indexes)
		}
		if status, _, answer := a.send("DELETE", "/api/v1/memories/subjects/"+subject, "", false); status != 200 {
			t.Fatalf("the erasure answers %d %s", status, answer)
		}
		if keys, indexes := held(b); keys != 0 || indexes != 0 {
			t.Errorf("after the receipt the other process holds %v keys and %v indexes", keys, indexes)
		}
	}
}

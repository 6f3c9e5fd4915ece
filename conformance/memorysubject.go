package conformance

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// subjectShape is the JSON of a subject.
var subjectShape = map[string]string{
	"subjectId": "string", "memories": "integer", "bytes": "integer", "firstAt": "time|null", "lastAt": "time|null",
}

// receiptShape is the receipt of docs/spec/memories.md.
var receiptShape = map[string]string{
	"receiptId": "string", "memories": "integer", "erasedAt": "time", "liveKeyDestroyed": "boolean", "keyBackupsBefore": "time", "signature": "string",
}

// subjectChecks checks /api/v1/memories/subjects (docs/spec/memories.md).
func subjectChecks() []promise {
	return []promise{
		{"ASubjectTellsHowMuchThereIs", func(c *check) {
			who := c.subject()
			c.remember(who, "abc", fields{"occurredAt": "2026-01-01T00:00:00Z"})
			c.remember(who, "é", fields{"occurredAt": "2026-03-01T00:00:00Z"})
			gone := c.remember(who, "to go", fields{"occurredAt": "2026-02-01T00:00:00Z"})
			a := c.get(subjectsPath + "/" + who).send().is(http.StatusOK).shape(subjectShape)
			a.has(fields{"subjectId": who, "memories": 3, "bytes": 10, "firstAt": "2026-01-01T00:00:00Z", "lastAt": "2026-03-01T00:00:00Z"})
			c.delete(gone.memory()).send().is(http.StatusNoContent)
			c.get(subjectsPath + "/" + who).send().has(fields{"memories": 2, "bytes": 5})
		}},
		{"SubjectsAreWalked", func(c *check) {
			want := map[string]bool{}
			for range 3 {
				who := c.subject()
				c.remember(who, "x")
				want[who] = true
			}
			seen := map[string]bool{}
			for next := "?limit=2"; ; {
				a := c.get(subjectsPath + next).send().is(http.StatusOK).shape(map[string]string{"items": "array", "nextCursor": "string|null"})
				for i, who := range a.texts("items", "subjectId") {
					if seen[who] {
						a.broken("a subject is listed twice")
					}
					seen[who] = true
					delete(want, who)
					for member, kinds := range subjectShape {
						a.shape(map[string]string{fmt.Sprintf("items[%d].%s", i, member): kinds})
					}
				}
				cursor := a.text("nextCursor")
				if len(want) == 0 || cursor == "" {
					break
				}
				next = "?limit=2&cursor=" + cursor
			}
			if len(want) > 0 {
				c.broken("%d of 3 subjects are on no page", len(want))
			}
		}},
		{"ASubjectThatNeverWasIs404", func(c *check) {
			for _, who := range []string{c.suite.name(), "-x", "a%2Fb", "a%20b"} {
				path := subjectsPath + "/" + who
				for _, q := range []*call{c.get(path), c.delete(path), c.get(path + "/export"), c.get(path + "/access-log")} {
					q.send().fails(404, "not_found")
				}
			}
		}},
	}
}

// eraseChecks checks DELETE /api/v1/memories/subjects/{subjectId} (docs/spec/memories.md).
func eraseChecks() []promise {
	return []promise{
		{"AnErasedPersonIsNowhere", func(c *check) {
			who, word, agent := c.subject(), c.suite.word(), c.suite.name()
			a := c.remember(who, word, fields{"key": "k"})
			c.patch(a.memory()).json(fields{"text": word + " again"}).send().is(http.StatusOK)
			c.remember(who, word+" more", fields{"agentId": agent, "sessionId": agent})
			c.recall(who, word)
			plan := c.plan(who, fields{"query": word}).text("planId")
			c.delete(subjectsPath + "/" + who).send().is(http.StatusOK).shape(receiptShape).has(fields{"memories": 2, "liveKeyDestroyed": true})

			path := subjectsPath + "/" + who
			for _, q := range []*call{
				c.get(a.memory()), c.get(a.memory() + "/history"), c.patch(a.memory()).json(fields{"text": "x"}), c.delete(a.memory()),
				c.get(path), c.delete(path), c.get(path + "/export"), c.carryOut(who, plan),
			} {
				q.send().fails(404, "not_found")
			}
			for _, query := range []string{"subjectId=" + who, "agentId=" + agent, "sessionId=" + agent} {
				c.get(memoriesPath + "?" + query).send().is(http.StatusOK).has(fields{"items": []any{}})
			}
			c.recall(who, word).has(fields{"results": []any{}})
			c.post(memoriesPath + "/context").json(fields{"subjectId": who, "query": word, "maxTokens": 100}).send().is(http.StatusOK).has(fields{"text": ""})
		}},
		{"TheReceiptIsSigned", func(c *check) {
			who := c.subject()
			c.remember(who, "x")
			r := c.delete(subjectsPath + "/" + who).send().is(http.StatusOK).shape(receiptShape)
			if !strings.HasPrefix(r.text("receiptId"), "rcp_") {
				r.broken("the receipt's id does not begin with rcp_")
			}
			if r.moment("keyBackupsBefore").Before(r.moment("erasedAt")) {
				r.broken("key files of before the erasure still open older data: keyBackupsBefore cannot be earlier")
			}
			if d := r.came.Sub(r.moment("erasedAt")); d < -time.Minute || d > time.Minute {
				r.broken("erasedAt is not now")
			}
			signed := c.read(r.text("signature"))
			kid, _ := signed.header["kid"].(string)
			if signed.header["alg"] != "EdDSA" || !ed25519.Verify(c.publicKey(kid), []byte(signed.signed()), signed.signature) {
				r.broken("the signature is not by a key of %s", jwksPath)
			}
			text, err := json.Marshal(signed.claims)
			if err != nil {
				c.stop("the receipt's payload: %v", err)
			}
			payload := &answer{call: r.call, body: text}
			payload.parse()
			payload.has(fields{
				"receiptId": r.text("receiptId"), "memories": 1, "erasedAt": r.text("erasedAt"), "liveKeyDestroyed": true,
				"keyBackupsBefore": r.text("keyBackupsBefore"),
			}).shape(map[string]string{"workspaceId": "string"})
			if strings.Contains(string(text), who) {
				payload.broken("the receipt names the person")
			}
		}},
		{"APersonMayComeBackAsSomebodyNew", func(c *check) {
			who, word := c.subject(), c.suite.word()
			old := c.remember(who, word, fields{"key": "k"})
			c.delete(subjectsPath + "/" + who).send().is(http.StatusOK)
			again := c.remember(who, word, fields{"key": "k"}).has(fields{"revision": 1})
			if again.text("id") == old.text("id") {
				again.broken("an erased memory came back")
			}
			c.get(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": 1})
			c.recall(who, word).has(fields{"results[0].memory.id": again.text("id")}).lacks("results[1]")
			c.get(old.memory()).send().fails(404, "not_found")
			c.delete(subjectsPath + "/" + who).send().is(http.StatusOK).has(fields{"memories": 1})
		}},
		{"AKeptAnswerDiesWithItsPerson", func(c *check) {
			who, word, once := c.subject(), c.suite.word(), c.suite.name()
			post := func() *answer {
				return c.post(memoriesPath).with("Idempotency-Key", once).json(fields{"subjectId": who, "text": word}).send()
			}
			post().is(http.StatusCreated)
			c.delete(subjectsPath + "/" + who).send().is(http.StatusOK)
			if a := post().fails(404, "not_found"); strings.Contains(string(a.body), word) {
				a.broken("the answer of before the erasure is kept")
			}
			c.get(subjectsPath+"/"+who).send().fails(404, "not_found")
		}},
		{"WritersRacingAnErasureLeaveNothingBehind", func(c *check) {
			who, word := c.subject(), c.suite.word()
			c.remember(who, word)
			n := 0
			answers := c.atOnce(9, func() *call {
				n++
				if n == 5 {
					return c.delete(subjectsPath + "/" + who)
				}
				return c.post(memoriesPath).json(fields{"subjectId": who, "text": fmt.Sprint(word, " ", n)})
			})
			var ids []string
			for _, a := range answers {
				if a.call.method == http.MethodPost {
					ids = append(ids, a.is(http.StatusCreated).text("id"))
				} else {
					a.is(http.StatusOK)
				}
			}
			var there []string
			for _, id := range ids {
				if c.get(memoriesPath+"/"+id).send().status == http.StatusOK {
					there = append(there, id)
				}
			}
			var listed, recalled []string
			listed = c.get(memoriesPath+"?subjectId="+who).send().is(http.StatusOK).texts("items", "id")
			for _, v := range c.recall(who, word, fields{"limit": 50}).list("results") {
				result, _ := v.(map[string]any)
				memory, _ := result["memory"].(map[string]any)
				id, _ := memory["id"].(string)
				recalled = append(recalled, id)
			}
			if !slices.Equal(sorted(listed), sorted(there)) || !slices.Equal(sorted(recalled), sorted(there)) {
				c.broken("after writers raced an erasure %d are readable, %d are listed, %d are recalled", len(there), len(listed), len(recalled))
			}
		}},
	}
}

package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	hooksPath       = "/api/v1/admin/webhooks"
	unknownHook     = "whk_01kakakakafkhvayayayayayay"
	unknownDelivery = "dlv_01kakakakafkhvayayayayayay"
)

// newWebhook creates a webhook whose host does not exist.
func (c *check) newWebhook(members fields) *answer {
	body := fields{"url": "https://hooks.invalid/" + c.suite.name()}
	for name, v := range members {
		body[name] = v
	}
	a := c.post(hooksPath).json(body).send().is(http.StatusCreated)
	c.remove(hooksPath + "/" + a.text("id"))
	return a
}

// about is what an event is about: its count, which is 0 if it is about one record, and the IDs.
type about struct {
	count int
	ids   []string
}

// eventAbout reads a payload. ids is the name of its list of IDs.
func eventAbout(payload, ids string) (a about) {
	var body struct{ Data map[string]any }
	if json.Unmarshal([]byte(payload), &body) != nil {
		return a
	}
	if count, ok := body.Data["count"].(float64); ok {
		a.count = int(count)
	} else if id, ok := body.Data[strings.TrimSuffix(ids, "s")].(string); ok {
		a.ids = []string{id}
	}
	list, _ := body.Data[ids].([]any)
	for _, id := range list {
		a.ids = append(a.ids, fmt.Sprint(id))
	}
	return a
}

// eventChecks checks §6 (docs/spec/events.md).
func eventChecks() []promise {
	return []promise{
		{"AWebhookHasASecretThatIsShownOnce", func(c *check) {
			made := c.newWebhook(fields{"events": []string{"api_key.created"}})
			path := hooksPath + "/" + made.text("id")
			made.located(path).has(fields{"disabled": false, "revision": 1})
			secret := made.text("secret")
			if !strings.HasPrefix(secret, "whsec_") || len(secret) < 38 {
				made.broken("the secret is not one of Standard Webhooks")
			}
			read := c.get(path).send().is(http.StatusOK).lacks("secret")
			if strings.Contains(string(read.body), secret) {
				read.broken("the secret is shown again")
			}
		}},
		{"NullRemovesADescription", func(c *check) {
			path := hooksPath + "/" + c.newWebhook(fields{"description": "conformance"}).text("id")
			c.patch(path).json(fields{"description": nil}).send().is(http.StatusOK).has(fields{"description": "", "revision": 2})
			c.patch(path).json(fields{"url": nil}).send().fails(http.StatusBadRequest, "validation_error", "url", "required")
		}},
		{"BadWebhooksAreRefused", func(c *check) {
			for field, body := range map[string]fields{
				"url":       {"url": "ftp://hooks.invalid"},
				"events[0]": {"url": "https://hooks.invalid", "events": []string{"api_key.no_such"}},
				"events[1]": {"url": "https://hooks.invalid", "events": []string{"api_key.created", "nothing"}},
			} {
				c.post(hooksPath).json(body).send().fails(http.StatusBadRequest, "validation_error", field)
			}
		}},
		{"AnEventReachesAWebhook", func(c *check) {
			hook := hooksPath + "/" + c.newWebhook(fields{"events": []string{"api_key.created"}}).text("id")
			k := c.newKey(fields{"name": "conformance canary"}, "read")
			list := c.get(hook + "/deliveries").send().is(http.StatusOK)
			found := ""
			for _, payload := range list.texts("items", "payload") {
				if strings.Contains(payload, k.id) {
					found = payload
				}
			}
			if !strings.Contains(found, `"type":"api_key.created"`) || strings.Contains(found, "canary") {
				list.broken("no delivery is about the key and nothing else")
			}
		}},
		{"ManyAtOnceAreOneEvent", func(c *check) {
			hook := hooksPath + "/" + c.newWebhook(fields{"events": []string{
				"memory.imported", "memory.created", "memory.forgotten", "document.imported", "document.deleted",
			}}).text("id")
			who, collection := c.subject(), c.suite.name()
			var memories, documents []string
			var few, many []fields
			for i := range 25 {
				text := fmt.Sprint("event ", i)
				memories = append(memories, line(fields{"subjectId": who, "text": text}))
				id := fmt.Sprint(collection, "-", i)
				documents = append(documents, line(fields{"id": id, "collection": collection, "title": text}))
				c.finally(func() { c.removeNow(docsPath + "/" + id) })
				if i < 20 {
					few = append(few, fields{"subjectId": who, "text": "few " + text})
				}
				many = append(many, fields{"subjectId": who, "text": "many " + text})
			}
			batch := func(items []fields) {
				c.post(memoriesPath + "/batch").json(fields{"items": items}).send().is(http.StatusOK)
			}
			load := func(path string, lines []string) {
				c.post(path).raw("application/x-ndjson", strings.Join(lines, "\n")).send().is(http.StatusOK).has(fields{"received": 25, "failed": 0})
			}
			forget := func() {
				plan := c.post(forgetPath).json(fields{"subjectId": who, "filter": fields{}}).send().is(http.StatusOK).text("planId")
				c.post(forgetPath).json(fields{"subjectId": who, "planId": plan, "dryRun": false}).send().is(http.StatusOK).has(fields{"forgotten": 70})
			}
			remove := func() {
				c.post(docsPath + "/delete").json(fields{"collection": collection, "dryRun": false}).send().is(http.StatusOK).has(fields{"deleted": 25})
			}
			mine := map[string]bool{}
			for _, step := range []struct {
				event, ids string
				do         func()
				events     int
				count      int // of the event about many
			}{
				{"memory.imported", "memoryIds", func() { load(memoryImport, memories) }, 1, 25},
				{"memory.imported", "memoryIds", func() { load(memoryImport, memories) }, 1, 25}, // they are there already
				{"memory.created", "memoryIds", func() { batch(few) }, 20, 0},
				{"memory.created", "memoryIds", func() { batch(few) }, 20, 0},
				{"memory.created", "memoryIds", func() { batch(many) }, 21, 25},
				{"memory.forgotten", "memoryIds", forget, 1, 70},
				{"document.imported", "documentIds", func() { load(docsPath+"/import", documents) }, 1, 25},
				{"document.deleted", "documentIds", remove, 1, 25},
			} {
				step.do()
				for _, id := range c.get(memoriesPath+"?limit=200&subjectId="+who).send().is(http.StatusOK).texts("items", "id") {
					mine[id] = true
				}
				list := c.get(hook + "/deliveries?limit=200&event=" + step.event).send().is(http.StatusOK)
				events, count := 0, 0
				for _, payload := range list.texts("items", "payload") {
					about := eventAbout(payload, step.ids)
					if !slices.ContainsFunc(about.ids, func(id string) bool { return mine[id] || strings.HasPrefix(id, collection) }) {
						continue // of another check
					}
					if events++; about.count > 0 && about.count != len(about.ids) {
						list.broken("%s has count %d and %d %s", step.event, about.count, len(about.ids), step.ids)
					}
					count = max(count, about.count)
				}
				if events != step.events || count != step.count {
					list.broken("%d events %s, the largest with count %d; want %d, %d", events, step.event, count, step.events, step.count)
				}
			}
		}},
		{"AnUnreachableTargetIsTriedAgain", func(c *check) {
			hook := hooksPath + "/" + c.newWebhook(fields{"url": "http://127.0.0.1:1/"}).text("id")
			delivery := hook + "/deliveries/" + c.post(hook+"/ping").send().is(http.StatusCreated).text("id")
			var last *answer
			if !c.eventually(time.Minute, func() bool {
				last = c.get(delivery).send().is(http.StatusOK)
				return len(last.list("attempts")) > 0
			}) {
				last.broken("nothing was attempted")
			}
			last.has(fields{"state": "pending"})
		}},
		{"ASecretRotatesWithAnOverlap", func(c *check) {
			made := c.newWebhook(nil)
			path := hooksPath + "/" + made.text("id")
			next := c.post(path + "/rotate").json(fields{"graceSeconds": 60}).send().is(http.StatusOK)
			if next.text("secret") == made.text("secret") || len(next.list("secrets")) != 2 {
				next.broken("there are not two secrets")
			}
			c.post(path+"/rotate").send().fails(http.StatusConflict, "rotation_in_progress")
			c.post(path+"/rotate").with("If-Match", `"77"`).send().fails(http.StatusConflict, "rotation_in_progress")
		}},
	}
}
